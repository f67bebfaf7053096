// What must never happen with Ceph's figures and with locks, and what must come about once all faults have ended.
#include "pvcnoded/base/text.hpp"
#include "sim/subjects/ceph/ceph.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/osds/osds.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;

// A write may be on its way when the role goes.
constexpr duration on_its_way = 8s;

struct ceph_seen {
    std::map<std::uint32_t, time_point> last_primary;  // by number
    std::string started_on_a_lock;
};

void follow_primaries(judge& of) {
    auto& last = of.state<ceph_seen>().last_primary;
    for (const auto& one : of.world.members) {
        if (one->node.is_running() && one->node.daemon().context().role.now() == model::router_state::primary) {
            last[one->number] = of.world.now();
        }
    }
}

bool is_said(const sim_ceph& ceph, const std::string& path, const std::string& text) {
    if (path == "/ceph") {
        return ceph.has_said("status", text);
    }
    if (path == "/ceph/util") {
        return ceph.has_said("df plain", text);
    }
    return ceph.has_said("health", text) || text.find("PVC_CEPH_UNREACHABLE") != std::string::npos;
}

// An OSD, a pool, a volume or a snapshot itself, which clients and workers make.
bool is_object(std::string_view path) {
    for (const std::string_view list : {"/ceph/osds/", "/ceph/pools/"}) {
        if (path.starts_with(list)) {
            return path.find('/', list.size()) == std::string_view::npos;
        }
    }
    return path.starts_with("/ceph/volumes/") || path.starts_with("/ceph/snapshots/");
}

// What is stored is what Ceph said to just this question.
void figures_are_true(judge& of, const seen_change& seen) {
    const std::string& path = seen.what.path;
    if (seen.writer == nullptr || !path.starts_with("/ceph") || is_of_osd_command(of.world, seen)) {
        return;
    }
    const bool is_text = path == "/ceph" || path == "/ceph/health" || path == "/ceph/util";
    const bool is_stats =
        path.ends_with("/stats") && (path.starts_with("/ceph/pools/") || path.starts_with("/ceph/osds/"));
    if (seen.what.what == recorded_kind::remove && path == "/ceph/health" &&
        parse_integer(value_of(of, "/schema/version")).value_or(0) < 9) {
        return;  // a schema that does not have it
    }
    if (seen.what.what == recorded_kind::remove || (seen.what.what == recorded_kind::create && is_object(path))) {
        of.say("ceph_figures", fmt::format("{} did: {}", seen.writer->name(), seen.what.text()));
        return;
    }
    if (seen.what.what == recorded_kind::create && seen.what.data.size() < 3) {
        return;  // the validation of the tree makes a deleted key again: empty, or {}
    }
    if (is_text && !is_said(of.world.hardware.ceph, path, seen.what.data)) {
        of.say("ceph_figures", fmt::format("{} wrote into {} what Ceph never answered to that: {}", seen.writer->name(),
                                           path, seen.what.data.substr(0, 80)));
    }
    if (path.starts_with("/ceph/pools/") && is_stats) {
        const std::string name = path.substr(12, path.size() - 12 - 6);
        const auto pool = of.world.hardware.ceph.pools.find(name);
        if (pool == of.world.hardware.ceph.pools.end() ||
            !seen.what.data.starts_with(fmt::format("{{\"id\": {}, ", pool->second.id))) {
            of.say("ceph_figures", fmt::format("{} wrote figures of another pool into {}: {}", seen.writer->name(),
                                               path, seen.what.data.substr(0, 80)));
        }
    }
    const auto& last = of.state<ceph_seen>().last_primary;
    const auto when = last.find(seen.writer->number);
    if ((is_text || is_stats) && (when == last.end() || of.world.now() - when->second > on_its_way)) {
        of.say("ceph_by_primary", fmt::format("{} wrote {} and is not primary", seen.writer->name(), path));
    }
}

// At most one, and none of a daemon that serves nobody.
void there_is_one_helper(judge& of) {
    for (const auto& one : of.world.members) {
        if (one->node.ceph && one->node.ceph->programs.running() > 1) {
            of.say("one_helper", one->name() + " has two helpers for Ceph");
        }
        if (one->node.ceph && !one->node.settings.storage && one->node.ceph->programs.starts() > 0) {
            of.say("one_helper", one->name() + " has a helper for Ceph and no storage");
        }
    }
}

// Whoever was told of a lock, and of nothing since, must not start the machine whose disk it is on.
void listen_to_starts(judge& of) {
    if (!has_storage(of.world)) {
        return;
    }
    of.world.on_hypervisor_call.emplace_back([&of](const std::string& machine, const std::string& call) {
        const member* const one = of.world.find(machine);
        if (one == nullptr || !one->node.settings.storage || !call.starts_with("create ")) {
            return;
        }
        for (const auto number : guests_of(of.world).disks) {
            const bool is_its = call.find(pvc::to_text(guest_id(number))) != std::string::npos ||
                                call == "create " + of.world.hardware.centre.name_of(guest_id(number));
            if (is_its && of.world.hardware.rbd.has_told_of_lock(machine, guest_image(number))) {
                of.state<ceph_seen>().started_on_a_lock =
                    fmt::format("{} starts machine {}, whose disk is locked as it was told", machine, number);
            }
        }
    });
}

void no_start_on_a_locked_disk(judge& of) {
    if (const auto& what = of.state<ceph_seen>().started_on_a_lock; !what.empty()) {
        of.say("disks_are_free", what);
    }
}

std::optional<std::string> figures_come(const judge& of) {
    if (!has_storage(of.world)) {
        return std::nullopt;
    }
    const std::string primary = value_of(of, "/config/primary_node");
    const auto one = std::ranges::find_if(of.world.members, [&](const auto& any) { return any->name() == primary; });
    if (one == of.world.members.end() || !(*one)->node.settings.storage) {
        return std::nullopt;
    }
    for (const auto& [path, command] : {std::pair("/ceph", R"({"prefix":"status","format":"plain"})"),
                                        std::pair("/ceph/util", R"({"prefix":"df","format":"plain"})"),
                                        std::pair("/ceph/health", R"({"prefix":"health","format":"json"})")}) {
        const bool is_known = std::string_view(path) != "/ceph/health" || of.world.ensemble.exists("/ceph/health");
        if (is_known && value_of(of, path) != *of.world.hardware.ceph.answer(command)) {
            return fmt::format("{} is \"{}\"", path, value_of(of, path).substr(0, 80));
        }
    }
    return std::nullopt;
}

constexpr rule ceph_rules[] = {
    {.name = "ceph_figures",
     .meaning = "what is stored of Ceph is what it answered to that question, of that pool",
     .on_change = figures_are_true},
    {.name = "ceph_by_primary", .meaning = "figures of Ceph are written by a primary"},
    {.name = "one_helper",
     .meaning = "a node has at most one helper for Ceph, and none without storage",
     .on_quiet = there_is_one_helper},
    {.name = "disks_are_free",
     .meaning = "no machine is started whose disk is locked, as its node was told",
     .on_begin = listen_to_starts,
     .on_quiet = no_start_on_a_locked_disk},
    {.on_quiet = follow_primaries},
};

constexpr progress ceph_progress[] = {
    {"ceph_figures_come", "the primary publishes what Ceph says now", figures_come},
};

constexpr planted_mistake mistakes_with_ceph[] = {
    {defect::break_unverified, "break_unverified", "guest-keeps-off-a-disk-whose-lock-stays"},
    {defect::opened_after_proof, "opened_after_proof", "guest-starts-although-its-image-takes-long-to-open"},
    {defect::lost_break_given_up, "lost_break_given_up", "guest-starts-although-the-helper-dies-with-the-break"},
    {defect::pools_without_turns, "pools_without_turns", "guest-starts-while-another-pool-hangs"},
    {defect::full_queue_refused, "full_queue_refused", "guests-sixty-with-up-to-eight-disks-all-start"},
    {defect::stale_answer_taken, "stale_answer_taken", "ceph-answers-late"},
};

}  // namespace

void add_ceph_rules(registry& to) {
    to.add(ceph_rules);
    to.add(ceph_progress);
    to.add(mistakes_with_ceph);
}

}  // namespace pvc::sim
