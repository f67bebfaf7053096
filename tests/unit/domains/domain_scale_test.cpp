// Thousands of definitions (issue: scale; runtime-design.md 2.3, 2.5): the watch budget, and what is beyond it.
#include "domain_fixture.hpp"

#include <cstdio>

namespace pvc::node {
namespace {

class domain_scale : public domain_test {
protected:
    domain_scale() {
        ensemble.keep_trace(false);
        put_host("hv2");
    }
    static uuid id_of(int number) {
        char text[37];
        (void)std::snprintf(text, sizeof text, "%08x-0000-4000-8000-%012x", static_cast<unsigned>(number),
                            static_cast<unsigned>(number));
        return *parse_uuid(text);
    }
    void define_many(int first, int last, const std::string& node, const std::string& state = "stop") {
        for (int number = first; number < last; ++number) {
            define(state, node, "", {}, id_of(number), "vm" + std::to_string(number));
        }
    }
    void remove_many(int first, int last) {
        for (int number = first; number < last; ++number) {
            ensemble.remove_tree(path(number));
        }
    }
    static std::string path(int number, const std::string& suffix = {}) {
        return model::domain_path(to_text(id_of(number)), suffix);
    }
    [[nodiscard]] bool is_watched(int number) const {
        return ensemble.watches(path(number, "/state")) > 0 && ensemble.watches(path(number, "/node")) > 0;
    }
    [[nodiscard]] int watched(int first, int last) const {
        int count = 0;
        for (int number = first; number < last; ++number) {
            count += is_watched(number) ? 1 : 0;
        }
        return count;
    }
    [[nodiscard]] int watched_nodes(int first, int last) const {
        int count = 0;
        for (int number = first; number < last; ++number) {
            count += ensemble.watches(path(number, "/node")) > 0 ? 1 : 0;
        }
        return count;
    }
    [[nodiscard]] int last_without_watch() const {
        int last = all - 1;
        while (is_watched(last)) {
            --last;
        }
        return last;
    }
    // What a reconnect re-sends for them.
    [[nodiscard]] std::size_t armed_bytes(int first, int last) const {
        std::size_t bytes = 0;
        for (int number = first; number < last; ++number) {
            for (const auto* suffix : {"/state", "/node"}) {
                bytes += ensemble.watches(path(number, suffix)) * (path(number, suffix).size() + 4);
            }
        }
        return bytes;
    }
    [[nodiscard]] std::uint64_t reads_within(duration time) {
        const auto before = ensemble.counters().reads;
        pass(time);
        return ensemble.counters().reads - before;
    }
    // A machine that was off elsewhere is to run here: how long until it does.
    duration taken_over(int number) {
        const time_point begun = loop.clock().now();
        ensemble.put({{path(number, "/node"), "hv1"}, {path(number, "/state"), "start"}});
        EXPECT_TRUE(run_until([&] { return running().find(to_text(id_of(number))) != std::string::npos; }, 30s));
        return loop.clock().now() - begun;
    }

    static constexpr int own = 40;
    static constexpr int all = 4000;
    static constexpr std::size_t packet = 512UL * 1024;
};

TEST_F(domain_scale, beyond_the_watch_budget_the_states_of_others_give_way) {
    define_many(own, all, "hv2");
    define_many(0, own, "hv1");
    add_running_host();
    pass(11s);

    // Ours are watched; of the others `node`, and as many states as there is room for.
    EXPECT_EQ(watched(0, own), own);
    EXPECT_EQ(watched_nodes(own, all), all - own);
    EXPECT_GT(watched(own, all), 500);
    EXPECT_LT(watched(own, all), all - own);
    EXPECT_LT(armed_bytes(0, all), packet);
    EXPECT_LE(reads_within(50s), 50 * 30);

    // All that can begin to concern this node is heard at once, and is watched from then on.
    const int last = last_without_watch();
    EXPECT_LT(taken_over(last), 1s);
    EXPECT_TRUE(is_watched(last));
    define("start", "hv2", "", {}, id_of(all), "late");
    pass(6s);
    ensemble.put(path(all, "/node"), "hv1");
    EXPECT_TRUE(run_until([&] { return running().find(to_text(id_of(all))) != std::string::npos; }, 1s));
    // A command to one of ours does not wait.
    ensemble.put(path(last, "/state"), "stop");
    const std::string stopping = "vm" + std::to_string(last) + " - stopping";
    EXPECT_TRUE(run_until([&] { return nodes.front().log().find(stopping) != std::string::npos; }, 200ms));
}

TEST_F(domain_scale, the_state_of_a_domain_that_was_off_elsewhere_becomes_known_in_slow_rounds) {
    define_many(0, all, "hv2");
    add_running_host();
    pass(11s);
    const int last = last_without_watch();
    ensemble.put(path(last, "/state"), "mirror");
    const int unwatched = all - watched(0, all);
    pass(std::chrono::seconds(unwatched / 15 + 11));
    // It was off before it was moved: that was read since.
    ensemble.put({{path(last, "/node"), "hv1"}, {path(last, "/lastnode"), "hv2"}, {path(last, "/state"), "migrate"}});
    EXPECT_TRUE(run_until([&] { return ensemble.get(path(last, "/state")) == "mirror"; }, 60s));
}

TEST_F(domain_scale, ten_thousand_definitions_ask_for_little) {
    constexpr int many = 10000;
    define_many(own, many, "hv2");
    define_many(0, own, "hv1");
    sim_node& node = add_running_host();
    pass(11s);
    EXPECT_EQ(watched(0, own), own);
    EXPECT_LT(armed_bytes(0, many), packet);
    EXPECT_NE(node.log().find("beyond the watch budget"), std::string::npos);
    EXPECT_LE(reads_within(50s), 50 * 100);

    int last = many - 1;
    while (ensemble.watches(path(last, "/node")) > 0) {
        --last;
    }
    EXPECT_LT(taken_over(last), 16s);
    pass(1s);
    EXPECT_TRUE(is_watched(last));

    ensemble.stop();
    pass(1s);
    // While it is away: one that is watched, one that is not.
    --last;
    while (ensemble.watches(path(last, "/node")) > 0) {
        --last;
    }
    ensemble.put({{path(last, "/node"), "hv1"}, {path(last, "/state"), "start"}});
    ensemble.put(path(0, "/state"), "start");
    ensemble.start();
    EXPECT_TRUE(run_until([&] { return running().find(to_text(id_of(0))) != std::string::npos; }, 8s));
    EXPECT_LE(reads_within(20s), 20 * 100);  // all are compared once, without haste
    EXPECT_TRUE(run_until([&] { return running().find(to_text(id_of(last))) != std::string::npos; }, 5s));
    EXPECT_LT(armed_bytes(0, many), packet);
}

TEST_F(domain_scale, what_is_removed_and_comes_back_takes_no_more) {
    define_many(0, all, "hv2");
    add_running_host();
    pass(11s);
    const int before = watched(0, all);
    remove_many(200, all);
    pass(12s);  // there is room now: all that are left are watched
    EXPECT_EQ(watched(0, 200), 200);
    EXPECT_EQ(armed_bytes(200, all), 0U) << "watches of removed keys stay armed";
    define_many(200, all, "hv2");
    pass(12s);
    constexpr int in_flight = 40;  // are decided on before the first of them is set
    EXPECT_NEAR(watched(0, all), before, in_flight);
    EXPECT_LT(armed_bytes(0, all), packet);
    EXPECT_LT(taken_over(all - 1), 5s + 200ms);
}

TEST_F(domain_scale, not_even_ours_make_the_packet_too_large) {
    constexpr int many = 5000;
    define_many(0, many, "hv1");
    add_running_host();
    pass(21s);
    EXPECT_LT(armed_bytes(0, many), packet);
    EXPECT_GT(watched(0, many), 4000);
    ensemble.put(path(many - 1, "/state"), "start");
    EXPECT_TRUE(run_until([&] { return running() == to_text(id_of(many - 1)); }, 5s + 200ms));
}

}  // namespace
}  // namespace pvc::node
