// Console log and VNC (vm-domains.md B.8, D87 to D97).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

class domain_console : public effects_test {
protected:
    static constexpr const char* file = "/var/log/libvirt/web.log";
    void running_guest(const std::string& text = {}) {
        define("start", "hv1");
        machine().put_running(u1, "web", text.empty() ? xml(u1) : text);
        add_host();
        if (!first_.empty()) {
            hv1().consoles.append(file, first_);
        }
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
        pass(2s);
        mark();
    }
    [[nodiscard]] std::string shown() const { return value(key("/consolelog")); }
    [[nodiscard]] std::size_t publications() const { return values_written(key("/consolelog")).size(); }
    sim::sim_console_files& files() { return hv1().consoles; }
    static std::string lines(int from, int to) {
        std::string text;
        for (int i = from; i <= to; ++i) {
            text += "line " + std::to_string(i) + "\n";
        }
        return text;
    }
    std::string first_;
};

TEST_F(domain_console, D87_the_last_thousand_lines) {
    first_ = lines(1, 1200);
    running_guest();
    EXPECT_EQ(shown(), lines(201, 1200));
    EXPECT_EQ(publications(), 2U);  // the client's "" and this one
}

// 3 MB/s of output: every server keeps every publication in its log.
TEST_F(domain_console, a_guest_that_writes_without_end_is_published_slowly) {
    running_guest();
    const std::string much = lines(1, 1000) + std::string(200'000, 'x') + "\n";
    const auto from = loop.clock().now();
    for (int i = 0; i < 600; ++i) {
        files().append(file, much + std::to_string(i) + "\n");
        pass(100ms);
    }
    std::size_t bytes = 0;
    for (const auto& one : values_written(key("/consolelog"))) {
        bytes += one.size();
    }
    const double seconds = std::chrono::duration<double>(loop.clock().now() - from).count();
    EXPECT_LE(static_cast<double>(bytes), 100'000.0 * seconds);
    EXPECT_GE(publications(), 5U);
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
}

TEST_F(domain_console, D88_few_publications) {
    running_guest();
    const auto before = publications();
    files().append(file, "one\n");
    pass(10ms);
    files().append(file, "two\n");
    pass(10ms);
    files().append(file, "three\n");
    pass(980ms);
    EXPECT_EQ(shown(), "one\ntwo\nthree\n");
    EXPECT_LE(publications() - before, 2U);
    // However fast it writes: at most one each 0.5 s, each change within 1 s.
    const auto from = publications();
    for (int i = 0; i < 1000; ++i) {
        files().append(file, std::to_string(i) + "\n");
        pass(10ms);
    }
    EXPECT_LE(publications() - from, 21U);
    EXPECT_GE(publications() - from, 19U);
    pass(1s);
    EXPECT_TRUE(shown().ends_with("\n999\n"));
}

TEST_F(domain_console, D89_bytes_that_are_no_text) {
    running_guest();
    files().append(file, "\xff\xfe\x41\x0a");
    pass(1s);
    EXPECT_EQ(shown(),
              "\xef\xbf\xbd\xef\xbf\xbd"
              "A\n");
    EXPECT_EQ(files().content(file), "\xff\xfe\x41\x0a");
}

TEST_F(domain_console, D90_rotated) {
    first_ = "old\n";
    running_guest();
    files().replace(file, "new\n");
    pass(1s);
    EXPECT_EQ(shown(), "new\n");
    files().append(file, "more\n");
    pass(1s);
    EXPECT_EQ(shown(), "new\nmore\n");
}

TEST_F(domain_console, D91_truncated) {
    first_ = "old\nolder\n";
    running_guest();
    files().truncate(file);
    files().append(file, "x\n");
    pass(1s);
    EXPECT_EQ(shown(), "x\n");
}

TEST_F(domain_console, D91_removed_and_made_again) {
    first_ = "old\n";
    running_guest();
    files().remove(file);
    pass(1s);
    EXPECT_EQ(shown(), "");
    files().append(file, "again\n");
    pass(1s);
    EXPECT_EQ(shown(), "again\n");
}

TEST_F(domain_console, D92_as_much_as_fits) {
    running_guest();
    const auto sessions = ensemble.sessions();
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += fmt::format("{:04} ", i) + std::string(4090, 'x') + "\n";
    }
    files().append(file, text);
    pass(2s);
    EXPECT_LE(shown().size(), 512U * 1024);
    EXPECT_GT(shown().size(), 508U * 1024);
    EXPECT_TRUE(text.ends_with(shown()));
    EXPECT_EQ(shown().size() % 4096, 0U);
    EXPECT_EQ(ensemble.sessions(), sessions);
    EXPECT_FALSE(hv1().logged("suspended"));
}

// Almost nothing but carriage returns: the line in whose middle the reading begins is not shown.
TEST_F(domain_console, D92_lines_that_shrink) {
    running_guest();
    std::string text;
    for (int i = 0; i < 900; ++i) {
        text += fmt::format("{:04} ", i);
        for (int j = 0; j < 500; ++j) {
            text += "\r\n";
        }
    }
    files().append(file, text);
    pass(2s);
    EXPECT_TRUE(shown().size() <= 1000 + 2 * 5) << shown().size();
    EXPECT_EQ(std::ranges::count(shown(), '\n'), 1000);
}

TEST_F(domain_console, D93_an_unfinished_line) {
    running_guest();
    files().append(file, "welcome\r\nlogin: ");
    pass(1s);
    EXPECT_EQ(shown(), "welcome\nlogin: ");
}

TEST_F(domain_console, D94_nothing_but_its_time_changes) {
    first_ = "same\n";
    running_guest();
    const auto before = publications();
    for (int i = 0; i < 5; ++i) {
        files().touch(file);
        pass(1s);
    }
    EXPECT_EQ(publications(), before);
    // A daemon that finds what it would write does not write it.
    hv1().stop();
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    pass(5s);
    EXPECT_EQ(publications(), before);
}

TEST_F(domain_console, D95_the_last_words) {
    running_guest();
    on_call = [&](const std::string& call) {
        if (call == "destroy U1") {
            files().append(file, "last words\n");
        }
    };
    set("stop");
    pass(1500ms);
    files().append(file, "very last\n");
    pass(100ms);
    pass(3s);
    EXPECT_EQ(shown(), "last words\nvery last\n");
    const auto published = times(key("/consolelog"));
    const auto cleared = times(key("/vnc"));
    EXPECT_LT(published.back(), cleared.back());
    files().append(file, "unheard\n");
    pass(3s);
    EXPECT_EQ(shown(), "last words\nvery last\n");
    EXPECT_EQ(files().followers(file), 0U);
}

// It was moved away, which this node has not heard of yet.
TEST_F(domain_console, what_the_new_owner_wrote_stays) {
    running_guest();
    files().append(file, "ours\n");
    pass(2s);
    ASSERT_EQ(shown(), "ours\n");
    hv1().connector.link().watch_delay = 3s;
    ensemble.put({{key("/state"), "start"}, {key("/node"), "hv2"}, {key("/consolelog"), "theirs\n"}});
    files().append(file, "too late\n");
    pass(2s);
    EXPECT_EQ(shown(), "theirs\n");
    pass(10s);
    EXPECT_EQ(shown(), "theirs\n");
}

// A state that changed without the machine leaving costs one more attempt.
TEST_F(domain_console, a_state_written_anew_delays_nothing) {
    running_guest();
    hv1().connector.link().watch_delay = 300ms;
    ensemble.put(key("/state"), "start");
    files().append(file, "ours\n");
    pass(1s);
    EXPECT_EQ(shown(), "ours\n");
}

TEST_F(domain_console, the_daemon_ends) {
    running_guest();
    files().append(file, "one\n");
    pass(20ms);
    files().append(file, "two\n");
    hv1().stop();
    EXPECT_EQ(shown(), "one\ntwo\n");
}

TEST_F(domain_console, no_lines_wanted) {
    define_running();
    add_host().settings.console_log_lines = 0;
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    files().append(file, "x\n");
    pass(5s);
    EXPECT_EQ(publications(), 1U);
}

TEST_F(domain_console, a_file_that_cannot_be_read) {
    running_guest();
    files().fails = failure(errc::io, file, "Input/output error");
    files().append(file, "x\n");
    pass(30s);
    EXPECT_EQ(hv1().times_logged("console log"), 1U);
    EXPECT_EQ(shown(), "");
    files().fails.reset();
    files().append(file, "y\n");
    pass(1s);
    EXPECT_EQ(shown(), "x\ny\n");
}

TEST_F(domain_console, the_disk_hangs) {
    running_guest();
    files().hangs = true;
    files().append(file, "x\n");
    pass(1s);
    const auto from = loop.clock().now();
    set("stop");
    pass(20s);
    expect_off("stop");
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
    set("start");
    pass(3s);
    expect_running();
}

TEST_F(domain_console, a_name_that_is_no_file_name) {
    define("start", "hv1", "", {{"", "../../etc/passwd"}});
    machine().put_running(u1, "web", xml(u1));
    settled_host();
    EXPECT_EQ(files().reads(), 0U);
    expect_running();
}

TEST_F(domain_console, D96_an_address_that_clients_cannot_read) {
    std::string text = xml(u1);
    text.replace(text.find("127.0.0.1"), 9, "::1");
    running_guest(text);
    EXPECT_EQ(value(key("/vnc")), "");
    EXPECT_EQ(hv1().times_logged("VNC address"), 1U);
}

TEST_F(domain_console, D96_created_with_such_an_address) {
    std::string text = xml(u1);
    text.replace(text.find("127.0.0.1"), 9, "::1");
    define("stop", "hv1", "", {{"/xml", text}});
    settled_host();
    set("start");
    pass(10s);
    EXPECT_EQ(effects(), (texts{"rd = U1", "create U1"}));
    EXPECT_EQ(hv1().times_logged("VNC address"), 1U);
}

TEST_F(domain_console, D97_no_graphics) {
    std::string text = xml(u1);
    const auto from = text.find("<graphics");
    text.erase(from, text.find("/>", from) + 2 - from);
    running_guest(text);
    EXPECT_EQ(value(key("/vnc")), "");
    EXPECT_EQ(effects(), texts{});
    EXPECT_EQ(hv1().times_logged("VNC address"), 0U);
}

TEST_F(domain_console, vnc_is_written_although_libvirt_was_slow_at_first) {
    guest().fail_next("live_xml", refusal(hypervisor::call_error::timed_out, "slow"), 2);
    running_guest();
    pass(10s);
    EXPECT_EQ(value(key("/vnc")), "127.0.0.1:5900");
}

TEST_F(domain_console, D100_other_keys) {
    running_guest();
    pass(10s);
    mark();
    for (const char* suffix : {"/node_autostart", "/xml", "/tags", "/profile", "/node_limit", "/migration_method"}) {
        ensemble.put(key(suffix), "other");
        pass(6s);
    }
    ensemble.put(key("/tags/red/type"), "user");
    pass(20s);
    EXPECT_EQ(effects(), texts{});
    EXPECT_TRUE(calls().empty());
}

}  // namespace
}  // namespace pvc::node
