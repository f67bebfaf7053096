#include "pvcnoded/fencing/machine_recoveries.hpp"

#include "guest_shell.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/placement/stored_domain.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pvc::fencing {

using policy::guest_end;

namespace {

// Of those that nothing lists, but which belong to the node: its list was written before they came to it.
bool may_be_its(std::string_view state) {
    using model::vm_state;
    switch (model::vm_state_or_fallback(state)) {
        case vm_state::start:
        case vm_state::restart:
        case vm_state::migrate:
        case vm_state::migrate_live:
        case vm_state::unmigrate:
        case vm_state::shutdown: return true;
        default: return false;
    }
}

// 10.5 step 1: those that it listed, then all others that belong to it, by their identities. Errors: those of a read.
async::awaitable<result<std::vector<uuid>>> machines_of(core::session& s, std::string node) {
    PVC_CO_TRY(const auto all, co_await s.zk.children(s.limit(), std::string(model::key_path::domains)));
    std::vector<uuid> out;
    std::set<uuid> listed;
    auto list = co_await s.zk.get(s.limit(), model::node_path(node, model::node_key::running_domains));
    if (!list && list.error().code() != errc::not_found) {
        co_return list.error();
    }
    for (const auto& one : model::parse_running_domains(list ? list->data : std::string())) {
        if (const auto id = parse_uuid(one); id && listed.insert(*id).second) {
            out.push_back(*id);
        }
    }
    std::set<uuid> rest;
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& one : all.names) {
        if (const auto id = parse_uuid(one); id && !listed.contains(*id) && rest.insert(*id).second) {
            wishes.push_back({.path = model::domain_path(to_text(*id), model::domain_key::node)});
            wishes.push_back({.path = model::domain_path(to_text(*id), model::domain_key::state)});
        }
    }
    const auto answers = co_await s.zk.read_together(s.limit(), std::move(wishes));
    std::size_t at = 0;
    for (const auto& id : rest) {
        const auto& owner = answers[2 * at];
        const auto& state = answers[2 * at + 1];
        ++at;
        const auto is_unknown = [](const auto& one) { return !one && one.error().code() != errc::not_found; };
        if (is_unknown(owner) || is_unknown(state)) {
            co_return is_unknown(owner) ? owner.error() : state.error();
        }
        if (owner && state && owner->data == node && may_be_its(state->data)) {
            out.push_back(id);
        }
    }
    co_return out;
}

class session_recoveries final : public session_recovery {
public:
    session_recoveries(core::session& s, recovery_ports outside, recovery_counts& counts)
        : session_(s), ports_(outside), counts_(counts), planning_(s) {}

    async::awaitable<policy::fence_said::recovered> recover(recovery_order what, fence_hold& under) override {
        for (;;) {
            auto machines = co_await machines_of(session_, what.node);
            if (machines) {
                co_return co_await carry_out(std::move(what), under, *std::move(machines), {});
            }
            if (machines.error().code() == errc::session_lost || !under.holds()) {
                co_return policy::fence_said::recovered{};
            }
            co_await placement::wait_better(session_);
        }
    }

    async::awaitable<void> tend(fence_holds& /*holds*/) override {
        co_await async::sleep_until(session_.node.clock(), time_point::max(), "something that recoveries have left");
    }

    [[nodiscard]] bool can_recover() const override { return ports_.locks != nullptr; }

private:
    // `trial`: what each machine begins with, beside what the order says.
    async::awaitable<policy::fence_said::recovered> carry_out(recovery_order what, fence_hold& under,
                                                              std::vector<uuid> machines,
                                                              policy::guest_recovery trial) {
        recovery_shared shared{.s = session_, .order = what, .under = under, .ports = ports_, .planning = planning_};
        shared.at_work = machines.size();
        trial.dead_node = what.node;
        trial.proof = what.proof;
        trial.mark_id = what.mark_id;
        trial.heartbeat_id = what.heartbeat_id;
        std::vector<policy::guest_recovery> ends(machines.size(), trial);
        co_await async::with_task_group(
            "recovery of " + what.node, [&](async::task_group& group) -> async::awaitable<void> {
                for (std::size_t i = 0; i < machines.size(); ++i) {
                    ends[i].id = machines[i];
                    group.spawn(to_text(machines[i]),
                                [&shared, &one = ends[i], i] { return recover_one(shared, one, i); });
                }
                co_return;
            });
        co_return conclude(what, ends);
    }

    static async::awaitable<void> recover_one(recovery_shared& shared, policy::guest_recovery& machine,
                                              std::size_t number) {
        guest_shell shell(shared, machine, number);
        machine = co_await shell.run();
    }

    policy::fence_said::recovered conclude(const recovery_order& what,
                                           const std::vector<policy::guest_recovery>& ends) {
        using end = policy::fence_said::recovered::end;
        policy::fence_said::recovered out{.how = end::finished, .left = {}};
        std::string left;
        for (const auto& one : ends) {
            switch (one.end) {
                case guest_end::recovered: ++counts_.recovered; break;
                case guest_end::stopped: ++counts_.stopped; break;
                case guest_end::left_alone: break;
                case guest_end::parked:
                    ++counts_.parked;
                    session_.node.log.warning(
                        message::recovery_parked,
                        "virtual machine " + to_text(one.id) + " of " + shown(what.node) + " is stopped: " + one.why);
                    break;
                case guest_end::kept:
                case guest_end::needs_ceph:
                    ++(one.end == guest_end::kept ? counts_.kept : counts_.needs_ceph);
                    out.needs_ceph |= one.end == guest_end::needs_ceph;
                    out.left.push_back(one.id);
                    left += (left.empty() ? "" : "; ") + to_text(one.id) + " (" + one.why + ")";
                    break;
                case guest_end::node_back: out.how = end::node_back; break;
                case guest_end::abandoned: out.how = out.how == end::node_back ? out.how : end::abandoned; break;
            }
        }
        if (!left.empty()) {
            session_.node.log.error(message::recovery_left,
                                    "of the machines of " + shown(what.node) + " these were not recovered: " + left);
        }
        return out;
    }

    core::session& session_;
    recovery_ports ports_;
    recovery_counts& counts_;
    recovery_planning planning_;
};

}  // namespace

std::unique_ptr<session_recovery> machine_recoveries::begin(core::session& s) {
    return std::make_unique<session_recoveries>(s, ports_, *counts_);
}

void machine_recoveries::put_metrics(core::metrics_sheet& sheet) const {
    const auto put = [&sheet](std::string_view outcome, std::uint64_t count) {
        sheet.counter("fence_machines_total", "machines of dead nodes that this one dealt with", count,
                      {{"outcome", outcome}});
    };
    put("recovered", counts_->recovered);
    put("stopped", counts_->stopped);
    put("parked", counts_->parked);
    put("left", counts_->kept);
    put("needs ceph", counts_->needs_ceph);
}

}  // namespace pvc::fencing
