// The local sinks of the log: config.md 5.6.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class logging_test : public node_test {
protected:
    logging_test() { sim::initialise(ensemble, 10); }

    static logger& log_of(sim_node& node) { return node.daemon().context().log; }
    static std::size_t lines_in(const std::string& text) {
        return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }
};

TEST_F(logging_test, prompts_dates_and_colours) {
    struct expectation {
        log_level level;
        std::string prompt;
        std::string colour;
        std::string journal;
    };
    const wall_time when(1'700'000'000s + 123'456us);
    for (const auto& [level, prompt, colour, journal] :
         std::vector<expectation>{{log_level::ok, "ok: ", "\033[92m", "<6>"},
                                  {log_level::error, "failed: ", "\033[91m", "<3>"},
                                  {log_level::warning, "warning: ", "\033[93m", "<4>"},
                                  {log_level::info, "info: ", "\033[94m", "<6>"},
                                  {log_level::state, "system: ", "\033[96m", "<5>"},
                                  {log_level::tick, "tick: ", "\033[95m", "<6>"},
                                  {log_level::debug, "debug: ", "\033[97m", "<7>"}}) {
        const log_record record{level, when, "hv2", "one\ntwo"};
        const std::string date = core::date_text(when);
        EXPECT_EQ(core::format_record(record, {}), prompt + "hv2 - one\n" + prompt + "hv2 - two");
        EXPECT_EQ(core::format_record(record, {.dates = true}),
                  prompt + date + "hv2 - one\n" + prompt + date + "hv2 - two");
        EXPECT_EQ(core::format_record({level, when, "", "x"}, {.colours = true}), colour + ">>> \033[0mx");
        EXPECT_EQ(core::format_record({level, when, "", "x"}, {.journal = true}), journal + prompt + "x");
        EXPECT_EQ(core::format_shipped({level, when, "", "x"}, {}, 10), date + prompt + "x");
        EXPECT_EQ(core::format_shipped({level, when, "", "x"}, {.dates = true}, 10), prompt + date + "x");
        EXPECT_EQ(core::format_shipped({level, when, "", "x"}, {}, 11), date + "pvcnoded:   " + prompt + "x");
    }
    const std::string date = core::date_text(when);
    ASSERT_EQ(date.size(), std::string("YYYY/MM/DD HH:MM:SS.ffffff ").size());
    EXPECT_EQ(date.substr(19), ".123456 ");
    EXPECT_EQ(date.substr(0, 5), "2023/");
}

TEST_F(logging_test, each_sink_has_its_own_form) {
    auto& hv1 = add_running({.log_dates = true, .journal = true});
    auto& hv2 = add_running({.name = "hv2", .stdout_logging = false, .log_colours = true});
    loop.run_for(1s);
    log_of(hv1).warning(message::start_degraded, "marker", "subject");
    log_of(hv2).warning(message::start_degraded, "marker", "subject");
    loop.run_for(1s);
    EXPECT_NE(hv1.log().find("<4>warning: 20"), std::string::npos);
    EXPECT_NE(hv1.log().find(" subject - marker [start-degraded]\n"), std::string::npos);
    EXPECT_NE(hv1.log_file->text().find("\nwarning: 20"), std::string::npos);
    EXPECT_EQ(hv1.log_file->text().find("<4>"), std::string::npos);
    EXPECT_TRUE(hv2.log().empty());
    EXPECT_NE(hv2.log_file->text().find("\033[93m>>> \033[0msubject - marker [start-degraded]\n"), std::string::npos);
    EXPECT_TRUE(hv1.standard_error->text().empty());
}

TEST_F(logging_test, debug_lines_only_with_debug) {
    auto& hv1 = add_running();
    auto& hv2 = add_running({.name = "hv2", .debug = true});
    loop.run_for(6s);
    EXPECT_FALSE(hv1.logged("debug: "));
    EXPECT_TRUE(hv2.logged("debug: phase S6"));
}

TEST_F(logging_test, without_any_sink_errors_and_warnings_go_to_standard_error) {
    auto& hv1 = add_running({.file_logging = false, .stdout_logging = false});
    log_of(hv1).warning(message::start_degraded, "a warning");
    log_of(hv1).error(message::start_degraded, "an error");
    log_of(hv1).info("an info");
    loop.run_for(6s);
    EXPECT_TRUE(hv1.log().empty());
    EXPECT_TRUE(hv1.log_file->text().empty());
    EXPECT_EQ(hv1.standard_error->text(), "warning: a warning [start-degraded]\nfailed: an error [start-degraded]\n");
}

TEST_F(logging_test, a_sink_that_fails_loses_lines_by_count_and_nobody_else_notices) {
    auto& hv1 = add_running();
    loop.run_for(1s);
    const auto from = loop.clock().now();
    hv1.log_file->fails = failure(errc::io, "/var/log/pvc/pvc.log", "No space left on device");
    for (int i = 0; i < 1000; ++i) {
        log_of(hv1).info("line " + std::to_string(i));
        loop.run_for(20ms);
    }
    hv1.log_file->fails.reset();
    loop.run_for(3s);
    log_of(hv1).info("the last one");
    loop.run_for(2s);
    EXPECT_EQ(hv1.times_logged("info: line "), 1000U);
    const std::string file = hv1.log_file->text();
    // Written lines and counted ones are all that were logged.
    std::size_t counted = 0;
    std::size_t notes = 0;
    for (auto at = file.find("log lines were lost"); at != std::string::npos;
         at = file.find("log lines were lost", at + 1)) {
        const auto number = file.rfind("warning: ", at) + 9;
        counted += std::stoul(file.substr(number, at - number));
        ++notes;
    }
    EXPECT_NE(file.find("log lines were lost: "), std::string::npos);
    EXPECT_NE(file.find("No space left on device"), std::string::npos);
    EXPECT_EQ(counted + lines_in(file) - notes, lines_in(hv1.log()));
    EXPECT_LE(beat_gaps("hv1", from).front(), 5.1);
}

TEST_F(logging_test, a_sink_that_hangs_is_bounded_and_the_others_and_the_heartbeat_go_on) {
    auto& hv1 = add_running({.stdout_logging = false});
    loop.run_for(1s);
    const auto from = loop.clock().now();
    log_of(hv1).info("before");
    hv1.pool.next_hangs();
    loop.run_for(1s);
    for (int i = 0; i < 30'000; ++i) {
        log_of(hv1).info("line " + std::to_string(i));
    }
    loop.run_for(60s);
    EXPECT_EQ(hv1.log_file->text().find("line 0"), std::string::npos);
    EXPECT_LE(beat_gaps("hv1", from).front(), 5.1);
    hv1.pool.release();
    loop.run_for(2s);
    log_of(hv1).info("after");
    loop.run_for(2s);
    const std::string file = hv1.log_file->text();
    EXPECT_NE(file.find("line 0\n"), std::string::npos);
    EXPECT_EQ(file.find("line 29999"), std::string::npos);
    EXPECT_NE(file.find("log lines were lost"), std::string::npos);
    EXPECT_LE(lines_in(file), 10'100U);
    EXPECT_NE(file.find("info: after\n"), std::string::npos);
}

TEST_F(logging_test, a_hanging_sink_does_not_hold_up_the_stop) {
    auto& hv1 = add_running();
    loop.run_for(1s);
    log_of(hv1).info("x");
    hv1.pool.next_hangs();
    hv1.pool.next_hangs();
    loop.run_for(1s);
    const auto from = loop.clock().now();
    hv1.stop();
    EXPECT_LE(loop.clock().now() - from, 4s);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(state_of(hv1), "stop");
}

}  // namespace
}  // namespace pvc::node
