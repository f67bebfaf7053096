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
    static constexpr int all = 6000;
    static constexpr std::size_t packet = 512UL * 1024;
};

TEST_F(domain_scale, the_watch_budget_holds_and_nothing_is_missed) {
    define_many(own, all, "hv2");
    define_many(0, own, "hv1");
    sim_node& node = add_running_host();
    pass(11s);

    // Ours are watched, of the others as many as there is room for.
    EXPECT_EQ(watched(0, own), own);
    const int others = watched(own, all);
    EXPECT_GT(others, 3000);
    EXPECT_LT(others, all - own);
    EXPECT_LT(armed_bytes(0, all), packet);
    EXPECT_NE(node.log().find("beyond the watch budget"), std::string::npos);

    // What is not watched is looked at once in each interval, and that is all that is read.
    const auto unwatched = static_cast<std::uint64_t>(all - own - others);
    const auto reads = reads_within(50s);
    EXPECT_GE(reads, 10 * 2 * unwatched);
    EXPECT_LE(reads, 11 * 2 * unwatched + 500);

    // Watched: at once. Not watched: within an interval, and it is watched from then on.
    int first = own;
    while (!is_watched(first)) {
        ++first;
    }
    EXPECT_LT(taken_over(first), 1s);
    int last = all - 1;
    while (is_watched(last)) {
        --last;
    }
    const duration patience = 5s + 200ms;
    EXPECT_LT(taken_over(last), patience);
    pass(1s);
    EXPECT_TRUE(is_watched(last));
    // `node` alone.
    define("start", "hv2", "", {}, id_of(all), "late");
    pass(6s);
    EXPECT_FALSE(is_watched(all));
    ensemble.put(path(all, "/node"), "hv1");
    EXPECT_TRUE(run_until([&] { return running().find(to_text(id_of(all))) != std::string::npos; }, patience));
    // A command to one of ours does not wait.
    ensemble.put(path(last, "/state"), "stop");
    const std::string stopping = "vm" + std::to_string(last) + " - stopping";
    EXPECT_TRUE(run_until([&] { return node.log().find(stopping) != std::string::npos; }, 200ms));
}

TEST_F(domain_scale, a_reconnection_is_no_storm) {
    define_many(own, all, "hv2");
    define_many(0, own, "hv1");
    add_running_host();
    pass(11s);
    ensemble.stop();
    pass(1s);
    // While it is away: one that is watched, one that is not.
    int last = all - 1;
    while (ensemble.watches(path(last, "/state")) > 0) {
        --last;
    }
    ensemble.put(path(own, "/state"), "mirror");
    ensemble.put(path(0, "/state"), "start");
    ensemble.start();
    EXPECT_TRUE(run_until([&] { return !running().empty(); }, 8s));
    EXPECT_EQ(running(), to_text(id_of(0)));
    pass(20s);  // each was compared once
    EXPECT_EQ(watched(0, own), own);
    EXPECT_LT(armed_bytes(0, all), packet);
    const int others = watched(own, all);
    EXPECT_GT(others, 3000);
    EXPECT_LE(reads_within(50s), 11 * 2 * static_cast<std::uint64_t>(all - own - others) + 500);
    EXPECT_LT(taken_over(own + 1), 5s + 200ms);
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
