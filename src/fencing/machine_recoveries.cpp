#include "pvcnoded/fencing/machine_recoveries.hpp"

#include "guest_shell.hpp"
#include "leftover_look.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/placement/stored_domain.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace pvc::fencing {

using policy::guest_end;
using namespace std::chrono_literals;

namespace {

constexpr duration looks_apart = 60s;  // at what is left, at the most
constexpr duration recovery_looks_apart = 5s;

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

// The running lists of all nodes but that one. Errors: those of a read.
async::awaitable<result<std::map<std::string, std::string>>> lists_but(core::session& s, std::string node) {
    PVC_CO_TRY(const auto names, co_await nodes_but(s, std::move(node), s.limit()));
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& name : names) {
        wishes.push_back({.path = model::node_path(name, model::node_key::running_domains)});
    }
    const auto answers = co_await s.zk.read_together(s.limit(), std::move(wishes));
    std::map<std::string, std::string> out;
    for (std::size_t at = 0; at < names.size(); ++at) {
        if (!answers[at] && answers[at].error().code() != errc::not_found) {
            co_return answers[at].error();
        }
        out[names[at]] = answers[at] ? answers[at]->data : std::string();
    }
    co_return out;
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
        if (const auto id = parse_any_uuid(one); id && listed.insert(*id).second) {
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
        : session_(s), ports_(outside), counts_(counts), planning_(s, outside.hypervisors) {}

    async::awaitable<policy::fence_said::recovered> recover(recovery_order what, fence_hold& under) override {
        for (;;) {
            auto machines = co_await machines_of(session_, what.node);
            if (machines) {
                std::map<uuid, policy::clients_before> before;
                if (what.proof == policy::fence_proof::storage) {
                    before = co_await under.clients_before();
                }
                std::map<uuid, std::string> names;
                const auto ends = co_await carry_out(what, under, *std::move(machines), {}, std::move(before), &names);
                tell(what.node, ends, names);
                co_return conclude(ends);
            }
            if (machines.error().code() == errc::session_lost || !under.holds()) {
                co_return policy::fence_said::recovered{};
            }
            co_await placement::wait_better(session_);
        }
    }

    // Nothing is read while no node is fenced.
    async::awaitable<void> tend(fence_holds& holds) override {
        const async::latest<std::uint64_t>::observer follow(session_.others.changes(), changed_);
        co_await look_for_ceph();
        for (;;) {
            const auto fenced = fenced_nodes();
            std::erase_if(left_, [&](const auto& one) { return std::ranges::find(fenced, one.first) == fenced.end(); });
            time_point again = time_point::max();
            if (!fenced.empty()) {
                co_await look_for_ceph();
            }
            for (const auto& node : fenced) {
                again = std::min(again, co_await look_after(holds, node));
            }
            again = std::min(again, co_await look_at_unseen());
            while (clock().now() < std::min(again, next_unseen()) && fenced_nodes() == fenced) {
                if (fenced.empty() && unseen_.empty()) {
                    co_await changed_.wait(async::wait_note::work("a node that is fenced"));
                } else {
                    co_await changed_.wait_until(clock(), std::min(again, next_unseen()),
                                                 "the next look at what recoveries have left");
                }
            }
        }
    }

    [[nodiscard]] bool can_recover() const override { return has_ceph_ || is_without_pools_; }
    [[nodiscard]] std::size_t left_of(const std::string& node) const override {
        const auto found = left_.find(node);
        return found == left_.end() ? 0 : found->second.seen.size();
    }

private:
    struct node_left {
        policy::leftover_memory memory;
        std::vector<uuid> seen;
        std::int64_t mark_id = 0;
        time_point since{};
        std::map<uuid, std::string> why;  // of the last try
        std::string not_tried;            // why that one was none
    };

    // Given to a node, and not seen to run there.
    struct unseen_one {
        uuid id{};
        std::string dead_node{};
        std::string target{};
        std::int64_t zxid = 0;
        time_point next{};
        std::optional<time_point> told{};
    };

    [[nodiscard]] async::timers& clock() const { return session_.node.clock(); }
    [[nodiscard]] std::vector<std::string> fenced_nodes() const {
        std::vector<std::string> out;
        if (session_.node.config->fencing.successful != config::fence_action::migrate) {
            return out;  // what they had is not to be recovered at all
        }
        for (const auto& one : session_.others.all()) {
            if (session_.others.daemon_state(one.name) == model::daemon_state::fenced) {
                out.push_back(one.name);
            }
        }
        return out;
    }

    // Somebody may have put a keyring there, or taken it away.
    async::awaitable<void> look_for_ceph() {
        if (ports_.locks == nullptr) {
            co_return;
        }
        const auto may = co_await ports_.locks->can_ask();
        has_ceph_ = may.has_value();
        if (!has_ceph_) {
            const auto pools = co_await session_.zk.children(session_.limit(), "/ceph/pools");
            const bool is_answered = pools || pools.error().code() == errc::not_found;
            is_without_pools_ = is_answered ? !pools || pools->names.empty() : is_without_pools_;
        }
    }

    // When to look again.
    async::awaitable<time_point> look_after(fence_holds& holds, std::string node) {
        auto found = co_await look_at_leftovers(session_, node);
        const time_point now = clock().now();
        if (!found || found->is_recovering) {
            co_return now + recovery_looks_apart;
        }
        node_left& mine = left_[node];
        if (mine.seen != found->left || mine.mark_id != found->order.mark_id) {
            mine.memory = mine.mark_id == found->order.mark_id ? mine.memory : policy::leftover_memory();
            mine.seen = found->left;
            mine.mark_id = found->order.mark_id;
            mine.since = now;
        }
        policy::leftover_seen seen{.self = session_.node.self(), .proof = found->proof, .stands = found->stands};
        seen.is_proof_owner_run = session_.others.daemon_state(found->proof.by) == model::daemon_state::run;
        seen.since = mine.since;
        seen.may_act = session_.node.started && !session_.node.stopping.value() &&
                       session_.node.heartbeat_age() < 3 * session_.node.times.keepalive;
        seen.has_any = !found->left.empty();
        seen.can_any = seen.has_any && (has_ceph_ || found->has_any_without_ceph);
        auto next = policy::next_leftover_try(seen, mine.memory, now);
        if (next.tells) {
            tell_left(node, *found, mine);
            mine.memory.told = now;
        }
        if (next.tries) {
            co_await try_again(holds, *found, mine);
            next.after = clock().now() + 1s;  // what is left is looked at then
        }
        co_return std::min(next.after.value_or(now + looks_apart), now + looks_apart);
    }

    async::awaitable<void> try_again(fence_holds& holds, const leftover_look& found, node_left& mine) {
        const auto done =
            co_await holds.with_hold(found.order.node, [&](fence_hold& under) -> async::awaitable<result<void>> {
                policy::guest_recovery trial;
                trial.may_revive = true;
                trial.proof_id = found.proof_id;
                const auto ends = co_await carry_out(found.order, under, found.left, trial, {});
                const auto out = conclude(ends);
                mine.why.clear();
                for (const auto& one : ends) {
                    mine.why[one.id] = one.why;
                    if (one.end == guest_end::recovered) {
                        session_.node.log.info("virtual machine " + name_of(found, one.id) + " of " +
                                               shown(found.order.node) + " starts on " + one.wanted.node);
                    }
                }
                co_return co_await shorten_list(session_, found.order, under, out.left);
            });
        mine.not_tried = done ? std::string() : done.error().text();
        if (!done) {
            session_.node.log.info("machines of " + shown(found.order.node) +
                                   " that were not recovered are not tried now: " + done.error().text());
        }
        mine.memory.tried(clock().now());
    }

    void follow_unseen(const std::vector<policy::guest_recovery>& ends) {
        for (const auto& one : ends) {
            std::erase_if(unseen_, [&one](const unseen_one& known) { return known.id == one.id; });
            if (one.end == guest_end::unseen) {
                unseen_.push_back({one.id, one.dead_node, one.wanted.node, one.zxid, clock().now(), {}});
            }
        }
        changed_.notify();
    }

    [[nodiscard]] time_point next_unseen() const {
        const auto first = std::ranges::min_element(unseen_, {}, &unseen_one::next);
        return first == unseen_.end() ? time_point::max() : first->next;
    }

    // When to look again.
    async::awaitable<time_point> look_at_unseen() {
        std::vector<uuid> due;
        for (const auto& one : unseen_) {
            if (one.next <= clock().now()) {
                due.push_back(one.id);
            }
        }
        for (const auto& id : due) {
            const auto one = std::ranges::find(unseen_, id, &unseen_one::id);
            if (one != unseen_.end()) {
                co_await look_at_unseen(*one);  // a copy: a recovery may end meanwhile
            }
        }
        co_return next_unseen();
    }

    async::awaitable<void> look_at_unseen(unseen_one one) {
        using kind = policy::unseen_next::kind;
        const std::string root = model::domain_path(to_text(one.id));
        std::vector<zookeeper::read_wish> wishes;
        for (auto& path :
             {root, root + model::domain_key::state, model::node_path(one.target, model::node_key::running_domains)}) {
            wishes.push_back({.path = path});
        }
        const auto keys = co_await session_.zk.read_together(session_.limit(), std::move(wishes));
        const time_point now = clock().now();
        policy::unseen_guest seen;
        seen.is_known =
            std::ranges::all_of(keys, [](const auto& key) { return key || key.error().code() == errc::not_found; });
        seen.is_listed = keys[2] && model::lists_domain(keys[2]->data, one.id);
        seen.is_as_written = keys[1] && keys[1]->stat.mzxid == one.zxid;
        const std::string name = keys[0] && !keys[0]->data.empty() ? shown(keys[0]->data) : to_text(one.id);
        const std::string what = "virtual machine " + name + " of " + shown(one.dead_node);
        const auto next = policy::next_unseen_look(seen, one.told, now);
        const auto kept = std::ranges::find_if(
            unseen_, [&one](const unseen_one& known) { return known.id == one.id && known.zxid == one.zxid; });
        if (kept == unseen_.end()) {
            co_return;
        }
        switch (next.what) {
            case kind::wait: kept->next = next.after; break;
            case kind::tells:
                kept->next = next.after;
                kept->told = now;
                session_.node.log.warning(message::recovery_unseen,
                                          what + " was given to " + shown(one.target) +
                                              " and is not seen to run there: see what that node says of it, or move "
                                              "it to another");
                break;
            case kind::runs: session_.node.log.info(what + " runs on " + shown(one.target)); [[fallthrough]];
            case kind::over: unseen_.erase(kept); break;
        }
    }

    static std::string name_of(const leftover_look& found, const uuid& id) {
        const auto name = found.names.find(id);
        return name == found.names.end() ? to_text(id) : name->second;
    }

    void tell_left(const std::string& node, const leftover_look& found, const node_left& mine) const {
        std::string text;
        for (const auto& id : found.left) {
            const auto why = mine.why.find(id);
            text += (text.empty() ? "" : "; ") + name_of(found, id) +
                    (why == mine.why.end() ? std::string() : " (" + why->second + ")");
        }
        if (mine.why.empty() && found.proof.by != session_.node.self()) {
            text += "; why is known to " + shown(found.proof.by) + ", which fenced it: pvcnodectl fence show " +
                    shown(node) + " there";
        } else if (mine.why.empty() && !mine.not_tried.empty()) {
            text += "; they could not be tried: " + mine.not_tried;
        }
        session_.node.log.error(message::recovery_left,
                                "machines of " + shown(node) + " are still to be recovered: " + text);
    }

    // `trial`: what each machine begins with, beside what the order says. `names`: gets those of machines that were
    // read.
    async::awaitable<std::vector<policy::guest_recovery>> carry_out(recovery_order what, fence_hold& under,
                                                                    std::vector<uuid> machines,
                                                                    policy::guest_recovery trial,
                                                                    std::map<uuid, policy::clients_before> before,
                                                                    std::map<uuid, std::string>* names = nullptr) {
        recovery_shared shared{.s = session_, .order = what, .under = under, .ports = ports_, .planning = planning_};
        shared.at_work = machines.size();
        planning_.begin(machines);
        struct end_of_plan {
            recovery_planning& plan;
            const std::vector<uuid>& of;
            ~end_of_plan() { plan.end(of); }
        };
        const end_of_plan guard{planning_, machines};
        while (!machines.empty()) {
            auto lists = co_await lists_but(session_, what.node);
            if (lists) {
                shared.lists = *std::move(lists);
                break;
            }
            if (lists.error().code() == errc::session_lost || !under.holds()) {
                break;  // nothing is done below
            }
            co_await placement::wait_better(session_);
        }
        trial.dead_node = what.node;
        trial.proof = what.proof;
        trial.mark_id = what.mark_id;
        trial.heartbeat_id = what.heartbeat_id;
        std::vector<policy::guest_recovery> ends(machines.size(), trial);
        co_await async::with_task_group(
            "recovery of " + what.node, [&](async::task_group& group) -> async::awaitable<void> {
                for (std::size_t i = 0; i < machines.size(); ++i) {
                    ends[i].id = machines[i];
                    ends[i].before = before[machines[i]];
                    group.spawn(to_text(machines[i]),
                                [&shared, &one = ends[i], i] { return recover_one(shared, one, i); });
                }
                co_return;
            });
        if (names != nullptr) {
            *names = std::move(shared.names);
        }
        co_return ends;
    }

    static async::awaitable<void> recover_one(recovery_shared& shared, policy::guest_recovery& machine,
                                              std::size_t number) {
        guest_shell shell(shared, machine, number);
        machine = co_await shell.run();
    }

    policy::fence_said::recovered conclude(const std::vector<policy::guest_recovery>& ends) {
        using end = policy::fence_said::recovered::end;
        policy::fence_said::recovered out{.how = end::finished, .left = {}};
        follow_unseen(ends);
        for (const auto& one : ends) {
            switch (one.end) {
                case guest_end::recovered: ++counts_.recovered; break;
                case guest_end::unseen: ++counts_.unseen; break;
                case guest_end::stopped: ++counts_.stopped; break;
                case guest_end::left_alone: break;
                case guest_end::parked: counts_.parked += one.zxid != 0 ? 1 : 0; break;
                case guest_end::kept:
                case guest_end::needs_ceph:
                    ++(one.end == guest_end::kept ? counts_.kept : counts_.needs_ceph);
                    out.needs_ceph |= one.end == guest_end::needs_ceph;
                    out.left.push_back(one.id);
                    break;
                case guest_end::node_back: out.how = end::node_back; break;
                case guest_end::abandoned: out.how = out.how == end::node_back ? out.how : end::abandoned; break;
            }
        }
        return out;
    }

    void tell(const std::string& node, const std::vector<policy::guest_recovery>& ends,
              const std::map<uuid, std::string>& names) const {
        std::string left;
        const auto name = [&names](const uuid& id) {
            const auto found = names.find(id);
            return found == names.end() ? to_text(id) : shown(found->second);
        };
        for (const auto& one : ends) {
            if (one.end == guest_end::parked) {
                session_.node.log.warning(message::recovery_parked, "virtual machine " + name(one.id) + " of " +
                                                                        shown(node) + " is stopped: " + one.why);
            }
            if (one.end == guest_end::kept || one.end == guest_end::needs_ceph) {
                left += (left.empty() ? "" : "; ") + name(one.id) + " (" + one.why + ")";
            }
        }
        if (!left.empty()) {
            session_.node.log.error(message::recovery_left,
                                    "machines of " + shown(node) + " were not recovered: " + left);
        }
    }

    core::session& session_;
    recovery_ports ports_;
    recovery_counts& counts_;
    recovery_planning planning_;
    bool has_ceph_ = false;                  // there is a way to it from here, as far as was looked
    bool is_without_pools_ = false;          // the cluster has none, so that no machine needs Ceph
    std::map<std::string, node_left> left_;  // by fenced node
    std::vector<unseen_one> unseen_;
    async::wakeup changed_;  // for tend()
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
    put("not seen to run", counts_->unseen);
    put("stopped", counts_->stopped);
    put("parked", counts_->parked);
    put("left", counts_->kept);
    put("needs ceph", counts_->needs_ceph);
}

}  // namespace pvc::fencing
