// networking.md 13: what is published of samples of counters (cases 87, 88).
#include "pvcnoded/policy/networks/link_rates.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

constexpr time_point rates_begin{100s};

// One card with even traffic; `at`: in seconds.
model::link_counters counters(double at, int index = 2, const std::string& name = "ens4") {
    const auto passed = [at](double each) { return static_cast<std::uint64_t>(each * at); };
    return {index, name, 1'000'000 + passed(1000), 500 + passed(300), 70 + passed(10), passed(4), "up"};
}

time_point at(double seconds) {
    return rates_begin + std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

link_rates with_card(std::size_t window = 5, std::optional<std::int64_t> speed = 10'000) {
    link_rates rates(window);
    rates.set_hardware({{"ens4", speed}});
    return rates;
}

const std::string even =
    R"({"ens4": {"rx_bps": 8000, "rx_pps": 10, "tx_bps": 2400, "tx_pps": 4, "total_bps": 10400, "total_pps": 14, )"
    R"("link_speed": 10000000000, "state": "up"}})";

TEST(link_rates, case_87_a_card_is_published_from_the_sixth_sample_on) {
    auto rates = with_card();
    EXPECT_EQ(rates.text(rates_begin), "{}");
    for (int i = 0; i < 5; ++i) {
        rates.take(at(i), {counters(i)});
        EXPECT_EQ(rates.text(at(i)), "{}") << i;
    }
    rates.take(at(5), {counters(5)});
    EXPECT_EQ(rates.text(at(5)), even);
    for (int i = 6; i < 20; ++i) {
        rates.take(at(i), {counters(i)});
    }
    EXPECT_EQ(rates.text(at(19)), even);
}

TEST(link_rates, the_time_that_passed_counts_and_not_the_number_of_samples) {
    auto rates = with_card(2);
    rates.take(at(0), {counters(0)});
    rates.take(at(1), {counters(1)});
    rates.take(at(2.5), {counters(2.5)});
    EXPECT_EQ(rates.text(at(2.5)), even);
    rates.take(at(7), {counters(7)});  // the process stood still
    EXPECT_EQ(rates.text(at(7)), even);
}

TEST(link_rates, rates_are_truncated) {
    auto rates = with_card(3);
    rates.take(at(0), {{2, "ens4", 0, 0, 0, 0, "up"}});
    rates.take(at(1), {{2, "ens4", 0, 0, 0, 0, "up"}});
    rates.take(at(2), {{2, "ens4", 0, 0, 0, 0, "up"}});
    rates.take(at(3), {{2, "ens4", 1, 2, 5, 0, "up"}});
    EXPECT_NE(rates.text(at(3)).find(R"("rx_bps": 2, "rx_pps": 1, "tx_bps": 5, "tx_pps": 0, "total_bps": 7)"),
              std::string::npos)
        << rates.text(at(3));
}

TEST(link_rates, a_counter_that_was_reset_is_zero_until_the_reset_has_left_the_window) {
    auto rates = with_card(2);
    for (int i = 0; i < 3; ++i) {
        rates.take(at(i), {counters(i)});
    }
    rates.take(at(3), {{2, "ens4", 0, 0, 0, 0, "up"}});
    EXPECT_NE(rates.text(at(3)).find(R"("rx_bps": 0, "rx_pps": 0, "tx_bps": 0, "tx_pps": 0, "total_bps": 0)"),
              std::string::npos)
        << rates.text(at(3));
    rates.take(at(4), {{2, "ens4", 1000, 300, 10, 4, "up"}});
    rates.take(at(5), {{2, "ens4", 2000, 600, 20, 8, "up"}});
    EXPECT_EQ(rates.text(at(5)), even);
}

TEST(link_rates, case_88_a_speed_that_nobody_knows_is_zero) {
    for (const std::optional<std::int64_t> speed :
         {std::optional<std::int64_t>(-1), std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
        auto rates = with_card(1, speed);
        rates.take(at(0), {counters(0)});
        rates.take(at(1), {counters(1)});
        EXPECT_NE(rates.text(at(1)).find(R"("link_speed": 0,)"), std::string::npos) << rates.text(at(1));
    }
    auto rates = with_card(1, std::numeric_limits<std::int64_t>::max());
    rates.take(at(0), {counters(0)});
    rates.take(at(1), {counters(1)});
    EXPECT_EQ(rates.text(at(1)).find("-"), std::string::npos) << rates.text(at(1));
}

TEST(link_rates, case_88_a_card_that_vanishes_is_left_out_and_begins_anew) {
    auto rates = with_card(1);
    rates.set_hardware({{"ens4", 10'000}, {"ens5", 1000}});
    EXPECT_EQ(rates.names(), (std::vector<std::string>{"ens4", "ens5"}));
    for (int i = 0; i < 2; ++i) {
        rates.take(at(i), {counters(i), counters(i, 3, "ens5")});
    }
    EXPECT_NE(rates.text(at(1)).find("ens5"), std::string::npos);
    rates.take(at(2), {counters(2)});
    EXPECT_EQ(rates.text(at(2)), even);
    rates.take(at(3), {counters(3), counters(3, 3, "ens5")});
    EXPECT_EQ(rates.text(at(3)), even) << "one sample is no rate";
    rates.set_hardware({{"ens4", 10'000}});
    rates.take(at(4), {counters(4), counters(4, 3, "ens5")});
    EXPECT_EQ(rates.text(at(4)), even);
}

TEST(link_rates, a_card_that_was_made_anew_begins_anew) {
    auto rates = with_card(1);
    rates.take(at(0), {counters(0)});
    rates.take(at(1), {counters(0, 7)});
    EXPECT_EQ(rates.text(at(1)), "{}");
    rates.take(at(2), {counters(1, 7)});
    EXPECT_EQ(rates.text(at(2)), even);
}

TEST(link_rates, what_was_known_long_ago_is_not_published) {
    auto rates = with_card(5);
    for (int i = 0; i < 6; ++i) {
        rates.take(at(i), {counters(i)});
    }
    EXPECT_EQ(rates.text(at(11)), even);
    EXPECT_EQ(rates.text(at(11.1)), "{}");
}

TEST(link_rates, counters_at_their_end_do_no_harm) {
    auto rates = with_card(1);
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    rates.take(at(0), {{2, "ens4", 0, 0, 0, 0, "up"}});
    rates.take(at(0.000001), {{2, "ens4", most, most, most, most, "up"}});
    EXPECT_EQ(rates.text(at(1)).find("-"), std::string::npos) << rates.text(at(1));
    auto at_once = with_card(1);
    at_once.take(at(0), {{2, "ens4", 0, 0, 0, 0, "up"}});
    at_once.take(at(0), {{2, "ens4", 9, 9, 9, 9, "up"}});
    EXPECT_NE(at_once.text(at(0)).find(R"("rx_bps": 0,)"), std::string::npos) << at_once.text(at(0));
}

}  // namespace
}  // namespace pvc::policy
