// What a subject adds is there, and changes nothing of what others brought.
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr action_kind whistle_kinds[] = {
    {.name = "whistle",
     .takes = "n",
     .meaning = "nothing comes of it",
     .on_member = [](cluster& /*world*/, const action& /*what*/, member& /*target*/) {},
     .chance = drawn{.eighths = 8}},
};
constexpr rule silence_rules[] = {{.name = "nobody_whistles", .meaning = "it is forbidden", .on_quiet = [](judge& of) {
                                       if (of.world.performed.contains("whistle")) {
                                           of.say("nobody_whistles", "somebody did");
                                       }
                                   }}};

// Of members, and asked on change: that the devices of none have lost an address that the test looks for.
struct questions {
    int asked = 0;
    bool is_in_flux = false;
};
constexpr rule address_rules[] = {{
    .name = "everybody_answers",
    .meaning = "the rule of a test",
    .of_member = {
        .is_judged = [](const judge& /*of*/, const member& one) { return one.number != 3; },
        .reads =
            [](const judge& of, const member& one) {
                using versions = member_rule::versions;
                return of.state<questions>().is_in_flux
                           ? std::nullopt
                           : std::optional(versions{one.node.kernel.generation(), of.world.changes_below("test")});
            },
        .wrong = [](const judge& of, const member& one) -> std::string {
            ++of.state<questions>().asked;
            const bool is_right = one.node.kernel.answers(*parse_address("10.0.0.1"));
            return is_right ? "" : one.name() + " does not answer";
        },
    },
}};

// All that there is, and what a subject of this test brings.
registry with_a_whistle() {
    registry all = all_subjects();
    all.add(whistle_kinds);
    all.add(silence_rules);
    return all;
}

cluster_settings three_nodes() {
    cluster_settings wanted;
    for (const std::string name : {"hv1", "hv2", "hv3"}) {
        node_settings node;
        node.name = name;
        node.coordinators = {"hv1", "hv2", "hv3"};
        wanted.nodes.push_back(std::move(node));
    }
    return wanted;
}

// What is drawn for six hours, and when. No daemon runs: what an action comes to is not the question.
std::vector<std::string> drawn_with(const registry& known, std::uint64_t seed, std::string_view without) {
    cluster world(three_nodes(), &known);
    chaos faults(world, random_source(seed), known, {}, true);
    std::vector<std::string> seen;
    faults.on_drawn = [&](const action& what) {
        if (!what.is(without)) {
            seen.push_back(duration_text(world.now() - time_point{}) + ' ' + to_text(what));
        }
    };
    while (world.now() - time_point{} < 6h && world.step()) {
        for (const auto& one : world.members) {
            one->node.kill();
        }
        faults.act();
    }
    return seen;
}

}  // namespace

TEST(registry, a_new_action_leaves_the_others_when_and_as_they_were) {
    const registry more = with_a_whistle();
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const auto before = drawn_with(all_subjects(), seed, "whistle");
        EXPECT_GT(before.size(), 100U);
        EXPECT_EQ(drawn_with(more, seed, "whistle"), before) << seed;
        EXPECT_GT(drawn_with(more, seed, "").size(), before.size()) << seed;
    }
}

TEST(registry, a_rule_that_was_added_is_asked) {
    const registry more = with_a_whistle();
    cluster world(three_nodes(), &more);
    judge watch(world);
    ASSERT_TRUE(world.perform(action(*more.find("whistle"), "hv1")));
    for (int i = 0; i < 100 && !watch.broken(); ++i) {
        world.later.after(1s, [] {});
        world.step();
        watch.look();
    }
    ASSERT_TRUE(watch.broken());
    EXPECT_EQ(watch.broken()->invariant, "nobody_whistles");
}

// No daemon runs. Two members are judged, the third one never.
struct asked_on_change : ::testing::Test {
    asked_on_change() {
        known.add(address_rules);
        world.emplace(three_nodes(), &known);
        for (const auto& one : world->members) {
            one->node.kernel.add("lo", "10.0.0.1/32");
        }
        watch.emplace(*world);
    }
    // How often the rule was asked meanwhile.
    int pass(duration time) {
        const int before = watch->state<questions>().asked;
        const time_point end = world->now() + time;
        while (world->now() < end) {
            world->later.after(1s, [] {});
            world->step();
            watch->look();
        }
        return watch->state<questions>().asked - before;
    }
    [[nodiscard]] std::string broken() const { return watch->broken() ? watch->broken()->what : ""; }

    registry known;
    std::optional<cluster> world;
    std::optional<judge> watch;
};

TEST_F(asked_on_change, a_rule_of_a_member_is_asked_when_what_it_reads_has_changed) {
    EXPECT_EQ(pass(10s), 2);
    EXPECT_EQ(pass(10min), 0);
    world->ensemble.put("/other/key", "1");
    EXPECT_EQ(pass(10s), 0);
    world->ensemble.put("/test/key", "1");
    EXPECT_EQ(pass(10s), 2);
    world->ensemble.put("/test/key", "2");
    EXPECT_EQ(pass(10s), 2);
    world->members[1]->node.kernel.add("lo", "10.0.0.2/32");
    EXPECT_EQ(pass(10s), 1);
    EXPECT_EQ(broken(), "");
    world->members[1]->node.kernel.remove("lo", *parse_host_address("10.0.0.1/32"));
    EXPECT_EQ(pass(1s), 1);
    EXPECT_EQ(broken(), "hv2 does not answer");
}

TEST_F(asked_on_change, one_that_depends_on_the_time_is_asked_each_second) {
    watch->state<questions>().is_in_flux = true;
    EXPECT_GE(pass(10s), 2 * 9);
    watch->state<questions>().is_in_flux = false;
    EXPECT_EQ(pass(10s), 2);
    EXPECT_EQ(pass(10s), 0);
}

TEST_F(asked_on_change, who_was_wrong_is_asked_again) {
    world->members[0]->node.kernel.remove("lo", *parse_host_address("10.0.0.1/32"));
    EXPECT_GE(pass(10s), 1 + 9);
    EXPECT_EQ(broken(), "hv1 does not answer");
}

TEST(registry, every_action_is_done_by_somebody_and_every_name_is_there_once) {
    std::set<std::string_view> names;
    for (const auto* kind : all_subjects().actions()) {
        EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
        EXPECT_NE(kind->on_member != nullptr, kind->on_cluster != nullptr) << kind->name;
        EXPECT_FALSE(kind->meaning.empty()) << kind->name;
    }
    names.clear();
    for (const auto* one : all_subjects().rules()) {
        EXPECT_TRUE(one->name.empty() || names.insert(one->name).second) << one->name;
    }
    for (const auto& one : all_subjects().mistakes()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
    }
}

}  // namespace pvc::sim
