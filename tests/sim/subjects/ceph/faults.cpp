// What befalls a cluster of Ceph, the helpers that ask it, and what clients keep of it in ZooKeeper.
#include "sim/subjects/ceph/ceph.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/world/chaos.hpp"

#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

std::uint64_t with_storage(cluster& world) {
    return has_storage(world) ? 1 : 0;
}

// Who is started meanwhile, or soon after, may have to fail for it.
void disturb_storage(cluster& world, const action& what) {
    disturb_hypervisors(world, what.lasts);
}

void hang(cluster& world, const action& what) {
    disturb_storage(world, what);
    world.hardware.ceph.hangs = world.hardware.rbd.hangs = true;
    world.lasting(what, nullptr, false, [&world] { world.hardware.ceph.hangs = world.hardware.rbd.hangs = false; });
}

// As after a power cut of the site: Ceph needs minutes until its monitors answer, however soon the nodes are there.
void come_late(cluster& world, const action& what) {
    disturb_hypervisors(world, what.amount);
    world.hardware.ceph.hangs = world.hardware.rbd.hangs = true;
    world.later.after(what.amount, [&world] { world.hardware.ceph.hangs = world.hardware.rbd.hangs = false; });
}

// The nodes lose their power at that moment, each for a while.
void draw_late(drawing& from, action& out) {
    out.amount = from.some_time(30s, 240s);
    for (const auto& one : from.world.members) {
        action& cut = from.follow_up(1ms, "power-off");
        cut.node = one->name();
        cut.lasts = from.some_time(500ms, 20s);
    }
}

void slow(cluster& world, const action& what) {
    disturb_storage(world, what);
    world.hardware.ceph.takes = world.hardware.rbd.list_time = what.amount;
    world.lasting(what, nullptr, false, [&world] {
        world.hardware.ceph.takes = 2ms;
        world.hardware.rbd.list_time = 5ms;
    });
}

// Its OSDs, and those of no other pool.
void slow_pool(cluster& world, const action& what) {
    disturb_storage(world, what);
    world.hardware.rbd.sick[what.value].takes = what.amount;
    world.lasting(what, nullptr, false, [&world] { world.hardware.rbd.sick.clear(); });
}

void hang_pool(cluster& world, const action& what) {
    disturb_storage(world, what);
    world.hardware.rbd.sick[what.value].hangs = true;
    world.lasting(what, nullptr, false, [&world] { world.hardware.rbd.sick.clear(); });
}

void draw_pool(drawing& from, action& out) {
    static constexpr std::array pools{"vms", "vms", "backup"};
    out.value = from.one_of(pools);
}

void refuse(cluster& world, const action& what) {
    disturb_storage(world, what);
    world.hardware.ceph.refusal = failure(errc::unavailable, "Ceph", "no permission");
    world.lasting(what, nullptr, false, [&world] { world.hardware.ceph.refusal.reset(); });
}

// Ceph's library sends the time on the blocklist as a text, which its monitors do not understand.
void misunderstand(cluster& world, const action& what) {
    world.hardware.rbd.sends_times_as_text = true;
    world.lasting(what, nullptr, false, [&world] { world.hardware.rbd.sends_times_as_text = false; });
}

// Who is to be on the blocklist by command: it says yes, and does nothing.
void ignore_commands(cluster& world, const action& what) {
    world.hardware.rbd.ignores_commands = true;
    world.lasting(what, nullptr, false, [&world] { world.hardware.rbd.ignores_commands = false; });
}

void stop_manager(cluster& world, const action& what) {
    world.hardware.ceph.has_manager = false;
    world.lasting(what, nullptr, false, [&world] { world.hardware.ceph.has_manager = true; });
}

void cut_off(cluster& world, const action& what, member& target) {
    disturb_storage(world, what);
    world.hardware.ceph.cut_off.insert(target.name());
    world.hardware.rbd.cut_off.insert(target.name());
    world.lasting(what, &target, false, [&world, &target] {
        world.hardware.ceph.cut_off.erase(target.name());
        world.hardware.rbd.cut_off.erase(target.name());
    });
}

void freeze_helper(cluster& world, const action& what, member& target) {
    if (!target.node.settings.storage || !target.node.ceph) {
        return;
    }
    disturb_storage(world, what);
    target.node.ceph->helper.is_frozen = true;
    world.lasting(what, &target, false, [&target] {
        if (target.node.ceph) {
            target.node.ceph->thaw();
        }
    });
}

void kill_helper(cluster& world, const action& what, member& target) {
    if (target.node.settings.storage && target.node.ceph) {
        disturb_storage(world, what);
        target.node.ceph->programs.kill();
    }
}

// Its next answers are cut in the middle, or are no answers at all.
void lie(cluster& world, const action& what, member& target) {
    if (!target.node.settings.storage || !target.node.ceph) {
        return;
    }
    disturb_storage(world, what);
    target.node.ceph->helper.spoil = [left = what.number](std::string frame) mutable {
        if (left <= 0) {
            return frame;
        }
        --left;
        return left % 2 == 0 ? frame.substr(0, frame.size() / 2) : std::string("{\"id\": 1, \"say\": \"done\"}");
    };
}

void answer_wrong(cluster& world, const action& what) {
    static constexpr std::array lies{"",
                                     "null",
                                     "{}",
                                     "[]",
                                     "{\"status\": 7, \"checks\": []}",
                                     "\xc3\xa9",
                                     "{\"pools\": [{\"name\": \"vms\"}]}",
                                     "{\"osds\": [{}]}",
                                     "not what was asked"};
    for (std::int64_t i = 0; i < what.number; ++i) {
        world.hardware.ceph.wrong.emplace_back(lies[static_cast<std::size_t>(i) % lies.size()]);
    }
}

void lose_osd(cluster& world, const action& what) {
    if (const auto found = world.hardware.ceph.osds.find(static_cast<int>(what.number));
        found != world.hardware.ceph.osds.end()) {
        found->second.is_up = false;
        found->second.is_in = !found->second.is_in;
        world.hardware.ceph.change();
    }
}

// A client's, whatever the primary is doing with it.
void remove_pool(cluster& world, const action& what) {
    const std::string path = "/ceph/pools/" + what.value;
    if (world.ensemble.exists(path)) {
        world.ensemble.remove_tree(path);
    } else if (world.hardware.ceph.pools.contains(what.value)) {
        world.ensemble.put({{path, ""}, {path + "/pgs", "8"}, {path + "/stats", "{}"}});
    }
}

void remove_osd(cluster& world, const action& what) {
    const std::string path = "/ceph/osds/" + std::to_string(what.number);
    if (world.ensemble.exists(path)) {
        world.ensemble.remove_tree(path);
    } else if (world.hardware.ceph.osds.contains(static_cast<int>(what.number))) {
        const std::string host = world.members.front()->name();
        world.ensemble.put(
            {{path, ""}, {path + "/node", host}, {path + "/device", "/dev/sdb"}, {path + "/stats", "{}"}});
    }
}

void damage_figures(cluster& world, const action& what) {
    if (world.ensemble.exists(what.path)) {
        world.ensemble.put(what.path, what.value);
    }
}

void draw_osd(drawing& from, action& out) {
    out.number = static_cast<std::int64_t>(from.random.below(3));
}

void draw_damage(drawing& from, action& out) {
    static constexpr std::array paths{
        "/ceph", "/ceph/health", "/ceph/util", "/ceph/pools/vms/stats", "/ceph/osds/0/stats", "/ceph/osds/1/node"};
    static constexpr std::array texts{"", "garbage", "{\"status\": "};
    out.path = from.one_of(paths);
    out.value = from.one_of(texts);
}

constexpr std::pair<std::int64_t, std::int64_t> osd_numbers{0, 2};
constexpr std::pair<std::int64_t, std::int64_t> answer_numbers{1, 100};

constexpr action_kind actions_on_ceph[] = {
    {.name = "hang-ceph",
     .meaning = "nobody of Ceph answers",
     .can_last = true,
     .on_cluster = hang,
     .chance = drawn{.favour = with_storage}},
    {.name = "late-ceph",
     .takes = "d",
     .meaning = "nobody of Ceph answers for so long, as after a power cut of the site",
     .on_cluster = come_late,
     .chance = drawn{.favour = with_storage, .arguments = draw_late}},
    {.name = "slow-ceph",
     .takes = "d",
     .meaning = "every answer of Ceph takes so long",
     .can_last = true,
     .on_cluster = slow,
     .chance = drawn{.favour = with_storage,
                     .arguments = [](drawing& from, action& out) { out.amount = from.some_time(100ms, 12s); }}},
    {.name = "refuse-ceph",
     .meaning = "there is no connection to Ceph for whoever asks about it",
     .can_last = true,
     .on_cluster = refuse,
     .chance = drawn{.favour = with_storage}},
    {.name = "misunderstood-ceph",
     .meaning = "Ceph refuses to blocklist a client for a time but by command (-22)",
     .can_last = true,
     .on_cluster = misunderstand,
     .is_for_scripts = true},
    {.name = "idle-monitors",
     .meaning = "Ceph says yes to a blocklisting by command, and does nothing",
     .can_last = true,
     .on_cluster = ignore_commands,
     .is_for_scripts = true},
    {.name = "stop-manager",
     .meaning = "Ceph has no manager",
     .can_last = true,
     .on_cluster = stop_manager,
     .chance = drawn{.favour = with_storage}},
    {.name = "wrong-answers",
     .takes = "i",
     .meaning = "so many of Ceph's answers are nonsense",
     .on_cluster = answer_wrong,
     .numbers = answer_numbers,
     .chance =
         drawn{.favour = with_storage,
               .arguments = [](drawing& from,
                               action& out) { out.number = 1 + static_cast<std::int64_t>(from.random.below(9)); }}},
    {.name = "change-ceph",
     .meaning = "the figures of Ceph are others",
     .on_cluster = [](cluster& world, const action& /*what*/) { world.hardware.ceph.change(); },
     .chance = drawn{.favour = with_storage}},
    {.name = "lose-osd",
     .takes = "i",
     .meaning = "an OSD goes down, and out or in",
     .on_cluster = lose_osd,
     .numbers = osd_numbers,
     .chance = drawn{.favour = with_storage, .arguments = draw_osd}},
    {.name = "remove-pool",
     .takes = "v",
     .meaning = "a client removes the pool from the tree, or makes it again",
     .on_cluster = remove_pool,
     .chance = drawn{.favour = with_storage,
                     .arguments =
                         [](drawing& from, action& out) {
                             static constexpr std::array pools{"vms", "backup"};
                             out.value = from.one_of(pools);
                         }}},
    {.name = "remove-osd",
     .takes = "i",
     .meaning = "a worker removes the OSD from the tree, or makes it again",
     .on_cluster = remove_osd,
     .numbers = osd_numbers,
     .chance = drawn{.favour = with_storage, .arguments = draw_osd}},
    {.name = "damage-ceph",
     .takes = "pv",
     .meaning = "somebody writes this into a key below /ceph",
     .on_cluster = damage_figures,
     .chance = drawn{.favour = with_storage, .arguments = draw_damage}},
    {.name = "cut-ceph",
     .takes = "n",
     .meaning = "this node cannot reach Ceph",
     .can_last = true,
     .on_member = cut_off,
     .chance = drawn{.favour = with_storage}},
    {.name = "freeze-helper",
     .takes = "n",
     .meaning = "SIGSTOP to the node's helper for Ceph",
     .can_last = true,
     .on_member = freeze_helper,
     .chance = drawn{.favour = with_storage}},
    {.name = "kill-helper",
     .takes = "n",
     .meaning = "SIGKILL to the node's helper for Ceph",
     .on_member = kill_helper,
     .chance = drawn{.favour = with_storage}},
    {.name = "lie-helper",
     .takes = "ni",
     .meaning = "so many answers of the helper are broken on their way",
     .on_member = lie,
     .numbers = answer_numbers,
     .chance =
         drawn{.favour = with_storage,
               .arguments = [](drawing& from,
                               action& out) { out.number = 1 + static_cast<std::int64_t>(from.random.below(4)); }}},
    {.name = "slow-pool",
     .takes = "dv",
     .meaning = "each call about an image of this pool takes so much longer",
     .can_last = true,
     .on_cluster = slow_pool,
     .chance = drawn{.favour = with_storage,
                     .arguments =
                         [](drawing& from, action& out) {
                             out.amount = from.some_time(100ms, 8s);
                             draw_pool(from, out);
                         }}},
    {.name = "hang-pool",
     .takes = "v",
     .meaning = "no call about an image of this pool is answered",
     .can_last = true,
     .on_cluster = hang_pool,
     .chance = drawn{.favour = with_storage, .arguments = draw_pool}},
    {.name = "keep-broken",
     .meaning = "a lock that is broken stays, and nobody says so",
     .can_last = true,
     .on_cluster =
         [](cluster& world, const action& what) {
             disturb_storage(world, what);
             world.hardware.rbd.keeps_broken = true;
             world.lasting(what, nullptr, false, [&world] { world.hardware.rbd.keeps_broken = false; });
         },
     .chance = drawn{.favour = with_storage}},
};

}  // namespace

void add_ceph_faults(registry& to) {
    to.add(actions_on_ceph);
}

}  // namespace pvc::sim
