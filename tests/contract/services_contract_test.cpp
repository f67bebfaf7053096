// The service manager port: systemctl with a stand-in program on PATH, and the simulated one (config.md 7.2).
#include "contract/process_bench.hpp"
#include "contract/services_bench.hpp"

namespace pvc::contract {
namespace {

template <class Bench>
class service_manager_contract : public testing::Test {
protected:
    services::service_manager& services() { return bench.services(); }
    Bench bench;
};

using benches = testing::Types<real_services, sim_services>;
TYPED_TEST_SUITE(service_manager_contract, benches);

TYPED_TEST(service_manager_contract, a_started_unit_is_active_until_it_is_stopped) {
    this->bench.run([&]() -> awaitable<void> {
        auto before = co_await this->services().is_active("one.service");
        EXPECT_TRUE(before && !*before);
        auto started = co_await this->services().start("one.service");
        EXPECT_TRUE(started);
        auto active = co_await this->services().is_active("one.service");
        EXPECT_TRUE(active && *active);
        auto other = co_await this->services().is_active("two.service");
        EXPECT_TRUE(other && !*other);
        auto stopped = co_await this->services().stop("one.service");
        EXPECT_TRUE(stopped);
        auto after = co_await this->services().is_active("one.service");
        EXPECT_TRUE(after && !*after);
        auto restarted = co_await this->services().restart("one.service");
        EXPECT_TRUE(restarted);
        auto again = co_await this->services().is_active("one.service");
        EXPECT_TRUE(again && *again);
    });
}

TYPED_TEST(service_manager_contract, an_enabled_unit_runs_and_a_disabled_one_does_not) {
    this->bench.run([&]() -> awaitable<void> {
        for (int round = 0; round < 2; ++round) {  // what is so already is no failure
            auto enabled = co_await this->services().enable_now("one.service");
            EXPECT_TRUE(enabled);
            EXPECT_TRUE(this->bench.is_enabled("one.service"));
            auto active = co_await this->services().is_active("one.service");
            EXPECT_TRUE(active && *active);
        }
        for (int round = 0; round < 2; ++round) {
            auto disabled = co_await this->services().disable_now("one.service");
            EXPECT_TRUE(disabled);
            EXPECT_FALSE(this->bench.is_enabled("one.service"));
            auto active = co_await this->services().is_active("one.service");
            EXPECT_TRUE(active && !*active);
        }
    });
}

TYPED_TEST(service_manager_contract, a_start_does_not_wait_for_the_unit) {
    this->bench.never_active("slow.service");
    this->bench.run([&]() -> awaitable<void> {
        auto started = co_await this->services().start("slow.service");
        EXPECT_TRUE(started);
        auto active = co_await this->services().is_active("slow.service");
        EXPECT_TRUE(active && !*active);
    });
}

TYPED_TEST(service_manager_contract, a_refusal_holds_the_words) {
    this->bench.refuse("no.service", "Failed to start no.service: Unit no.service not found.");
    this->bench.run([&]() -> awaitable<void> {
        using manager = services::service_manager;
        for (auto request :
             {&manager::start, &manager::restart, &manager::stop, &manager::enable_now, &manager::disable_now}) {
            auto answer = (this->services().*request)("no.service");
            auto refused = co_await std::move(answer);
            EXPECT_FALSE(refused);
            if (!refused) {
                EXPECT_EQ(refused.error().code(), errc::refused);
                EXPECT_EQ(refused.error().subject(), "no.service");
                EXPECT_EQ(refused.error().cause(), "Failed to start no.service: Unit no.service not found.");
            }
        }
        auto active = co_await this->services().is_active("no.service");
        EXPECT_TRUE(active && !*active);
    });
}

TYPED_TEST(service_manager_contract, without_a_service_manager_it_is_unavailable) {
    this->bench.remove_manager();
    this->bench.run([&]() -> awaitable<void> {
        auto started = co_await this->services().start("one.service");
        EXPECT_TRUE(!started && started.error().code() == errc::unavailable);
        auto active = co_await this->services().is_active("one.service");
        EXPECT_TRUE(!active && active.error().code() == errc::unavailable);
    });
}

TYPED_TEST(service_manager_contract, one_that_does_not_answer_times_out) {
    this->bench.hang();
    this->bench.run([&]() -> awaitable<void> {
        auto started = co_await this->services().start("one.service");
        EXPECT_TRUE(!started && started.error().code() == errc::timed_out);
        auto active = co_await this->services().is_active("one.service");
        EXPECT_TRUE(!active && active.error().code() == errc::timed_out);
    });
}

TYPED_TEST(service_manager_contract, cancelling_ends_the_helper) {
    this->bench.hang();
    this->bench.run([&]() -> awaitable<void> {
        bool begun = false;
        const bool cancelled = co_await cancel_when(
            this->bench.clock(), [&] { return begun; },
            [&]() -> awaitable<void> {
                begun = true;
                auto started = co_await this->services().start("one.service");
            });
        EXPECT_TRUE(cancelled);
    });
    EXPECT_FALSE(has_children());
}

// Only the real one has a program behind it.
class systemctl_words : public testing::Test {
protected:
    real_services bench;
};

TEST_F(systemctl_words, calls_are_as_specified) {
    bench.run([&]() -> awaitable<void> {
        auto started = co_await bench.services().start("a.service");
        auto restarted = co_await bench.services().restart("b.service");
        auto stopped = co_await bench.services().stop("c@hv1.service");
        auto enabled = co_await bench.services().enable_now("e.service");
        auto disabled = co_await bench.services().disable_now("f.service");
        auto active = co_await bench.services().is_active("d.service");
        EXPECT_TRUE(started && restarted && stopped && enabled && disabled && active);
    });
    EXPECT_EQ(bench.calls(),
              (std::vector<std::string>{"start --no-block a.service", "restart --no-block b.service",
                                        "stop --no-block c@hv1.service", "enable --now --no-block e.service",
                                        "disable --now --no-block f.service", "is-active d.service"}));
}

TEST_F(systemctl_words, no_bus_is_no_service_manager) {
    for (const char* words : {"System has not been booted with systemd as init system (PID 1). Can't operate.",
                              "Failed to connect to bus: No such file or directory"}) {
        bench.answer(1, words);
        bench.run([&]() -> awaitable<void> {
            auto started = co_await bench.services().start("a.service");
            EXPECT_TRUE(!started && started.error().code() == errc::unavailable);
            EXPECT_EQ(started.error().cause(), words);
            auto active = co_await bench.services().is_active("a.service");
            EXPECT_TRUE(!active && active.error().code() == errc::unavailable);
        });
    }
}

TEST_F(systemctl_words, a_unit_that_does_not_exist_is_not_active) {
    bench.answer(4, "");
    bench.run([&]() -> awaitable<void> {
        auto active = co_await bench.services().is_active("a.service");
        EXPECT_TRUE(active && !*active);
    });
}

TEST_F(systemctl_words, an_empty_refusal_names_the_exit_status) {
    bench.answer(6, "");
    bench.run([&]() -> awaitable<void> {
        auto started = co_await bench.services().start("a.service");
        EXPECT_TRUE(!started && started.error().code() == errc::refused);
        EXPECT_EQ(started.error().cause(), "exit status 6");
    });
}

TEST_F(systemctl_words, foreign_bytes_and_long_texts_are_tamed) {
    bench.answer(1, "\xe2\x97\x8f first " + std::string(2000, 'x') + "\nsecond");
    bench.run([&]() -> awaitable<void> {
        auto started = co_await bench.services().start("a.service");
        EXPECT_FALSE(started);
        EXPECT_TRUE(started.error().cause().starts_with("??? first xxx"));
        EXPECT_LE(started.error().cause().size(), 300U);
        EXPECT_EQ(started.error().cause().find("second"), std::string::npos);
    });
}

}  // namespace
}  // namespace pvc::contract
