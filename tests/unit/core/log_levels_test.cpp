// What is logged: for all records, for single subjects, and until when.
#include "pvcnoded/core/log_levels.hpp"

#include <gtest/gtest.h>

namespace pvc::core {
namespace {

using namespace std::chrono_literals;

constexpr time_point at(int seconds) {
    return time_point(std::chrono::seconds(seconds));
}

TEST(log_levels, each_detail_includes_those_before_it) {
    struct row {
        log_level level;
        log_detail least;
    };
    for (const auto& [level, least] : std::vector<row>{{log_level::error, log_detail::error},
                                                       {log_level::warning, log_detail::warning},
                                                       {log_level::ok, log_detail::info},
                                                       {log_level::info, log_detail::info},
                                                       {log_level::state, log_detail::info},
                                                       {log_level::tick, log_detail::info},
                                                       {log_level::debug, log_detail::debug}}) {
        EXPECT_EQ(detail_of(level), least) << to_text(level);
        for (const auto detail : {log_detail::error, log_detail::warning, log_detail::info, log_detail::debug}) {
            log_levels levels;
            levels.configure(detail);
            EXPECT_EQ(levels.shows(level, "any"), detail >= least) << to_text(level) << " at " << to_text(detail);
            EXPECT_EQ(parse_log_detail(to_text(detail)), detail);
        }
    }
    EXPECT_EQ(parse_log_detail("Info"), std::nullopt);
    EXPECT_EQ(parse_log_detail(""), std::nullopt);
}

TEST(log_levels, a_subject_has_its_own_and_the_others_that_of_all) {
    log_levels levels;
    EXPECT_TRUE(levels.set({"web", log_detail::debug, at(10)}));
    EXPECT_TRUE(levels.set({"", log_detail::error, at(20)}));
    EXPECT_TRUE(levels.set({"alpha", log_detail::warning, at(30)}));
    EXPECT_TRUE(levels.shows(log_level::debug, "web"));
    EXPECT_FALSE(levels.shows(log_level::debug, "we"));
    EXPECT_FALSE(levels.shows(log_level::warning, ""));
    EXPECT_TRUE(levels.shows(log_level::warning, "alpha"));
    EXPECT_FALSE(levels.shows(log_level::info, "alpha"));
    EXPECT_TRUE(levels.set({"web", log_detail::info, at(40)}));  // in its place
    EXPECT_EQ(levels.settings().size(), 3U);
    EXPECT_FALSE(levels.shows(log_level::debug, "web"));
    EXPECT_TRUE(levels.reset("web"));
    EXPECT_FALSE(levels.reset("web"));
    EXPECT_FALSE(levels.shows(log_level::info, "web"));
}

TEST(log_levels, what_is_over_is_taken_out) {
    log_levels levels;
    EXPECT_TRUE(levels.set({"b", log_detail::debug, at(10)}));
    EXPECT_TRUE(levels.set({"a", log_detail::debug, at(20)}));
    EXPECT_TRUE(levels.expire(at(9)).empty());
    const auto over = levels.expire(at(10));
    ASSERT_EQ(over.size(), 1U);
    EXPECT_EQ(over.front().subject, "b");
    ASSERT_EQ(levels.settings().size(), 1U);
    EXPECT_EQ(levels.settings().front().subject, "a");
}

TEST(log_levels, no_more_than_the_limit) {
    log_levels levels;
    for (std::size_t i = 0; i < log_levels::settings_max; ++i) {
        EXPECT_TRUE(levels.set({std::to_string(i), log_detail::debug, at(10)}));
    }
    EXPECT_FALSE(levels.set({"one more", log_detail::debug, at(10)}));
    EXPECT_TRUE(levels.set({"3", log_detail::info, at(10)}));
}

}  // namespace
}  // namespace pvc::core
