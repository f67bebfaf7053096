// Whose machines would find no room if a node died (README ruling 44).
#include "pvcnoded/policy/fencing/explain_capacity.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

node_room room_of_node(const std::string& name, std::int64_t free) {
    return {.offer = {.name = name,
                      .daemon = model::daemon_state::run,
                      .domain = model::domain_state::ready,
                      .memfree = std::to_string(free),
                      .memused = "0",
                      .memprov = "0",
                      .cpuload = "1.0",
                      .vcpualloc = "1",
                      .domainscount = "1"},
            .memtotal = "10000",
            .cpucount = "8"};
}

guest_of_node machine_on(const std::string& node, int number, std::int64_t memory) {
    guest_of_node one;
    one.name = "m" + std::to_string(number);
    one.node = node;
    one.guest.id.bytes.back() = static_cast<std::uint8_t>(number);
    one.guest.request = {.selector = target_selector::mem, .limit = {}, .current = node};
    one.guest.memory = memory;
    return one;
}

TEST(explain_capacity, R44_each_node_by_itself_and_one_machine_after_the_other) {
    const std::vector<node_room> rooms{room_of_node("hv1", 3000), room_of_node("hv2", 2500), room_of_node("hv3", 9000)};
    std::vector<guest_of_node> guests{machine_on("hv3", 1, 2000), machine_on("hv3", 2, 2000),
                                      machine_on("hv3", 3, 2000), machine_on("hv1", 4, 8000)};
    guests.push_back(machine_on("hv2", 5, 100));
    guests.back().guest.request.limit = {"hv2"};
    guests.push_back(machine_on("hv2", 6, 100));
    guests.back().trouble = "it has no definition";
    const capacity_outlook wanted{
        {{"hv1", 1, 8000, 1}, {"hv2", 2, 100, 0}, {"hv3", 3, 6000, 2}},
        {{"hv2", "m5", "no node that it may run on is in run and ready"},
         {"hv2", "m6", "it has no definition"},
         {"hv3", "m3", "it needs 2000 MiB, and the node with the most room lacks 1000 MiB of that"}}};
    EXPECT_EQ(explain_capacity(rooms, guests, 100, 5s), wanted);
    // With more than it has, as a recovery may be told to.
    const auto more = explain_capacity(rooms, guests, 120, 5s);
    EXPECT_EQ(more.nodes[2], (capacity_of_node{"hv3", 3, 6000, 3}));
}

TEST(explain_capacity, R44_what_machines_have_not_touched_yet_is_not_free) {
    const std::vector<node_room> rooms{room_of_node("hv1", 3000), room_of_node("hv2", 2500)};
    const auto there = machine_on("hv1", 1, 2000);
    const std::vector guests{there, machine_on("hv2", 2, 2000)};
    const std::vector<assigned_machine> assigned{{there.guest.id, "hv1", 2000, 500}};
    const auto said = explain_capacity(rooms, guests, 100, 5s, assigned);
    EXPECT_EQ(said.left,
              (std::vector<guest_without_place>{
                  {"hv2", "m2", "it needs 2000 MiB, and the node with the most room lacks 500 MiB of that"}}));
}

TEST(explain_capacity, R44_one_that_is_silent_takes_nothing) {
    std::vector<node_room> rooms{room_of_node("hv1", 3000), room_of_node("hv2", 2500)};
    rooms[0].silent_for = 11s;
    const auto said = explain_capacity(rooms, {machine_on("hv2", 1, 100)}, 100, 5s);
    ASSERT_EQ(said.left.size(), 1U);
    EXPECT_NE(said.left[0].reason.find("has sent a heartbeat"), std::string::npos);
}

TEST(explain_capacity, without_nodes_or_machines) {
    EXPECT_EQ(explain_capacity({}, {machine_on("hv9", 1, 100)}, 100, 5s), capacity_outlook());
    EXPECT_EQ(explain_capacity({room_of_node("hv1", 1)}, {}, 100, 5s).nodes.size(), 1U);
}

}  // namespace
}  // namespace pvc::policy
