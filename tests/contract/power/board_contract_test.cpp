// The power port, on a scripted ipmitool, on the real one with a simulator of boards, and on the double of the
// simulated world (node-lifecycle.md 10.3; README rulings 15, 40, 41).
#include "board_bench.hpp"

#include "pvcnoded/policy/fencing/power_answer.hpp"

namespace pvc::contract {
namespace {

using policy::board_power;
using power::board_access;
using power::board_answer;
using power::board_command;

template <class Bench>
class board_contract : public testing::Test {
protected:
    void SetUp() override {
        if (!Bench::is_there()) {
            GTEST_SKIP() << "ipmitool and ipmi_sim are not installed";
        }
        bench.emplace();
    }
    result<board_answer> ask(board_access to, board_command what, duration limit = 20s,
                             std::optional<duration> latest = std::nullopt) {
        std::optional<result<board_answer>> heard;
        bench->run([&]() -> awaitable<void> {
            const boot_time not_after = latest ? bench->clock().boot_now() + *latest : boot_time::max();
            auto answer = co_await bench->board().ask(std::move(to), what, not_after, limit);
            heard.emplace(std::move(answer));
        });
        return std::move(*heard);
    }
    result<board_answer> ask(board_command what) { return ask(bench->access(), what); }
    static board_power power_in(const result<board_answer>& heard) {
        return heard ? policy::read_power(heard->status, heard->output, heard->errors).power : board_power::unknown;
    }
    std::optional<Bench> bench;
};

using benches = testing::Types<scripted_board, simulator_board, simulated_board>;
TYPED_TEST_SUITE(board_contract, benches);

TYPED_TEST(board_contract, switches_its_machine_off_and_on_and_says_so) {
    EXPECT_EQ(this->power_in(this->ask(board_command::status)), board_power::on);
    const auto off = this->ask(board_command::off);
    ASSERT_TRUE(off) << off.error().text();
    EXPECT_EQ(off->status, 0) << off->errors;
    EXPECT_FALSE(this->bench->is_machine_on());
    EXPECT_EQ(this->power_in(this->ask(board_command::status)), board_power::off);
    const auto on = this->ask(board_command::on);
    ASSERT_TRUE(on);
    EXPECT_EQ(on->status, 0) << on->errors;
    EXPECT_TRUE(this->bench->is_machine_on());
    EXPECT_EQ(this->power_in(this->ask(board_command::status)), board_power::on);
}

TYPED_TEST(board_contract, tells_which_board_it_is) {
    const auto heard = this->ask(board_command::guid);
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->status, 0);
    EXPECT_NE(heard->output.find("System GUID"), std::string::npos) << heard->output;
}

TYPED_TEST(board_contract, a_wrong_password_is_an_answer) {
    auto to = this->bench->access();
    to.password = secret("not this");
    const auto heard = this->ask(to, board_command::off);
    ASSERT_TRUE(heard) << heard.error().text();
    EXPECT_EQ(heard->status, 1);
    EXPECT_NE(heard->errors.find("Unable to establish"), std::string::npos) << heard->errors;
    EXPECT_TRUE(this->bench->is_machine_on());
}

TYPED_TEST(board_contract, a_cipher_suite_that_it_does_not_know_is_an_answer) {
    auto to = this->bench->access();
    to.cipher_suite = 17;
    const auto heard = this->ask(to, board_command::status);
    ASSERT_TRUE(heard) << heard.error().text();
    EXPECT_EQ(heard->status, 1);
    EXPECT_EQ(this->power_in(heard), board_power::unknown);
}

TYPED_TEST(board_contract, a_silent_one_is_left_at_the_limit) {
    this->bench->be({.is_silent = true});
    const auto asked = this->bench->clock().now();
    const auto heard = this->ask(this->bench->access(), board_command::off, 1s);
    ASSERT_TRUE(heard) << heard.error().text();
    EXPECT_EQ(heard->status, std::nullopt);
    EXPECT_EQ(this->power_in(heard), board_power::unknown);
    EXPECT_GE(this->bench->clock().now() - asked, 1s);
    EXPECT_LT(this->bench->clock().now() - asked, 15s);
}

TYPED_TEST(board_contract, cancelling_ends_the_command) {
    this->bench->be({.is_silent = true});
    this->bench->run([&]() -> awaitable<void> {
        const auto begun = this->bench->clock().now();
        const bool cancelled = co_await cancel_when(
            this->bench->clock(), [&] { return this->bench->clock().now() - begun > 100ms; },
            [&]() -> awaitable<void> {
                const auto heard =
                    co_await this->bench->board().ask(this->bench->access(), board_command::off, boot_time::max(), 20s);
                ADD_FAILURE() << (heard ? heard->errors : heard.error().text());
            });
        EXPECT_TRUE(cancelled);
        EXPECT_LT(this->bench->clock().now() - begun, 15s);
    });
}

// A guarded step: what was looked at before may have changed.
TYPED_TEST(board_contract, sends_nothing_after_the_latest_start) {
    const auto heard = this->ask(this->bench->access(), board_command::off, 20s, -1ms);
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code(), errc::stopped);
    EXPECT_TRUE(this->bench->is_machine_on());
    EXPECT_EQ(this->ask(this->bench->access(), board_command::off, 20s, 10s)->status, 0);
    EXPECT_FALSE(this->bench->is_machine_on());
}

TYPED_TEST(board_contract, values_that_cannot_be_are_not_asked_with) {
    const auto good = this->bench->access();
    const auto before = this->bench->calls();
    const std::string long_text(10240, 'x');
    const auto says = [&](board_access to) {
        const auto heard = this->ask(std::move(to), board_command::off);
        EXPECT_TRUE(!heard && heard.error().code() == errc::invalid);
        return heard ? std::string() : heard.error().cause();
    };
    auto to = good;
    for (const auto& [host, says_so] : std::vector<std::pair<std::string, std::string>>{
             {"", "its host is empty"},
             {" \n", "its host is blank"},
             {"-v", "its host is neither a host name nor an address: -v"},
             {long_text, "its host has 10240 bytes, more than the 253 that are possible"}}) {
        to.address = host;
        EXPECT_EQ(says(to), says_so);
    }
    to = good;
    to.user = long_text;
    EXPECT_EQ(says(to), "its user has 10240 bytes, more than the 16 that are possible");
    to.user = "a\nb";
    EXPECT_EQ(says(to), "its user holds a control character: a?b");
    to = good;
    to.password = secret("secret\nwords");
    EXPECT_EQ(says(to), "its password holds a control character");
    EXPECT_EQ(this->bench->calls(), before);
    EXPECT_TRUE(this->bench->is_machine_on());
}

TYPED_TEST(board_contract, names_are_resolved) {
    this->bench->run([&]() -> awaitable<void> {
        auto& board = this->bench->board();
        const auto own = co_await board.resolve("localhost", 20s);
        EXPECT_TRUE(own && !own->empty());
        if (own) {
            EXPECT_TRUE(own->front() == "127.0.0.1" || own->front() == "::1") << own->front();
            EXPECT_EQ(std::ranges::count(*own, own->front()), 1);
        }
        for (const std::string& address : {"127.0.0.1", "::1"}) {
            const auto same = co_await board.resolve(address, 20s);
            EXPECT_TRUE(same && same->size() == 1 && same->front() == address);
        }
        const auto nobody = co_await board.resolve("nobody.invalid", 20s);
        EXPECT_TRUE(!nobody && nobody.error().code() == errc::not_found);
        const auto wrong = co_await board.resolve("two words", 20s);
        EXPECT_TRUE(!wrong && wrong.error().code() == errc::invalid);
    });
}

template <class Bench>
class strange_board_contract : public board_contract<Bench> {};
using strange_benches = testing::Types<scripted_board, simulated_board>;
TYPED_TEST_SUITE(strange_board_contract, strange_benches);

TYPED_TEST(strange_board_contract, who_may_not_be_administrator_is_an_operator) {
    this->bench->be({.only_operators = true});
    const auto off = this->ask(board_command::off);
    ASSERT_TRUE(off);
    EXPECT_EQ(off->status, 0) << off->errors;
    EXPECT_TRUE(off->as_operator);
    EXPECT_FALSE(this->bench->is_machine_on());
    EXPECT_EQ(this->bench->calls(),
              "-I lanplus -H 192.0.2.3 -U admin -E -C 3 chassis power off\n"
              "-I lanplus -H 192.0.2.3 -U admin -E -C 3 -L OPERATOR chassis power off\n");
    auto to = this->bench->access();
    to.as_operator = true;
    EXPECT_EQ(this->power_in(this->ask(to, board_command::status)), board_power::off);
    EXPECT_EQ(std::ranges::count(this->bench->calls(), '\n'), 3);
}

TYPED_TEST(strange_board_contract, one_that_refuses_says_so) {
    this->bench->be({.refuses_off = true});
    const auto off = this->ask(board_command::off);
    ASSERT_TRUE(off);
    EXPECT_EQ(off->status, 1);
    EXPECT_FALSE(off->as_operator);
    EXPECT_NE(off->errors.find("Command not supported in present state"), std::string::npos);
    EXPECT_TRUE(this->bench->is_machine_on());
}

// Of a program alone, which may print what it likes.
class flooding_board_contract : public board_contract<scripted_board> {};

TEST_F(flooding_board_contract, what_is_cut_does_not_say_that_it_is_off) {
    bench->be({.is_flooding = true});
    ASSERT_TRUE(ask(board_command::off));
    const auto heard = ask(board_command::status);
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->status, 0);
    EXPECT_EQ(power_in(heard), board_power::unknown) << heard->output.substr(0, 80);
    EXPECT_TRUE(heard->output.starts_with("more than 4096 bytes: Chassis Power is off")) << heard->output.substr(0, 80);
}

}  // namespace
}  // namespace pvc::contract
