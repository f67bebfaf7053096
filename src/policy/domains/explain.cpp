#include "pvcnoded/policy/domains/explain.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

using answers = std::vector<std::pair<std::string_view, answer>>;

answers written() {
    return {{"written", write_end::written},
            {"overtaken by another write", write_end::overtaken},
            {"not written", write_end::failed}};
}

answers called() {
    return {{"done", call_answer{call_end::done, {}}},
            {"libvirt does not have it", call_answer{call_end::no_domain, "no domain"}},
            {"wrong in its state", call_answer{call_end::wrong_state, "in this state it cannot be done"}},
            {"no answer", call_answer{call_end::timed_out, "no answer"}},
            {"refused", call_answer{call_end::other, "libvirt refuses"}}};
}

answers yes_or_no() {
    return {{"yes", yes{true}}, {"no", yes{false}}, {"not known", yes{}}};
}

answers of_target() {
    return {{"it does not have it", remote_answer::absent}, {"it runs there", remote_answer::alive},
            {"it is paused there", remote_answer::halted},  {"half of it is there", remote_answer::incoming},
            {"it is off there", remote_answer::shut_off},   {"no answer", remote_answer::silent}};
}

answers of_nodes(const ask::nodes& question) {
    answers all;
    for (const auto& [words, what] :
         {std::pair("none has it", remote_answer::absent), std::pair("it runs on one", remote_answer::alive),
          std::pair("one does not answer", remote_answer::silent)}) {
        nodes_asked said;
        for (const auto& name : question.names) {
            said.answers.emplace_back(name, said.answers.empty() ? what : remote_answer::absent);
        }
        all.emplace_back(words, std::move(said));
    }
    return all;
}

answers of_locks() {
    using verdict = rbd_judged::verdict;
    return {{"it has no such disks", rbd_judged{verdict::no_disks, {}}},
            {"they are ours", rbd_judged{verdict::own, {}}},
            {"another host has one", rbd_judged{verdict::foreign, "another host has a lock"}},
            {"they cannot be read", rbd_judged{verdict::unreadable, "the storage does not answer"}}};
}

// Of one of the volumes; the others are free.
answers of_listing(const ask::list_rbd_locks& question) {
    const held_lock own{"auto 1", "client.1", "10.0.0.1:0/1"};
    const held_lock foreign{"auto 2", "client.2", "10.0.0.2:0/2"};
    answers all;
    for (const auto& [words, what] :
         {std::pair("free", volume_locks{}), std::pair("this host has one", volume_locks{{}, {own}, {}}),
          std::pair("another host has one", volume_locks{{}, {foreign}, {}}),
          std::pair("they cannot be read", volume_locks{{}, {}, "no answer", true, false, true})}) {
        rbd_listed said{{}, {"10.0.0.1"}};
        for (const auto& volume : question.volumes) {
            said.volumes.push_back(said.volumes.empty() ? what : volume_locks{});
            said.volumes.back().volume = volume;
        }
        all.emplace_back(words, std::move(said));
    }
    return all;
}

template <class... F>
struct one_of : F... {
    using F::operator()...;
};

}  // namespace

answers possible_answers(const ask::any& question) {
    using row_end = row_read::end;
    using definition_end = definition_read::end;
    return std::visit(
        one_of{
            [](const ask::nothing& /*of*/) { return answers(); },
            [](const ask::row& /*of*/) {
                return answers{{"read", row_read{row_end::fresh, {}}},
                               {"not to be had", row_read{row_end::failed, {}}}};
            },
            [](const ask::write_state& /*of*/) { return written(); },
            [](const ask::write_placement& /*of*/) { return written(); },
            [](const ask::write_last_node& /*of*/) { return written(); },
            [](const ask::write_failed& /*of*/) { return written(); },
            [](const ask::take_back& /*of*/) { return written(); },
            [](const ask::clear_own& /*of*/) { return yes_or_no(); },
            [](const ask::offer_to_receive& /*of*/) { return yes_or_no(); },
            [](const ask::connection& /*of*/) { return yes_or_no(); },
            [](const ask::set_listed& /*of*/) { return yes_or_no(); },
            [](const ask::daemon_runs& /*of*/) { return yes_or_no(); },
            [](const ask::node_exists& /*of*/) { return yes_or_no(); },
            [](const ask::whose_stop& /*of*/) { return yes_or_no(); },
            [](const ask::own_guest& /*of*/) { return yes_or_no(); },
            [](const ask::make_sync_key& /*of*/) { return yes_or_no(); },
            [](const ask::write_started& /*of*/) { return yes_or_no(); },
            [](const ask::publish_vnc& /*of*/) { return yes_or_no(); },
            [](const ask::live_xml& /*of*/) { return yes_or_no(); },
            [](const ask::clear_reason& /*of*/) { return yes_or_no(); },
            [](const ask::write_reason& /*of*/) { return yes_or_no(); },
            [](const ask::bridges_look& /*of*/) { return yes_or_no(); },
            [](const ask::network_is_gone& /*of*/) { return yes_or_no(); },
            [](const ask::monitors& /*of*/) {
                return answers{{"one answers", call_answer{call_end::done, {}}},
                               {"no answer", call_answer{call_end::timed_out, "no answer"}}};
            },
            [](const ask::sending_keys& /*of*/) {
                return answers{{"read", wishes_read{true, true, {}, {}}},
                               {"its node is none", wishes_read{true, false, {}, {}}},
                               {"not to be had", wishes_read{}}};
            },
            [](const ask::others& /*of*/) {
                return answers{{"nobody lists it", others_read{true, {}}}, {"not to be had", others_read{}}};
            },
            [](const ask::target& /*of*/) { return of_target(); },
            [](const ask::nodes& of) { return of_nodes(of); },
            [](const ask::destroy& /*of*/) { return called(); },
            [](const ask::resume_guest& /*of*/) { return called(); },
            [](const ask::set_downtime& /*of*/) { return called(); },
            [](const ask::abort_call& /*of*/) { return called(); },
            [](const ask::create& /*of*/) { return called(); },
            [](const ask::progress& /*of*/) { return answers{{"not known", progress_read{}}}; },
            [](const ask::rbd_verdict& /*of*/) { return of_locks(); },
            [](const ask::list_rbd_locks& of) { return of_listing(of); },
            [](const ask::prepare_rbd_break& /*of*/) {
                return answers{{"its image is open", call_answer{call_end::done, {}}},
                               {"not opened", call_answer{call_end::other, "the storage refuses"}}};
            },
            [](const ask::disk_users& of) {
                disk_users_read used{disk_users_read::end::known, {}, {}};
                for (const auto& volume : of.volumes) {
                    used.users.push_back({disk_user::kind::guest, volume, "another VM", false});
                }
                return answers{{"nobody else here", disk_users_read{disk_users_read::end::known, {}, {}}},
                               {"another machine here has its disk", std::move(used)},
                               {"libvirt does not say", disk_users_read{disk_users_read::end::no_libvirt, {}, {}}}};
            },
            [](const ask::break_rbd_lock& /*of*/) {
                return answers{{"done", call_answer{call_end::done, {}}},
                               {"too late to begin", call_answer{call_end::too_late, "late"}},
                               {"not done", call_answer{call_end::other, "the storage refuses"}}};
            },
            [](const ask::contenders& /*of*/) {
                return answers{{"nobody", contenders_read{contenders_read::end::read, false}},
                               {"another node", contenders_read{contenders_read::end::read, true}}};
            },
            [](const ask::stranded_keys& /*of*/) { return answers{{"not to be had", keys_compared{}}}; },
            [](const ask::definition& /*of*/) {
                return answers{{"read", definition_read{definition_end::read, {}}},
                               {"unusable", definition_read{definition_end::unusable, "it cannot be used"}},
                               {"it has none", definition_read{definition_end::missing, {}}}};
            },
            [](const auto& /*of*/) { return answers{{"its time is over", woken{}}}; },
        },
        question);
}

std::string awaited(const domain_machine& machine, const step& pending) {
    const std::string said = std::visit(
        [](const auto& one) {
            if constexpr (requires { one.awaited(); }) {
                return one.awaited();
            } else {
                return std::string();
            }
        },
        machine);
    return said.empty() ? std::string(pending.reason) : said;
}

std::vector<what_if> next_steps(const domain_machine& machine, const step& pending, const domain_seen& seen,
                                const domain_memory& memory, time_point now) {
    // A wait ends when its time is over, if nothing ends it before.
    const bool is_wait =
        std::holds_alternative<ask::change>(pending.what) || std::holds_alternative<ask::time>(pending.what);
    const time_point then = is_wait && pending.until != time_point::max() ? std::max(now, pending.until) : now;
    std::vector<what_if> all;
    for (const auto& [words, said] : possible_answers(pending.what)) {
        domain_machine copy = machine;
        domain_memory remembered = memory;
        const outcome out = resume(copy, {seen, said, then}, remembered);
        all.push_back({words, out.next.is_over() ? "over" : awaited(copy, out.next)});
    }
    return all;
}

}  // namespace pvc::policy
