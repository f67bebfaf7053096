// Metrics as text, and the pages of a simulated daemon, at any moment of its life.
#include "pvcnoded/control/metrics.hpp"

#include "unit/domains/domain_fixture.hpp"

#include <boost/json/parse.hpp>

#include <set>

namespace pvc::node {
namespace {

namespace json = boost::json;
using control::metrics_text;

TEST(metrics_text_form, help_and_type_once_and_names_in_order) {
    metrics_text sheet;
    sheet.gauge("b_seconds", "Last.", 1.5);
    sheet.counter("a_total", "First.", std::uint64_t{3}, {{"kind", "x"}});
    sheet.gauge("c", "Between two samples of another.", 0);
    sheet.counter("a_total", "First.", std::uint64_t{12'345'678'901}, {{"kind", "y"}});
    EXPECT_EQ(sheet.text(),
              "# HELP pvcnoded_a_total First.\n# TYPE pvcnoded_a_total counter\n"
              "pvcnoded_a_total{kind=\"x\"} 3\npvcnoded_a_total{kind=\"y\"} 12345678901\n"
              "# HELP pvcnoded_b_seconds Last.\n# TYPE pvcnoded_b_seconds gauge\npvcnoded_b_seconds 1.5\n"
              "# HELP pvcnoded_c Between two samples of another.\n# TYPE pvcnoded_c gauge\npvcnoded_c 0\n");
    EXPECT_EQ(sheet.refused(), 0U);
}

TEST(metrics_text_form, any_text_can_be_a_label_or_a_help) {
    metrics_text sheet;
    sheet.gauge("a", "a\\b\n\"c\"", 1, {{"x", "a\\b\n\"c\""}, {"y", "}{,="}});
    EXPECT_EQ(sheet.text(),
              "# HELP pvcnoded_a a\\\\b\\n\"c\"\n# TYPE pvcnoded_a gauge\n"
              "pvcnoded_a{x=\"a\\\\b\\n\\\"c\\\"\",y=\"}{,=\"} 1\n");
}

TEST(metrics_text_form, what_does_not_fit_is_left_out_and_counted) {
    metrics_text sheet;
    sheet.gauge("a", "A.", 1);
    sheet.gauge("a", "A.", 2);                                        // twice
    sheet.gauge("a", "Other.", 1, {{"x", "y"}});                      // another help
    sheet.counter("a", "A.", 1.0, {{"x", "y"}});                      // another kind
    sheet.times("a", "A.", histogram());                              // likewise
    sheet.gauge("B", "B.", 1);                                        // no name
    sheet.gauge("", "B.", 1);                                         // none at all
    sheet.gauge("1b", "B.", 1);                                       // likewise
    sheet.gauge("b", "B.", 1, {{"x y", ""}});                         // no name of a label
    sheet.gauge("b", "B.", std::numeric_limits<double>::infinity());  // no number
    EXPECT_EQ(sheet.text(), "# HELP pvcnoded_a A.\n# TYPE pvcnoded_a gauge\npvcnoded_a 1\n");
    EXPECT_EQ(sheet.refused(), 9U);
}

TEST(metrics_text_form, a_histogram_is_cumulative_and_given_once) {
    metrics_text sheet;
    histogram times;
    times.add(2ms);
    times.add(20s);
    sheet.times("t_seconds", "T.", times);
    sheet.times("t_seconds", "T.", times);
    const std::string text = sheet.text();
    EXPECT_NE(text.find("# TYPE pvcnoded_t_seconds histogram\npvcnoded_t_seconds_bucket{le=\"0.0005\"} 0\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("_bucket{le=\"0.0025\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("_bucket{le=\"10\"} 1\npvcnoded_t_seconds_bucket{le=\"+Inf\"} 2\n"
                        "pvcnoded_t_seconds_sum 20.002\npvcnoded_t_seconds_count 2\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(sheet.refused(), 1U);
}

TEST(metrics_text_form, more_than_a_page_holds) {
    metrics_text sheet;
    for (std::size_t i = 0; i < metrics_text::samples_max + 5; ++i) {
        sheet.gauge("many", "Many.", 1, {{"which", std::to_string(i)}});
    }
    sheet.times("t_seconds", "T.", histogram());
    EXPECT_EQ(sheet.refused(), 6U);
}

class metrics_pages : public domain_test {
protected:
    static control::http_answer ask(sim_node& node, std::string_view path) {
        return control::web_pages(node.daemon(), {}).at(path);
    }
    // The value of a sample, as it stands there; "none".
    static std::string value(const std::string& page, const std::string& sample) {
        const std::string begin = "\npvcnoded_" + sample + " ";
        const auto at = page.find(begin);
        return at == std::string::npos ? "none"
                                       : page.substr(at + begin.size(), page.find('\n', at + 1) - at - begin.size());
    }
    static double number(const std::string& page, const std::string& sample) { return std::stod(value(page, sample)); }
};

TEST_F(metrics_pages, of_a_node_that_runs) {
    sim_node& hv1 = add_running_host();
    define_running();
    pass(12s);
    EXPECT_EQ(ask(hv1, "/healthz").status, 200);
    EXPECT_EQ(ask(hv1, "/healthz").body, "ok\n");
    const auto page = ask(hv1, "/metrics");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_EQ(value(page.body, "running"), "1");
    EXPECT_EQ(value(page.body, "healthy"), "1");
    EXPECT_EQ(value(page.body, "startup_phase"), "13");
    EXPECT_EQ(value(page.body, "heartbeat_interval_seconds"), "5");
    EXPECT_LT(number(page.body, "heartbeat_age_seconds"), 5.5);
    EXPECT_GE(number(page.body, "heartbeats_total"), 3);
    EXPECT_EQ(value(page.body, "heartbeats_missed_total"), "0");
    EXPECT_GT(number(page.body, "heartbeat_lateness_seconds_count"), 2);
    EXPECT_GT(number(page.body, "zookeeper_request_seconds_count"), 20);
    EXPECT_EQ(value(page.body, "zookeeper_requests_unanswered_total"), "0");
    EXPECT_EQ(value(page.body, "zookeeper_connected"), "1");
    EXPECT_EQ(value(page.body, "zookeeper_outage_seconds"), "0");
    EXPECT_EQ(value(page.body, "zookeeper_sessions_total"), "1");
    EXPECT_EQ(value(page.body, "machines{state=\"start\"}"), "1");
    EXPECT_EQ(value(page.body, "machines{state=\"stop\"}"), "0");
    EXPECT_EQ(value(page.body, "guests"), "1");
    EXPECT_EQ(value(page.body, "libvirt_known"), "1");
    EXPECT_EQ(value(page.body, "migrations_total{outcome=\"moved\"}"), "0");
    EXPECT_GE(number(page.body, "machine_operations_begun_total"), 1);
    EXPECT_GT(number(page.body, "tasks"), 10);
    EXPECT_EQ(value(page.body, "log_lines_lost_total"), "0");
    EXPECT_EQ(value(page.body, "samples_refused"), "0");
    // No page names a machine.
    EXPECT_EQ(page.body.find("web"), std::string::npos);
    EXPECT_EQ(page.body.find(to_text(u1)), std::string::npos);
}

// Live to another node and back, and once where nobody takes it.
TEST_F(metrics_pages, migrations_by_outcome) {
    sim_node& hv1 = add_running_host("hv1");
    sim_node& hv2 = add_running_host("hv2");
    define_running();
    pass(6s);
    place("migrate", "hv2", "hv1");
    pass(60s);
    EXPECT_EQ(value(ask(hv1, "/metrics").body, "migrations_total{outcome=\"moved\"}"), "1");
    EXPECT_EQ(value(ask(hv1, "/metrics").body, "machines{state=\"start\"}"), "0");
    EXPECT_EQ(value(ask(hv2, "/metrics").body, "migrations_total{outcome=\"moved\"}"), "0");
    EXPECT_EQ(value(ask(hv2, "/metrics").body, "machines_received_total"), "1");
    EXPECT_EQ(value(ask(hv2, "/metrics").body, "machines{state=\"start\"}"), "1");
    place("migrate", "nobody", "hv2");
    pass(120s);
    EXPECT_EQ(value(ask(hv2, "/metrics").body, "migrations_total{outcome=\"stayed\"}"), "1");
    EXPECT_EQ(value(ask(hv2, "/metrics").body, "machines{state=\"start\"}"), "1");
}

// As another attempt to start does: the subjects are made anew, and what they count goes on.
TEST_F(metrics_pages, counters_go_on_over_attempts) {
    std::function<core::subjects()> make_again;
    sim_node& hv1 = add_host("hv1");
    hv1.plug_in = [&](assembly& all) {
        all.make = [&, make = all.make](core::node_context& context) {
            make_again = [&, make] { return make(context); };
            return make(context);
        };
    };
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    define_running();
    pass(12s);
    const double before = number(ask(hv1, "/metrics").body, "machine_operations_begun_total");
    EXPECT_GE(before, 1);
    hv1.stop();
    EXPECT_EQ(value(ask(hv1, "/metrics").body, "machine_operations_begun_total"), "none");
    const core::subjects again = make_again();
    metrics_text sheet;
    for (const auto* one : core::all_that_are<core::metrics_source>(again)) {
        one->put_metrics(sheet);
    }
    EXPECT_GE(number("\n" + sheet.text(), "machine_operations_begun_total"), before);
}

TEST_F(metrics_pages, while_zookeeper_is_away) {
    sim_node& hv1 = add_running_host();
    pass(6s);
    ensemble.freeze();
    pass(30s);
    const auto page = ask(hv1, "/metrics").body;
    EXPECT_EQ(value(page, "zookeeper_connected"), "0");
    EXPECT_GT(number(page, "zookeeper_outage_seconds"), 10);
    EXPECT_GT(number(page, "heartbeat_age_seconds"), 25);
    EXPECT_GE(number(page, "heartbeats_missed_total"), 2);  // none while a session is being built
    EXPECT_GE(number(page, "zookeeper_requests_unanswered_total"), 1);
    EXPECT_GE(number(page, "zookeeper_sessions_lost_total"), 1);
    EXPECT_EQ(value(page, "healthy"), "0");
    const auto health = ask(hv1, "/healthz");
    EXPECT_EQ(health.status, 503);
    EXPECT_TRUE(health.body.starts_with("the last acknowledged heartbeat is ")) << health.body;
    ensemble.thaw();
    pass(30s);
    EXPECT_EQ(ask(hv1, "/healthz").status, 200);
    EXPECT_EQ(value(ask(hv1, "/metrics").body, "zookeeper_connected"), "1");
}

TEST_F(metrics_pages, report) {
    sim_node& hv1 = add_running_host();
    pass(6s);
    const auto said = ask(hv1, "/v1/report");
    EXPECT_EQ(said.status, 200);
    EXPECT_EQ(said.type, "application/json");
    const auto report = json::parse(said.body).as_object();
    EXPECT_EQ(report.at("collector"), "pvcnoded");
    EXPECT_EQ(report.at("version"), "pvcnoded 0, build simulated");
    EXPECT_EQ(report.at("node"), "hv1");
    EXPECT_EQ(report.at("time_ns").as_int64(), hv1.daemon().context().clock().wall_now().time_since_epoch().count());
    EXPECT_EQ(report.at("status").at("code"), 0);
    EXPECT_EQ(report.at("status").at("message"), "ok");
    EXPECT_EQ(ask(hv1, "/").status, 404);
    EXPECT_EQ(ask(hv1, "/metrics/").status, 404);
}

TEST_F(metrics_pages, at_any_moment_from_start_to_stop) {
    define_running();
    sim_node& hv1 = add_host();
    hv1.start();
    std::set<std::string> said;
    std::set<std::string> refused;
    const auto ask_all = [&] {
        if (hv1.daemon().can_be_asked().value()) {
            const auto health = ask(hv1, "/healthz").body;
            said.insert(health.substr(0, health.find(':')));
            refused.insert(value(ask(hv1, "/metrics").body, "samples_refused"));
            ask(hv1, "/v1/report");
        }
    };
    loop.run_until([&] {
        ask_all();
        return hv1.is_ready();
    });
    pass(6s);
    ask_all();
    hv1.terminate();
    loop.run_until([&] {
        ask_all();
        return hv1.exit_status.has_value();
    });
    ask_all();
    EXPECT_EQ(said, (std::set<std::string>{"the daemon starts", "no heartbeat was acknowledged yet\n", "ok\n",
                                           "the daemon stops\n"}));
    EXPECT_EQ(refused, std::set<std::string>{"0"});
    EXPECT_EQ(hv1.exit_status, 0);
}

// A subject that is added later shows without a change of what answers.
class measured_weather final : public core::subject, public core::metrics_source {
public:
    [[nodiscard]] std::string_view name() const override { return "weather"; }
    void put_metrics(core::metrics_sheet& sheet) const override {
        sheet.counter("rain_seconds_total", "How long it rained.", 90.5);
    }
};

TEST_F(metrics_pages, a_subject_that_is_added_is_measured) {
    sim_node& hv1 = add_host();
    hv1.plug_in = [](assembly& all) {
        all.make = [before = std::move(all.make)](core::node_context& context) {
            auto made = before(context);
            made.push_back(std::make_unique<measured_weather>());
            return made;
        };
    };
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(value(ask(hv1, "/metrics").body, "rain_seconds_total"), "90.5");
}

}  // namespace
}  // namespace pvc::node
