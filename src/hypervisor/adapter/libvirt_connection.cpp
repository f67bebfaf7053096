// run(): the control connection is opened, watched, given up and opened again until cancelled.
#include "hypervisor_state.hpp"
#include "pvcnoded/async/deadline.hpp"

#include <algorithm>

namespace pvc::hypervisor {

using namespace std::chrono_literals;

namespace {

constexpr duration back_off_shortest = 500ms;
constexpr duration back_off_longest = 1s;  // D10: a start waits at most that long once libvirt is back
// A local daemon that has just been started answers when it has looked at its emulators.
constexpr duration open_limit = 30s;
constexpr duration look_limit = 5s;
constexpr duration retire_limit = 1s;
constexpr duration close_limit = 2s;

}  // namespace

async::awaitable<void> libvirt_hypervisor::run() {
    co_await async::with_clean_up(state_->clock, close_limit + 1s, state_->pump(), [this] { return state_->close(); });
}

async::awaitable<void> libvirt_hypervisor::state::pump() {
    duration back_off = back_off_shortest;
    while (true) {
        auto opened = co_await open();
        if (opened) {
            back_off = back_off_shortest;
            went_up(std::move(*opened));
            std::string reason = co_await watch();
            went_down(std::move(reason));
            co_await retire(farewell::cut);
        } else {
            went_down(std::move(opened.error().text));
        }
        co_await async::sleep_for(clock, back_off, "the next try to connect to the hypervisor");
        if (!opened) {
            back_off = std::min(2 * back_off, back_off_longest);
        }
    }
}

async::awaitable<call_result<std::shared_ptr<link>>> libvirt_hypervisor::state::open() {
    auto way_out = std::make_shared<breaker>();
    auto note = std::make_shared<link_note>();
    note->tell_closed = waker();
    const time_point limit = clock.now() + open_limit;
    async::timer cut(clock);
    cut.arm(limit, [way_out] { way_out->cut(); });
    std::function<call_result<std::shared_ptr<link>>()> item = [wishes = wishes_for(options.local_uri), note, way_out] {
        auto opened = link::open(wishes, note, way_out);
        if (opened) {
            (*opened)->register_events();
        }
        return opened;
    };
    // If the waiter goes, by cancellation or because not even the cut helps, nobody else ends a hanging open.
    struct leave {
        std::shared_ptr<breaker> way_out;
        bool stayed = false;
        ~leave() {
            if (!stayed) {
                way_out->cut();
            }
        }
    } here{way_out};
    auto opened =
        co_await on_thread<std::shared_ptr<link>>(links, "connecting to the hypervisor", limit + 1s, std::move(item));
    here.stayed = opened.has_value();
    co_return opened;
}

void libvirt_hypervisor::state::went_up(std::shared_ptr<link> opened) {
    control = std::move(opened);
    control->note()->tell_event = [hub = self](const guest_event& event) {
        if (hub->owner != nullptr) {
            hub->owner->port.tell(event);
        }
    };
    change_lanes = new_lanes();
    urgent_lanes = new_lanes();
    detail_lanes = new_lanes();
    doubted = false;
    port.connection().set({true, ++generation, {}});
}

void libvirt_hypervisor::state::went_down(std::string reason) {
    if (control) {
        control->note()->tell_event = nullptr;
    }
    const bool was_up = port.connection().value().up;
    const bool is_news = was_up || reason != down_reason;
    down_reason = std::move(reason);
    if (is_news) {
        port.connection().set({false, generation, down_reason});
    }
}

async::awaitable<std::string> libvirt_hypervisor::state::watch() {
    while (true) {
        if (!control->is_alive()) {
            co_return "the hypervisor closed the connection";
        }
        if (std::exchange(doubted, false)) {
            if (auto reason = co_await look()) {
                co_return std::move(*reason);
            }
            continue;
        }
        co_await changed.wait(async::wait_note::work("the hypervisor's connection"));
    }
}

async::awaitable<std::optional<std::string>> libvirt_hypervisor::state::look() {
    std::function<call_result<void>()> item = [on = control] { return blocking::say_version(*on); };
    const auto seen =
        co_await on_thread<void>(links, "looking for the hypervisor", clock.now() + look_limit, std::move(item));
    if (!seen && (seen.error().code == call_error::timed_out || seen.error().code == call_error::unavailable)) {
        co_return seen.error().text;
    }
    co_return std::nullopt;
}

async::awaitable<void> libvirt_hypervisor::state::retire(farewell how) {
    if (!control) {
        co_return;
    }
    struct belongings {
        std::shared_ptr<link> control;
        std::vector<std::shared_ptr<lanes>> ways;
    };
    auto all = std::make_shared<belongings>();
    all->control = std::exchange(control, nullptr);
    all->ways = {std::exchange(change_lanes, nullptr), std::exchange(urgent_lanes, nullptr),
                 std::exchange(detail_lanes, nullptr)};
    const auto way_out = all->control->way_out();
    const auto ways = all->ways;
    if (how == farewell::cut) {
        way_out->cut();
    }
    for (const auto& one : ways) {
        one->give_up();
    }
    std::function<call_result<void>()> item = [all = std::move(all)]() -> call_result<void> {
        all->control.reset();
        for (const auto& one : all->ways) {
            one->close();
        }
        return {};
    };
    const auto done =
        co_await on_thread<void>(links, "closing the connection", clock.now() + retire_limit, std::move(item));
    if (!done || how == farewell::proper) {
        // What still hangs in a call is not waited for; a connection that has closed does not mind.
        way_out->cut();
        for (const auto& one : ways) {
            one->cut();
        }
    }
}

async::awaitable<void> libvirt_hypervisor::state::close() {
    const time_point limit = clock.now() + close_limit;
    went_down("stopped");
    co_await retire(farewell::proper);
    // Threads come back from the calls that were cut, and the loop lets go of what the library has given back.
    while (clock.now() < limit) {
        if (open_links->open > 0) {
            ignore(co_await changed.wait_until(clock, limit, "the end of the hypervisor's connections"),
                   "tested above");
        } else if (!event_loop::instance().is_settled()) {
            co_await async::yield();
        } else {
            break;
        }
    }
}

}  // namespace pvc::hypervisor
