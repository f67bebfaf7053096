// Differential runs: random steps from a seed against the ensemble in memory and against a real server through the real
// adapter. Whatever differs is a mistake in the double, or in the adapter.
//
//   PVC_SEED=17 contract_zookeeper --gtest_filter='zookeeper_differential.*'    replays one seed
//   PVC_SEEDS=1000 ...                                                          runs so many
#include "contract/zookeeper/differential_player.hpp"
#include "sim/zookeeper/memory_client.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pvc::contract::differential {
namespace {

constexpr std::size_t seeds = 20;
constexpr std::size_t steps_of_a_seed = 150;
constexpr std::uint64_t first_seed = 1'000;
constexpr std::size_t reported_at_most = 5;
constexpr std::size_t planted_seeds = 3;

std::optional<std::uint64_t> number_from(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? std::nullopt : std::optional<std::uint64_t>(std::stoull(text));
}

transcript play_in_memory(const scenario& what, const alteration& alter = nullptr) {
    const auto where = make_memory_world(alter);
    return player(*where, what).play();
}

// What the port may answer and this harness can bring about, by request. Not here, because nothing in it leads there:
// `refused` (there are no access lists), `unspecified`, and `session lost` as the answer to what is under way (that
// takes a whole session's time of silence; the contract suite `loss` has it).
std::vector<std::string> expected_answers() {
    std::vector<std::string> out;
    const auto add = [&out](const std::string& request, const std::vector<std::string>& codes) {
        for (const auto& code : codes) {
            out.push_back(request + ' ' + code);
        }
    };
    for (const std::string read : {"get", "exists", "children"}) {
        add(read, {"ok", "not found", "invalid", "timed out", "no connection"});
    }
    add("create", {"ok", "already exists", "not found", "invalid", "too large", "outcome unknown", "no connection"});
    add("remove", {"ok", "not found", "not empty", "version conflict", "invalid", "outcome unknown"});
    add("commit", {"ok", "already exists", "not found", "not empty", "version conflict", "invalid", "too large",
                   "outcome unknown", "no connection"});
    add("sync", {"ok"});
    add("event", {"created", "changed", "deleted", "children"});
    add("lock", {"ok", "not found", "timed out"});
    for (int kind = 0; kind <= static_cast<int>(step_kind::dump); ++kind) {
        out.emplace_back(to_text(static_cast<step_kind>(kind)));
    }
    return out;
}

void expect_everything_seen(const std::map<std::string, std::size_t>& seen) {
    for (const auto& one : expected_answers()) {
        EXPECT_TRUE(seen.contains(one)) << "never seen: " << one;
    }
    std::size_t lost = 0;
    for (const auto& [what, times] : seen) {
        lost += what.ends_with("session lost") ? times : 0;
    }
    EXPECT_GT(lost, 0U) << "never seen: session lost";
}

TEST(zookeeper_differential, random_operations) {
    const auto one_seed = number_from("PVC_SEED");
    const std::size_t count = one_seed ? 1 : number_from("PVC_SEEDS").value_or(seeds);
    std::map<std::string, std::size_t> seen;
    std::size_t differences = 0;
    for (std::size_t i = 0; i < count && differences < reported_at_most; ++i) {
        const std::uint64_t seed = one_seed.value_or(first_seed + i);
        const scenario what = generate(seed, steps_of_a_seed);
        const auto where = make_real_world();
        if (!where) {
            GTEST_SKIP() << "no ZooKeeper server on this machine (package zookeeper)";
        }
        const auto real = player(*where, what).play();
        const auto differs = difference(what, play_in_memory(what), real);
        if (differs) {
            ++differences;
            ADD_FAILURE() << "seed " << seed << ", " << *differs << "\n  again: PVC_SEED=" << seed
                          << " contract_zookeeper --gtest_filter='zookeeper_differential.random_operations'";
        }
        for (const auto& [one, times] : real.seen) {
            seen[one] += times;
        }
    }
    if (count >= seeds) {
        expect_everything_seen(seen);
    }
    for (const auto& [one, times] : seen) {
        RecordProperty(one, std::to_string(times));
    }
}

TEST(zookeeper_differential, the_double_is_deterministic) {
    for (std::uint64_t seed = 1; seed <= planted_seeds; ++seed) {
        const scenario what = generate(seed, steps_of_a_seed);
        const auto differs = difference(what, play_in_memory(what), play_in_memory(what));
        EXPECT_FALSE(differs) << *differs;
    }
}

// Ensembles that are wrong on purpose: the comparison must notice each.
class planted : public ::testing::Test {
protected:
    static std::size_t found(const alteration& alter) {
        std::size_t out = 0;
        for (std::uint64_t seed = 1; seed <= planted_seeds; ++seed) {
            const scenario what = generate(seed, steps_of_a_seed);
            out += difference(what, play_in_memory(what), play_in_memory(what, alter)) ? 1 : 0;
        }
        return out;
    }
};
using zookeeper_differential_planted = planted;

TEST_F(zookeeper_differential_planted, a_wrong_count_of_children_ever_made) {
    EXPECT_EQ(found([](sim::memory_ensemble& ensemble, sim::memory_link&) {
                  const std::string path = std::string(home) + "/hidden";
                  EXPECT_TRUE(ensemble.create(path, ""));
                  EXPECT_TRUE(ensemble.remove(path));
              }),
              planted_seeds);
}

TEST_F(zookeeper_differential_planted, reads_of_an_old_tree) {
    EXPECT_EQ(found([](sim::memory_ensemble&, sim::memory_link& link) { link.lag = 200ms; }), planted_seeds);
}

TEST_F(zookeeper_differential_planted, events_behind_the_answers) {
    EXPECT_EQ(found([](sim::memory_ensemble&, sim::memory_link& link) { link.watch_delay = 1h; }), planted_seeds);
}

TEST_F(zookeeper_differential_planted, requests_that_are_executed_although_their_connection_broke) {
    EXPECT_EQ(found([](sim::memory_ensemble&, sim::memory_link& link) {
                  link.on_request = [count = 0](const request& what) mutable {
                      const bool is_hundredth = what.is_write() && ++count % 100 == 0;
                      return is_hundredth ? sim::verdict::drop_after : sim::verdict::answer;
                  };
              }),
              planted_seeds);
}

}  // namespace
}  // namespace pvc::contract::differential
