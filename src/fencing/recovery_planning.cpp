#include "recovery_planning.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

constexpr duration figures_validity = 5s;
constexpr duration reading_limit = 15s;  // of all machines' keys
// What is placed meanwhile is remembered for longer (recovery_planner::remembered).
constexpr duration assigned_validity = 30s;
// One that is well answers within milliseconds; a machine waits for this answer.
constexpr duration libvirtd_limit = 2s;

using reply = result<zookeeper::read_reply>;

constexpr std::array<const char*, 12> offer_keys{
    model::node_key::daemon_state, model::node_key::domain_state, model::node_key::mem_free, model::node_key::mem_used,
    model::node_key::mem_prov, model::node_key::cpu_load, model::node_key::vcpu_alloc, model::node_key::domains_count,
    model::node_key::mem_total, "/staticdata",
    // In this order: ours writes both in each heartbeat.
    model::node_key::keepalive, model::node_key::self_reset};

std::string offered(const reply& one) {
    return one ? one->data : std::string();
}

policy::node_room room_of(std::string name, std::span<const reply> keys) {
    policy::node_room room;
    room.offer.name = std::move(name);
    room.offer.daemon = model::daemon_state_or_fallback(offered(keys[0]));
    room.offer.domain = model::domain_state_or_fallback(offered(keys[1]));
    room.offer.memfree = offered(keys[2]);
    room.offer.memused = offered(keys[3]);
    room.offer.memprov = offered(keys[4]);
    room.offer.cpuload = offered(keys[5]);
    room.offer.vcpualloc = offered(keys[6]);
    room.offer.domainscount = offered(keys[7]);
    room.memtotal = offered(keys[8]);
    if (const auto statics = model::parse_static_data(offered(keys[9]))) {
        room.cpucount = statics->cpu_count;
    }
    room.is_ours = keys[10] && keys[11] && keys[11]->stat.mzxid >= keys[10]->stat.mzxid;
    return room;
}

}  // namespace

async::awaitable<result<rooms_read>> read_rooms(core::session& s) {
    PVC_CO_TRY(const auto names, co_await nodes_but(s, {}, s.limit()));
    std::vector<zookeeper::read_wish> wishes{{.path = std::string(model::key_path::migration_target_selector)}};
    for (const auto& name : names) {
        for (const char* key : offer_keys) {
            wishes.push_back({.path = model::node_path(name, key)});
        }
    }
    const auto answers = co_await s.zk.read_together(s.limit(), std::move(wishes));
    for (const auto& one : answers) {
        if (!one && one.error().code() != errc::not_found) {
            co_return one.error();
        }
    }
    rooms_read out;
    out.cluster_selector = offered(answers.front());
    const auto others = s.others.all();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto keys = std::span(answers).subspan(1 + i * offer_keys.size(), offer_keys.size());
        out.rooms.push_back(room_of(names[i], keys));
        const auto peer = std::ranges::find(others, names[i], &core::other_node::name);
        out.rooms.back().silent_for = peer == others.end() ? duration::zero() : peer->silent_for;
        if (const auto& beat = keys[10]) {
            out.written_at = std::max(out.written_at, beat->stat.mtime);
        }
        if (keys[0] && keys[1]) {
            out.versions[names[i]] = {keys[0]->stat.version, keys[1]->stat.version};
        }
    }
    co_return out;
}

std::set<std::string> takers_of(const rooms_read& rooms) {
    std::set<std::string> out;
    for (const auto& one : rooms.rooms) {
        if (policy::takes_domains(one.offer)) {
            out.insert(one.offer.name);
        }
    }
    return out;
}

std::string libvirtd_of(const core::session& s, const std::string& node) {
    const std::string& domain = s.node.config->networks.cluster.domain;
    return domain.empty() ? node : node + "." + domain;
}

async::awaitable<std::set<std::string>> silent_libvirtds(core::session& s, hypervisor::hypervisor* hypervisors,
                                                         std::set<std::string> nodes) {
    struct asked_libvirtd {
        std::string node;
        bool is_silent = false;
    };
    std::vector<asked_libvirtd> all;
    for (const auto& one : nodes) {
        all.push_back({one});
    }
    if (hypervisors != nullptr) {
        co_await async::for_each_bounded(
            "libvirtds", std::max<std::size_t>(all.size(), 1), all, [&](asked_libvirtd& one) -> async::awaitable<void> {
                const auto answer =
                    co_await hypervisors->probe(libvirtd_of(s, one.node), s.node.clock().now() + libvirtd_limit);
                one.is_silent = !answer;
            });
    }
    std::set<std::string> out;
    for (const auto& one : all) {
        if (one.is_silent) {
            out.insert(one.node);
        }
    }
    co_return out;
}

void note_silent(rooms_read& rooms, const std::set<std::string>& libvirtds) {
    for (auto& one : rooms.rooms) {
        one.is_libvirtd_silent = libvirtds.contains(one.offer.name);
    }
}

policy::target_request request_for(core::session& s, std::string_view limit, std::string_view selector,
                                   const std::string& cluster_selector, std::string node) {
    policy::target_request request;
    request.selector = policy::effective_selector(selector, cluster_selector, s.node.config->target_selector);
    request.limit = model::parse_comma_list(limit);
    request.current = std::move(node);
    return request;
}

void recovery_planning::begin(const std::vector<uuid>& machines) {
    at_work_.insert(machines.begin(), machines.end());
    read_at_.reset();
    assigned_at_.reset();
    asked_at_.reset();
}

void recovery_planning::end(const std::vector<uuid>& machines) {
    for (const auto& one : machines) {
        at_work_.erase(one);
    }
}

async::awaitable<bool> recovery_planning::read_assigned(const rooms_read& rooms) {
    const time_point begun = session_.node.clock().now();
    if (assigned_at_ && begun - *assigned_at_ < assigned_validity) {
        co_return true;
    }
    auto but = at_work_;
    for (const auto& one : planner_.placed_machines()) {
        but.erase(one);
    }
    auto now = co_await assigned_.read(takers_of(rooms), std::move(but), rooms.written_at, begun + reading_limit);
    if (!now) {
        co_return false;
    }
    assigned_then_ = *std::move(now);
    assigned_at_ = begun;
    co_return true;
}

async::awaitable<void> recovery_planning::ask_libvirtds(const rooms_read& rooms) {
    const time_point begun = session_.node.clock().now();
    if (asked_at_ && begun - *asked_at_ < assigned_validity) {
        co_return;
    }
    silent_ = co_await silent_libvirtds(session_, hypervisors_, takers_of(rooms));
    asked_at_ = begun;
}

// What takes a while beside each other: a machine waits for it.
async::awaitable<bool> recovery_planning::read() {
    const time_point begun = session_.node.clock().now();
    auto now = co_await read_rooms(session_);
    if (!now) {
        co_return false;
    }
    bool is_known = false;
    co_await async::with_task_group("what nodes can take", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("libvirtds", [&] { return ask_libvirtds(*now); });
        is_known = co_await read_assigned(*now);
    });
    if (!is_known) {
        co_return false;
    }
    note_silent(*now, silent_);
    versions_ = std::move(now->versions);
    cluster_selector_ = std::move(now->cluster_selector);
    planner_.begin(std::move(now->rooms), session_.node.clock().now(), assigned_then_);
    read_at_ = begun;
    co_return true;
}

async::awaitable<planned_place> recovery_planning::place(std::string dead_node, uuid id, const guest_view& guest,
                                                         std::string preferred, bool is_again) {
    const time_point asked = session_.node.clock().now();
    const auto turn = co_await order_.lock("figures of nodes, for the recovery of another machine");
    const bool is_fresh = read_at_ && session_.node.clock().now() - *read_at_ < figures_validity;
    if (is_again) {
        planner_.take_back(id);
    }
    planned_place out;
    if (!is_fresh || (is_again && *read_at_ < asked)) {
        const bool is_read = co_await read();
        if (!is_read) {
            out.plan = {policy::planned_guest::kind::no_figures, {}, "the figures of nodes could not be read"};
            co_return out;
        }
    }
    policy::guest_to_place one;
    one.id = id;
    one.request = request_for(session_, guest.node_limit, guest.node_selector, cluster_selector_, std::move(dead_node));
    one.memory = guest.memory_mib;
    one.vcpus = guest.vcpus;
    one.preferred = std::move(preferred);
    out.plan = planner_.place(one, session_.node.clock().now());
    if (const auto seen = versions_.find(out.plan.node); seen != versions_.end()) {
        out.checks.check(model::node_path(seen->first, model::node_key::daemon_state), seen->second.daemon);
        out.checks.check(model::node_path(seen->first, model::node_key::domain_state), seen->second.domain);
    }
    co_return out;
}

}  // namespace pvc::fencing
