#include "pvcnoded/model/states.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pvc::model {
namespace {

TEST(states, every_state_survives_the_round_trip) {
    for (const auto mode : {daemon_mode::coordinator, daemon_mode::hypervisor}) {
        EXPECT_EQ(parse_daemon_mode(to_text(mode)), mode);
    }
    for (int i = 0; i <= static_cast<int>(daemon_state::fenced); ++i) {
        const auto state = static_cast<daemon_state>(i);
        EXPECT_EQ(parse_daemon_state(to_text(state)), state);
    }
    for (int i = 0; i <= static_cast<int>(router_state::relinquish); ++i) {
        const auto state = static_cast<router_state>(i);
        EXPECT_EQ(parse_router_state(to_text(state)), state);
    }
    for (int i = 1; i <= static_cast<int>(domain_state::fence_flush); ++i) {
        const auto state = static_cast<domain_state>(i);
        EXPECT_EQ(parse_domain_state(to_text(state)), state);
    }
    for (int i = 1; i <= static_cast<int>(vm_state::deleted); ++i) {
        const auto state = static_cast<vm_state>(i);
        EXPECT_EQ(parse_vm_state(to_text(state)), state);
    }
}

TEST(states, spellings_of_the_wire) {
    EXPECT_EQ(to_text(domain_state::fence_flush), "fence-flush");
    EXPECT_EQ(to_text(vm_state::migrate_live), "migrate-live");
    EXPECT_EQ(to_text(vm_state::deleted), "delete");
}

TEST(states, unknown_words_have_fallbacks) {
    for (const auto* word : {"", "None", "RUN", "running", "run ", "unknown"}) {
        EXPECT_EQ(parse_daemon_state(word), std::nullopt) << word;
        EXPECT_EQ(daemon_state_or_fallback(word), daemon_state::stop) << word;
        EXPECT_EQ(router_state_or_fallback(word), router_state::client) << word;
        EXPECT_EQ(domain_state_or_fallback(word), domain_state::unknown) << word;
        EXPECT_EQ(vm_state_or_fallback(word), vm_state::unknown) << word;
    }
}

}  // namespace
}  // namespace pvc::model
