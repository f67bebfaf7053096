// What befalls the servers of the ensemble, and the subject as a whole.
#include "sim/subjects/zookeeper/zookeeper.hpp"
#include "sim/world/cluster.hpp"

namespace pvc::sim {

namespace {

constexpr action_kind actions_on_servers[] = {
    {.name = "stop-servers",
     .meaning = "no quorum: all connections break, none is possible",
     .can_last = true,
     .on_cluster =
         [](cluster& world, const action& what) {
             world.ensemble.stop();
             world.lasting(what, nullptr, true, [&world] { world.ensemble.start(); });
         },
     .chance = drawn{}},
    {.name = "start-servers",
     .meaning = "the servers are back",
     .on_cluster =
         [](cluster& world, const action& /*what*/) {
             world.ensemble.start();
             world.end_fault(nullptr);
         },
     .is_end = true},
    {.name = "freeze-servers",
     .meaning = "the leader pauses: nothing is answered",
     .can_last = true,
     .on_cluster =
         [](cluster& world, const action& what) {
             world.ensemble.freeze();
             world.lasting(what, nullptr, true, [&world] { world.ensemble.thaw(); });
         },
     .chance = drawn{}},
    {.name = "thaw-servers",
     .meaning = "it goes on",
     .on_cluster =
         [](cluster& world, const action& /*what*/) {
             world.ensemble.thaw();
             world.end_fault(nullptr);
         },
     .is_end = true},
};

constexpr sweep_fault server_faults[] = {
    {"stop-servers for 3s"},
    {"stop-servers for 14s"},
    {"freeze-servers for 5s"},
    {"freeze-servers for 20s"},
};

void heal_servers(cluster& world) {
    if (!world.ensemble.is_up()) {
        world.ensemble.start();
    }
    if (world.ensemble.is_frozen()) {
        world.ensemble.thaw();
    }
}

}  // namespace

void add_zookeeper(registry& to);
void add_zookeeper(registry& to) {
    add_links(to);
    to.add(actions_on_servers);
    to.add(server_faults);
    to.add(subject_part{.heal = heal_servers, .heal_member = heal_link});
}

}  // namespace pvc::sim
