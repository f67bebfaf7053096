// What lives with the helper: it is started, greeted, spoken with, and given up when it hangs.
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/storage/ceph_helper.hpp"

#include <algorithm>
#include <utility>

namespace pvc::storage {

namespace words = protocol::ceph::ask;
using namespace std::chrono_literals;

namespace {

// Beyond the deadline of a question it is asked whether it is there, which it answers without asking Ceph.
constexpr duration late_after = 1s;
constexpr duration knock_limit = 5s;
constexpr duration knock_pause = 5s;
// Beyond the deadline: a call of ours is some two dozen of the library's, of which each takes up to 5 s where OSDs are
// slow. What takes longer hangs.
constexpr duration hangs_after = 120s;
constexpr duration greeting_limit = 5s;
constexpr duration first_pause = 1s;
constexpr duration longest_pause = 30s;
constexpr duration send_limit = 5s;

}  // namespace

async::awaitable<void> ceph_helper::run(helper_settings settings, std::function<void(const helper_news&)> tell) {
    struct served {
        ceph_helper& owner;
        served(ceph_helper& whose, helper_service whom) : owner(whose) { owner.serves_ = whom; }
        ~served() {
            owner.serves_ = helper_service::nobody;
            owner.view_.is_running = false;
            owner.fail_sent(helper_failure(errc::stopped, "it is ended"));
            owner.fail_unsent(helper_failure(errc::stopped, "it is ended"));
        }
    } const guard(*this, settings.serves);
    idle_limit_ = settings.idle_limit;
    may_start_ = settings.may_start;
    pause_ = {};
    for (;;) {
        co_await until_asked();
        if (clock_.now() < next_start_) {
            co_await async::sleep_until(clock_, next_start_, "the next start of Ceph's helper");
            continue;
        }
        if (settings.may_start) {
            const auto may = co_await settings.may_start();
            if (!may) {
                view_.why_not = may.error().text();
                fail_unsent(helper_failure(errc::unavailable, view_.why_not));
                tell({helper_news::kind::refused, view_.why_not});
                continue;
            }
        }
        co_await live_once(settings, tell);
    }
}

async::awaitable<void> ceph_helper::live_once(const helper_settings& settings,
                                              const std::function<void(const helper_news&)>& tell) {
    ++view_.starts;
    broken_.clear();
    is_greeted_ = has_answered_ = is_idle_ = false;
    answer_by_.reset();
    next_knock_ = {};
    const time_point begun = clock_.now();
    auto end =
        co_await programs_.run({settings.program, "--config", settings.config_file, "--keyring", settings.keyring},
                               [this, &tell](services::stream_connection& with) -> async::awaitable<void> {
                                   view_.is_running = true;
                                   tell({helper_news::kind::started, {}});
                                   co_await talk(with);
                               });
    view_.is_running = false;
    view_.private_bytes.reset();
    view_.threads.reset();
    if (is_idle_ && broken_.empty()) {
        pause_ = {};
        tell({helper_news::kind::idle, {}});
        co_return;
    }
    // One that was of use for a while is started again at once, the next one after it with a pause.
    const bool was_of_use = has_answered_ && clock_.now() - begun > longest_pause;
    pause_ = was_of_use ? first_pause : std::clamp(pause_ * 2, first_pause, longest_pause);
    next_start_ = clock_.now() + pause_;
    if (!end) {
        view_.why_not = end.error().text();
        fail_unsent(helper_failure(errc::unavailable, view_.why_not));
        tell({helper_news::kind::refused, view_.why_not});
        co_return;
    }
    view_.why_not = broken_.empty() ? *end : broken_;
    fail_sent(helper_failure(errc::io, "it is gone: " + view_.why_not));
    tell({helper_news::kind::gone, view_.why_not});
}

async::awaitable<void> ceph_helper::until_asked() {
    while (unsent_.empty()) {
        co_await work_.wait(async::wait_note::work("a question to Ceph"));
    }
}

async::awaitable<void> ceph_helper::talk(services::stream_connection& with) {
    co_await async::with_task_group("conversation", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("answers", [&]() -> async::awaitable<void> {
            co_await listen(with);
            group.cancel();
        });
        co_await send(with);
        group.cancel();
    });
}

// Until it cannot go on; `broken_` says why.
async::awaitable<void> ceph_helper::listen(services::stream_connection& to) {
    constexpr duration long_time = std::chrono::hours(1);
    protocol::frame_reader frames;
    const time_point greeted_by = clock_.now() + greeting_limit;
    for (;;) {
        const auto size = co_await to.read(frames.room(), is_greeted_ ? clock_.now() + long_time : greeted_by);
        if (!size && size.error().code() == errc::timed_out && is_greeted_) {
            continue;
        }
        if (!size || *size == 0) {
            const bool is_late = !size && size.error().code() == errc::timed_out;
            co_return give_up_on_it(is_late ? "it did not say that it is there" : "it closed its socket");
        }
        frames.filled(*size);
        for (;;) {
            auto next = frames.take();
            if (!next) {
                co_return give_up_on_it("what it says is no frame: " + next.error().text());
            }
            if (!*next) {
                break;
            }
            if (!take_answer(**std::move(next))) {
                co_return;
            }
        }
    }
}

bool ceph_helper::take_answer(protocol::frame frame) {
    if (!is_greeted_) {
        const auto greeting = protocol::ceph::parse_greeting(frame);
        if (!greeting || greeting->version != protocol::ceph::version) {
            give_up_on_it(greeting ? "it speaks version " + std::to_string(greeting->version) + " of the protocol"
                                   : "its greeting is not understood: " + greeting.error().text());
            return false;
        }
        is_greeted_ = true;
        work_.notify();
        return true;
    }
    auto answer = protocol::ceph::parse_answer(std::move(frame));
    if (!answer) {
        give_up_on_it("its answer is not understood: " + answer.error().text());
        return false;
    }
    auto found = sent_.find(answer->id);
    if (found != sent_.end() && is_planted(defect::stale_answer_taken)) {
        sent_.erase(found);
        found = std::ranges::find_if(sent_, [](const auto& one) { return !one.second->is_left; });
        if (found == sent_.end()) {
            return true;
        }
    }
    if (found == sent_.end()) {
        give_up_on_it("it answers what nobody asked");
        return false;
    }
    has_answered_ = true;
    view_.why_not.clear();
    const question_ptr one = std::move(found->second);
    sent_.erase(found);
    if (one->has_place) {
        places_.give_back(pool_of(one->what));
    }
    if (std::exchange(answer_by_, std::nullopt)) {
        next_knock_ = clock_.now() + knock_pause;  // whatever it was that it answered: it is there
    }
    settle(*one, std::move(answer->what));
    work_.notify();
    return true;
}

// The first reason stands.
void ceph_helper::give_up_on_it(std::string why) {
    if (broken_.empty()) {
        broken_ = std::move(why);
        ++view_.killed;
        work_.notify();
    }
}

// Of those that wait: the next one that has a place.
ceph_helper::question_ptr ceph_helper::next_question() {
    const auto which = places_.next(unsent_, [](const question_ptr& one) { return pool_of(one->what); });
    if (is_greeted_ && !which && is_planted(defect::full_queue_refused)) {
        fail_unsent(helper_failure(errc::unavailable, "too many questions to Ceph wait already"));
    }
    if (!is_greeted_ || !which) {
        return nullptr;
    }
    const auto place = unsent_.begin() + static_cast<std::ptrdiff_t>(*which);
    question_ptr one = std::move(*place);
    unsent_.erase(place);
    one->has_place = true;
    places_.take(pool_of(one->what));
    return one;
}

// Of those that are with it: when one of them is late, and when it is to be given up for that.
std::optional<time_point> ceph_helper::next_look() const {
    std::optional<time_point> first = answer_by_;
    for (const auto& [id, one] : sent_) {
        if (one->has_place) {
            const time_point late = answer_by_ ? time_point::max() : std::max(one->deadline + late_after, next_knock_);
            first = std::min({first.value_or(time_point::max()), late, one->deadline + hangs_after});
        }
    }
    return first;
}

void ceph_helper::look_after_it() {
    const time_point now = clock_.now();
    if (answer_by_ && now >= *answer_by_) {
        return give_up_on_it("it did not answer in time");
    }
    const bool hangs = std::ranges::any_of(
        sent_, [now](const auto& one) { return one.second->has_place && now >= one.second->deadline + hangs_after; });
    if (hangs) {
        give_up_on_it("a call to Ceph did not end");
    }
}

async::awaitable<void> ceph_helper::send(services::stream_connection& to) {
    while (broken_.empty()) {
        if (const question_ptr one = next_question()) {
            const bool is_sent = co_await send_one(one, to);
            if (!is_sent) {
                co_return;
            }
            continue;
        }
        const auto look = next_look();
        if (look && clock_.now() >= *look) {
            look_after_it();
            if (broken_.empty()) {
                const bool is_sent = co_await send_one(is_it_there(), to);
                if (!is_sent) {
                    co_return;
                }
            }
            continue;
        }
        if (look) {
            co_await work_.wait_until(clock_, *look, "the answers of Ceph's helper");
        } else if (idle_limit_ > duration::zero() && is_greeted_) {
            const bool is_asked =
                co_await work_.wait_until(clock_, clock_.now() + idle_limit_, "a question to Ceph's helper");
            if (!is_asked && unsent_.empty() && sent_.empty()) {
                is_idle_ = true;
                co_return;
            }
        } else {
            co_await work_.wait(async::wait_note::work("a question to Ceph"));
        }
    }
}

// Answered by the thread that reads and writes, which asks nobody.
ceph_helper::question_ptr ceph_helper::is_it_there() {
    auto one = std::make_shared<question>();
    one->what.id = ++last_id_;
    one->what.what = words::usage{};
    one->asked_at = clock_.now();
    one->deadline = one->asked_at + knock_limit;
    one->is_left = true;
    answer_by_ = one->deadline;
    return one;
}

async::awaitable<bool> ceph_helper::send_one(question_ptr one, services::stream_connection& to) {
    const time_point now = clock_.now();
    one->what.limit = std::max(1ms, std::chrono::duration_cast<std::chrono::milliseconds>(one->deadline - now));
    const auto frame = protocol::ceph::encode(one->what);
    if (!frame) {
        if (one->has_place) {
            places_.give_back(pool_of(one->what));
        }
        settle(*one, frame.error());
        co_return true;
    }
    sent_.emplace(one->what.id, one);
    const auto written = co_await to.write(*frame, now + send_limit);
    if (!written) {
        give_up_on_it("it takes no questions: " + written.error().text());
    }
    co_return written.has_value();
}

}  // namespace pvc::storage
