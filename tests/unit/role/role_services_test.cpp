// The API service and the database's leader on a whole daemon that has the networking function: node-lifecycle.md 7.3
// (B, G), 7.5, AC71, AC73, AC84, AC136; README ruling 32; networking.md 6 (case 82).
#include "pvcnoded/role/role_services.hpp"
#include "pvcnoded/role/primary_role.hpp"
#include "unit/role/role_fixture.hpp"

#include <algorithm>

namespace pvc::node {
namespace {

using namespace std::chrono_literals;

constexpr const char* api = "pvcapid.service";

sim::sim_program same_leader() {
    return {.how = async::exited{1}, .error_output = "Error: Switchover target and source are the same.\n"};
}
sim::sim_program refusal() {
    return {.output = "Switchover failed, details: 412, no good candidates\n"};
}

// A part after it in each phase: when the last phase of an undo came to it.
class witness final : public core::subject, public core::role_part {
public:
    witness(core::node_context& node, std::optional<time_point>& undone) : node_(node), undone_(undone) {}
    [[nodiscard]] std::string_view name() const override { return "witness"; }
    async::awaitable<void> take_up(policy::role_phase /*which*/, core::session& /*s*/) override { co_return; }
    async::awaitable<void> give_up(policy::role_phase which, core::session* /*s*/) override {
        if (which == policy::role_phase::a) {
            undone_ = node_.clock().now();
        }
        co_return;
    }

private:
    core::node_context& node_;
    std::optional<time_point>& undone_;
};

class role_services_test : public role_fixture {
protected:
    // hv1 is secondary, hv2 is named; the daemon is what the assembly makes of a configuration with networking.
    sim_node& stage_with_services(bool has_api = true, bool has_networking = true) {
        put_peer("hv2", "coordinator", "run", "secondary");
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv2");
        sim::node_settings settings;
        settings.api = has_api;
        settings.networking = has_networking;
        sim_node& hv1 = add(std::move(settings));
        hv1.plug_in = [this](assembly& all) {
            all.make = [this, before = std::move(all.make)](core::node_context& node) {
                auto made = before(node);
                const auto found = std::ranges::find(made, "role services", &core::subject::name);
                services = found == made.end() ? nullptr : dynamic_cast<role::role_services*>(found->get());
                made.pop_back();
                made.push_back(std::make_unique<witness>(node, undone));
                made.push_back(std::make_unique<role::primary_role>(node, core::all_that_are<core::role_part>(made)));
                return made;
            };
        };
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        ensemble.clear_trace();
        hv1.programs.add({"patronictl"}, same_leader());
        return hv1;
    }
    // The same, and it has the role.
    sim_node& primary_with_services() {
        sim_node& hv1 = stage_with_services();
        take_role(hv1);
        return hv1;
    }
    void take_role(sim_node& hv1) {
        ensemble.put("/nodes/hv2/routerstate", "secondary");
        ensemble.put(primary_key, "hv1");
        seconds_until([&] { return role_of(hv1) == "primary"; });
    }
    // hv2 takes it, or the rules would give it to somebody else after a while.
    void lose_role(sim_node& hv1) {
        ensemble.put(primary_key, "hv2");
        seconds_until([&] { return role_of(hv1) == "secondary"; });
        ensemble.put("/nodes/hv2/routerstate", "primary");
    }
    // When patronictl was started, in seconds after the first.
    static std::vector<double> runs(const sim_node& hv1) {
        std::vector<double> times;
        for (const auto& one : hv1.programs.calls()) {
            times.push_back(std::chrono::duration<double>(one.at - hv1.programs.calls().front().at).count());
        }
        return times;
    }

    role::role_services* services = nullptr;
    std::optional<time_point> undone;
};

TEST_F(role_services_test, ac71_the_primary_has_the_api_service_and_leads_the_database) {
    auto& hv1 = stage_with_services();
    EXPECT_FALSE(services->is_database_ours());
    take_role(hv1);
    EXPECT_TRUE(hv1.services.is_enabled(api));
    EXPECT_TRUE(hv1.services.is_up(api));
    EXPECT_EQ(hv1.programs.lines(),
              std::vector<std::string>{"patronictl -c /etc/patroni/config.yml switchover --candidate hv1 --force pvc"});
    const auto& limits = hv1.programs.calls().front().limits;
    EXPECT_EQ(limits.time + limits.grace, 10s);
    EXPECT_TRUE(services->is_database_ours());
    EXPECT_TRUE(hv1.logged("enabled pvcapid.service"));
    EXPECT_FALSE(hv1.logged("[role-"));
    // Both are so: nothing is asked again.
    beat(200s);
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
    EXPECT_EQ(hv1.services.times("enable", api).size(), 1U);
}

TEST_F(role_services_test, ac73_whoever_hands_over_disables_the_api_service) {
    auto& hv1 = primary_with_services();
    lose_role(hv1);
    beat(1s);
    EXPECT_FALSE(hv1.services.is_enabled(api));
    EXPECT_FALSE(hv1.services.is_up(api));
    EXPECT_FALSE(services->is_database_ours());
    EXPECT_TRUE(hv1.logged("disabled pvcapid.service"));
    beat(200s);
    EXPECT_EQ(hv1.services.times("disable", api).size(), 1U);
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
}

TEST_F(role_services_test, ruling_32_neither_waits_for_the_other) {
    auto& hv1 = stage_with_services();
    auto slow = same_leader();
    slow.takes = 8s;
    hv1.programs.add({"patronictl"}, slow);
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return hv1.services.is_up(api); });
    EXPECT_EQ(role_of(hv1), "takeover");
    EXPECT_EQ(hv1.programs.running(), 1U);
    EXPECT_FALSE(services->is_database_ours());
    seconds_until([&] { return role_of(hv1) == "primary"; });
    EXPECT_TRUE(services->is_database_ours());
}

TEST_F(role_services_test, ruling_32_a_systemctl_that_hangs_does_not_keep_patroni_waiting) {
    auto& hv1 = stage_with_services();
    hv1.services.set_answer_time(3600s);
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return services->is_database_ours(); });
    ASSERT_EQ(hv1.services.times("enable", api).size(), 1U);
    EXPECT_LT(hv1.programs.calls().front().at - hv1.services.times("enable", api).front(), 10ms);
    EXPECT_EQ(role_of(hv1), "takeover");
    EXPECT_LT(seconds_until([&] { return role_of(hv1) == "primary"; }), 5.1);
    EXPECT_TRUE(hv1.logged("cannot enable the API service"));
}

TEST_F(role_services_test, without_the_api_function_no_unit_is_touched) {
    auto& hv1 = stage_with_services(false);
    take_role(hv1);
    lose_role(hv1);
    beat(10s);
    EXPECT_EQ(hv1.services.times("enable", api).size() + hv1.services.times("disable", api).size(), 0U);
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
}

TEST_F(role_services_test, ruling_11_without_networking_nothing_of_this_runs) {
    auto& hv1 = stage_with_services(true, false);
    EXPECT_EQ(services, nullptr);
    take_role(hv1);
    lose_role(hv1);
    EXPECT_TRUE(hv1.programs.calls().empty());
    EXPECT_TRUE(hv1.services.times("enable", api).empty());
    EXPECT_TRUE(hv1.services.times("disable", api).empty());
}

// ---- Patroni
// ----------------------------------------------------------------------------------------------------------

TEST_F(role_services_test, ac84_after_five_failures_the_takeover_completes_without_the_database) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, refusal());
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return hv1.programs.calls().size() == 5; });
    beat(200ms);
    EXPECT_EQ(role_of(hv1), "primary");
    const auto times = runs(hv1);
    for (std::size_t number = 1; number < times.size(); ++number) {
        EXPECT_NEAR(times[number] - times[number - 1], 5, 0.01);
    }
    EXPECT_NEAR(times.back(), 20, 0.1);
    EXPECT_FALSE(services->is_database_ours());
    EXPECT_EQ(hv1.times_logged("[role-database]"), 1U);
    EXPECT_TRUE(
        hv1.logged("Patroni does not lead the database from this node: Switchover failed, details: 412, no "
                   "good candidates"));
}

TEST_F(role_services_test, case_82_the_database_is_had_later_without_another_takeover) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, refusal());
    take_role(hv1);
    ASSERT_EQ(hv1.programs.calls().size(), 5U);
    ensemble.clear_trace();
    beat(95s);
    EXPECT_EQ(hv1.programs.calls().size(), 8U);  // every 30 s
    EXPECT_EQ(hv1.times_logged("[role-database]"), 1U);
    hv1.programs.add({"patronictl"}, same_leader());
    beat(30s);
    EXPECT_TRUE(services->is_database_ours());
    EXPECT_TRUE(hv1.logged("Patroni leads the database from this node"));
    beat(100s);
    EXPECT_EQ(hv1.programs.calls().size(), 9U);
    EXPECT_TRUE(values_written("/nodes/hv1/routerstate").empty());
}

TEST_F(role_services_test, a_database_that_is_not_ours_is_left_alone_when_the_role_is_given_up) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, refusal());
    take_role(hv1);
    lose_role(hv1);
    const auto before = hv1.programs.calls().size();
    beat(200s);
    EXPECT_EQ(hv1.programs.calls().size(), before);
    // The next takeover has its own five tries, and its own word.
    take_role(hv1);
    EXPECT_EQ(hv1.programs.calls().size(), before + 5);
    EXPECT_EQ(hv1.times_logged("[role-database]"), 2U);
}

TEST_F(role_services_test, without_patronictl_one_try_and_one_warning) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, {.refused = failure(errc::not_found, "patronictl")});
    ensemble.put(primary_key, "hv1");
    beat(1500ms);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
    EXPECT_EQ(hv1.times_logged("[role-database]"), 1U);
    beat(100s);
    EXPECT_EQ(hv1.times_logged("[role-database]"), 1U);
    EXPECT_FALSE(services->is_database_ours());
}

struct odd_row {
    const char* what;
    sim::sim_program program;
    const char* reason;
};

TEST_F(role_services_test, whatever_patronictl_does_the_takeover_goes_on) {
    const odd_row rows[] = {
        {"hangs", {.takes = 1000s}, "it ended with timed out"},
        {"hangs and ignores SIGTERM", {.takes = 1000s, .ignores_term = true}, "it ended with timed out"},
        {"floods", {.output = std::string(200'000, 'x')}, "it printed more than can be judged"},
        {"dies", {.how = async::signalled{11}}, "it ended with signal 11"},
        {"says nothing", {.how = async::exited{2}}, "it ended with exit status 2"},
        {"no text", {.how = async::exited{1}, .error_output = "Error: \xc3\x28\xff\n"}, "Error: ?(?"},
        {"cannot be started", {.refused = failure(errc::io, "patronictl", "no memory")}, "no memory"},
    };
    auto& hv1 = stage_with_services();
    for (const auto& row : rows) {
        hv1.programs.add({"patronictl"}, row.program);
        ensemble.put("/nodes/hv2/routerstate", "secondary");  // nobody walks beside it
        const auto before = hv1.programs.calls().size();
        ensemble.put(primary_key, "hv1");
        const double took = seconds_until([&] { return role_of(hv1) == "primary"; });
        EXPECT_LE(took, 5 * 10 + 4 * 5 + 2) << row.what;
        EXPECT_EQ(hv1.programs.calls().size(), before + 5) << row.what;
        EXPECT_TRUE(hv1.logged(std::string("from this node: ") + row.reason) ||
                    hv1.logged(std::string(": ") + row.reason + ";"))
            << row.what << hv1.log();
        EXPECT_FALSE(services->is_database_ours()) << row.what;
        lose_role(hv1);
    }
    EXPECT_EQ(hv1.programs.running(), 0U);
}

TEST_F(role_services_test, c7_another_node_is_named_in_the_middle_of_a_try) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, {.takes = 9500ms});
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return hv1.programs.running() == 1; });
    beat(1s);
    lose_role(hv1);
    EXPECT_EQ(hv1.programs.running(), 0U);
    EXPECT_TRUE(hv1.programs.calls().back().cancelled);
    beat(100s);
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
    EXPECT_FALSE(services->is_database_ours());
    EXPECT_FALSE(hv1.services.is_enabled(api));
    EXPECT_FALSE(hv1.logged("[role-database]"));
}

TEST_F(role_services_test, c7_another_node_is_named_in_a_pause) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, refusal());
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return hv1.programs.calls().size() == 2; });
    beat(2s);
    lose_role(hv1);
    beat(100s);
    EXPECT_EQ(hv1.programs.calls().size(), 2U);
}

// The next primary asks Patroni for the same: a run that hangs is ended, and holds nothing up meanwhile.
TEST_F(role_services_test, giving_up_ends_a_later_try_and_does_not_wait_for_it) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, refusal());
    take_role(hv1);
    hv1.programs.add({"patronictl"}, {.takes = 1000s, .ignores_term = true});
    seconds_until([&] { return hv1.programs.running() == 1; });
    ensemble.put(primary_key, "hv2");
    const double took = seconds_until([&] { return role_of(hv1) == "secondary"; });
    EXPECT_LT(took, 5.9);  // the candidate, who never comes, is waited for
    beat(3s);              // within its grace
    EXPECT_EQ(hv1.programs.running(), 0U);
    EXPECT_TRUE(hv1.programs.calls().back().cancelled);
}

TEST_F(role_services_test, a_lost_session_changes_nothing_of_a_primary_that_stays) {
    auto& hv1 = primary_with_services();
    hv1.connector.link().cut();
    loop.run_for(20s);
    hv1.connector.link().mend();
    beat(30s);
    ASSERT_EQ(role_of(hv1), "primary");
    EXPECT_TRUE(services->is_database_ours());
    EXPECT_TRUE(hv1.services.is_enabled(api));
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
}

// ---- the API service
// --------------------------------------------------------------------------------------------------

TEST_F(role_services_test, ac136_a_systemctl_that_hangs_does_not_hold_up_the_end_of_an_isolated_primary) {
    auto& hv1 = primary_with_services();
    hv1.services.set_answer_time(3600s);
    hv1.connector.link().cut();
    const auto from = loop.clock().now();
    loop.run_until([&] { return !hv1.services.times("disable", api).empty() || loop.clock().now() - from > 100s; });
    ASSERT_EQ(hv1.services.times("disable", api).size(), 1U);
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
    // What comes after B' is over in the same moment.
    loop.run_for(10ms);
    ASSERT_TRUE(undone.has_value());
    EXPECT_LT(*undone - hv1.services.times("disable", api).front(), 10ms);
    EXPECT_FALSE(hv1.logged("[role-api]"));
    loop.run_for(5s);
    EXPECT_TRUE(hv1.logged("cannot disable the API service"));
}

TEST_F(role_services_test, a_systemctl_that_hangs_does_not_hold_up_a_hand_over_and_a_takeover_waits_for_it) {
    auto& hv1 = primary_with_services();
    hv1.services.set_answer_time(3600s);
    ensemble.put(primary_key, "hv2");
    EXPECT_LT(seconds_until([&] { return role_of(hv1) == "secondary"; }), 5.9);  // the candidate is waited for
    ASSERT_EQ(hv1.services.times("disable", api).size(), 1U);
    const auto disabling = hv1.services.times("disable", api).front();
    hv1.services.set_answer_time(2ms);
    take_role(hv1);
    ASSERT_EQ(hv1.services.times("enable", api).size(), 2U);
    EXPECT_GE(hv1.services.times("enable", api).back(), disabling + 5s);
    beat(100s);
    EXPECT_TRUE(hv1.services.is_enabled(api));  // what came later counts
    EXPECT_EQ(hv1.services.times("disable", api).size(), 1U);
}

TEST_F(role_services_test, what_cannot_be_enabled_is_said_once_and_tried_again_while_primary) {
    auto& hv1 = stage_with_services();
    hv1.services[api].refuses = failure(errc::refused, api, "Unit file pvcapid.service does not exist.");
    take_role(hv1);
    EXPECT_TRUE(
        hv1.logged("cannot enable the API service: pvcapid.service: refused: Unit file pvcapid.service does "
                   "not exist.; tried again every 30 s while this node is primary [role-api]"));
    beat(95s);
    EXPECT_EQ(hv1.services.times("enable", api).size(), 4U);
    EXPECT_EQ(hv1.times_logged("[role-api]"), 1U);
    hv1.services[api].refuses.reset();
    beat(30s);
    EXPECT_TRUE(hv1.services.is_enabled(api));
    beat(100s);
    EXPECT_EQ(hv1.services.times("enable", api).size(), 5U);
}

TEST_F(role_services_test, a_role_that_is_given_up_while_the_service_is_enabled_leaves_it_disabled) {
    auto& hv1 = stage_with_services();
    hv1.services[api].refuses = failure(errc::refused, api, "not yet");
    take_role(hv1);
    hv1.services[api].refuses.reset();
    hv1.services.set_answer_time(9s);
    seconds_until([&] { return hv1.services.times("enable", api).size() == 2; });
    lose_role(hv1);
    beat(10s);
    EXPECT_FALSE(hv1.services.is_enabled(api));
    EXPECT_FALSE(hv1.services.is_up(api));
    EXPECT_FALSE(hv1.logged("enabled pvcapid.service"));
}

TEST_F(role_services_test, what_cannot_be_disabled_is_tried_for_two_minutes) {
    auto& hv1 = primary_with_services();
    hv1.services[api].refuses = failure(errc::refused, api, "no");
    lose_role(hv1);
    beat(600s);
    EXPECT_EQ(hv1.services.times("disable", api).size(), 4U);
    EXPECT_EQ(hv1.times_logged("[role-api]"), 1U);
    // And once more with the next role.
    hv1.services[api].refuses.reset();
    take_role(hv1);
    lose_role(hv1);
    beat(1s);
    EXPECT_FALSE(hv1.services.is_enabled(api));
}

TEST_F(role_services_test, ac19_an_orderly_stop_waits_for_the_service_to_be_disabled) {
    auto& hv1 = primary_with_services();
    hv1.services.set_answer_time(2s);
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    hv1.stop();
    EXPECT_EQ(state_of(hv1), "stop");
    EXPECT_FALSE(hv1.services.is_enabled(api));
}

TEST_F(role_services_test, a_stop_without_zookeeper_disables_the_service_too) {
    auto& hv1 = primary_with_services();
    hv1.connector.link().cut();
    loop.run_for(2s);
    hv1.services.set_answer_time(1s);
    hv1.stop();
    EXPECT_FALSE(hv1.services.is_enabled(api));
}

TEST_F(role_services_test, a_stop_is_not_held_up_by_a_systemctl_that_hangs) {
    auto& hv1 = primary_with_services();
    hv1.services.set_answer_time(3600s);
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    const auto from = loop.clock().now();
    hv1.stop();
    EXPECT_EQ(state_of(hv1), "stop");
    EXPECT_LT(loop.clock().now() - from, 12s);
    EXPECT_EQ(hv1.exit_status, 0);
}

TEST_F(role_services_test, a_stop_in_the_middle_of_a_try_ends_it) {
    auto& hv1 = stage_with_services();
    hv1.programs.add({"patronictl"}, {.takes = 9500ms});
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return hv1.programs.running() == 1; });
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    hv1.stop();
    EXPECT_EQ(hv1.programs.running(), 0U);
    EXPECT_EQ(hv1.programs.calls().size(), 1U);
    EXPECT_FALSE(hv1.services.is_enabled(api));
    EXPECT_EQ(state_of(hv1), "stop");
}

TEST_F(role_services_test, the_report_says_what_is_so) {
    auto& hv1 = stage_with_services();
    const auto lines = [this] {
        std::vector<std::string> all;
        services->report(all);
        return all;
    };
    EXPECT_TRUE(lines().empty());
    take_role(hv1);
    EXPECT_EQ(lines(), (std::vector<std::string>{"role services: pvcapid.service is enabled",
                                                 "role services: the database is led from this node"}));
    lose_role(hv1);
    beat(1s);
    EXPECT_EQ(lines(), (std::vector<std::string>{"role services: pvcapid.service is disabled"}));
}

}  // namespace
}  // namespace pvc::node
