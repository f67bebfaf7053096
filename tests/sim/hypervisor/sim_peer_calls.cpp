// The port's questions to other machines.
#include "sim/hypervisor/sim_call.hpp"

#include <fmt/format.h>

namespace pvc::sim {

using pvc::hypervisor::call_error;
using pvc::hypervisor::call_failure;

template <class T>
async::awaitable<pvc::hypervisor::call_result<T>> sim_hypervisor::ask_peer(
    std::string name, std::string peer, std::optional<uuid> id, std::string text, time_point deadline,
    std::function<call_result<T>(sim_machine_guests&)> look) {
    if (!process_->is_alive) {
        co_return no_connection();
    }
    machine_.record(text, true);
    while (machine_.threads_for_others > 0 && machine_.questions_under_way >= machine_.threads_for_others) {
        if (clock_.now() >= deadline) {
            co_return not_in_time();
        }
        co_await async::sleep_until(clock_, std::min(deadline, clock_.now() + std::chrono::milliseconds(50)),
                                    "a thread for the question");
    }
    ++machine_.questions_under_way;
    const auto thread_is_free = [](sim_machine_guests* machine) { --machine->questions_under_way; };
    const std::unique_ptr<sim_machine_guests, decltype(thread_is_free)> thread(&machine_, thread_is_free);
    const auto pending = std::make_shared<async::completion<call_result<T>>>();
    const reply<T> answer = [way = std::weak_ptr(channel_), pending, &centre = centre_](call_result<T> value) {
        if (const auto open = way.lock()) {
            open->push(centre.times.message, [pending, value = std::move(value)] { pending->set(value); });
        }
    };
    sim_machine_guests* const asked = centre_.find(peer);
    bool is_connected = false;
    if (!machine_.resolves_names) {
        answer(call_failure(call_error::other, "unable to connect to server at '" + peer +
                                                   ":16509': Temporary failure in name resolution"));
    } else if (asked == nullptr) {
        answer(call_failure(call_error::other,
                            "unable to connect to server at '" + peer + ":16509': Name or service not known"));
    } else if (!centre_.is_reachable(machine_.name, asked->name)) {
        // Nothing comes back.
    } else if (asked->libvirtd() == libvirtd_state::down) {
        answer(call_failure(call_error::refused,
                            "unable to connect to server at '" + peer + ":16509': Connection refused"));
    } else {
        is_connected = true;
        asked->later(centre_.times.connect, [asked, name, id, look = std::move(look), answer] {
            const auto fault = fault_of(*asked, id, name);
            if (!fault) {
                answer(look(*asked));
            } else if (fault->failure) {
                answer(*fault->failure);
            } else if (fault->takes) {
                asked->later(*fault->takes, [asked, look, answer] { answer(look(*asked)); });
            }
        });
    }
    if (!co_await async::completion<call_result<T>>::wait(pending, clock_, deadline, "another hypervisor")) {
        co_return is_connected ? call_failure(call_error::hanging, "no answer in time") : not_in_time();
    }
    co_return std::move(pending->value());
}

async::awaitable<pvc::hypervisor::call_result<model::guest_status>> sim_hypervisor::ask(std::string peer, uuid id,
                                                                                        time_point deadline) {
    const std::string text = fmt::format("ask {} {}", peer, centre_.name_of(id));
    return ask_peer<model::guest_status>("ask", std::move(peer), id, text, deadline, [id](sim_machine_guests& asked) {
        using answer = call_result<model::guest_status>;
        const sim_guest& guest = asked.guest(id);
        return guest.is_there() ? answer(guest.status()) : answer(not_there(id));
    });
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::probe(std::string peer, time_point deadline) {
    const std::string text = "probe " + peer;
    return ask_peer<void>("probe", std::move(peer), {}, text, deadline,
                          [](sim_machine_guests& /*asked*/) { return call_result<void>(); });
}

}  // namespace pvc::sim
