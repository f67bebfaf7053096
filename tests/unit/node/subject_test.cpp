// What a subject is to the daemon (core/subject.hpp): the one of docs/how-to-add.md is plugged in and seen to run; and
// the table of phases says what its failure means.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

// [weather]
// Publishes whether it rains, and asks nobody.
class weather final : public core::subject,
                      public core::prepared_subject,
                      public core::session_subject,
                      public core::figure_source {
public:
    [[nodiscard]] std::string_view name() const override { return "weather"; }
    async::awaitable<result<void>> prepare(core::preparation /*in*/) override { co_return result<void>(); }
    std::unique_ptr<core::session_part> begin(core::session& s) override {
        struct part final : core::session_part {
            explicit part(core::session& s) : session(s) {}
            async::awaitable<void> run() override {
                co_await async::sleep_for(session.node.clock(), std::chrono::seconds(1), "the first drop");
                session.node.log.info("it rains");
            }
            async::awaitable<void> stop(time_point) override { co_return session.node.log.info("it is dry"); }
            core::session& session;
        };
        return std::make_unique<part>(s);
    }
    [[nodiscard]] std::span<const std::string_view> figure_keys() const override { return keys; }
    void put(core::figure_sheet& sheet) const override { sheet.add(keys[0], "rain"); }

private:
    static constexpr std::string_view keys[] = {"/weather"};
};
// [weather]

// Beside the subjects of the product, in these phases; the stop comes last.
void plug(sim_node& node, std::function<std::unique_ptr<core::subject>()> make, std::vector<policy::phase> phases) {
    node.plug_in = [make = std::move(make), phases = std::move(phases)](assembly& all) {
        all.make = [make, before = std::move(all.make)](core::node_context& context) {
            auto subjects = before(context);
            subjects.push_back(make());
            return subjects;
        };
        for (const auto in : phases) {
            all.phases.push_back({in, "weather"});
        }
        all.stops.push_back({"weather", 1s});
    };
}

class subject_test : public node_test {
protected:
    subject_test() { sim::initialise(ensemble, 10); }
    sim_node& add_with(std::function<std::unique_ptr<core::subject>()> make, std::vector<policy::phase> phases = {}) {
        sim_node& node = add();
        plug(node, std::move(make), std::move(phases));
        node.start();
        return node;
    }
};

TEST_F(subject_test, a_subject_of_twenty_lines_runs) {
    auto& hv1 = add_with([] { return std::make_unique<weather>(); }, {policy::phase::services});
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(6s);
    EXPECT_EQ(value("/nodes/hv1/weather"), "rain");
    EXPECT_TRUE(hv1.logged("it rains"));
    hv1.stop();
    EXPECT_TRUE(hv1.logged("it is dry"));
    EXPECT_LT(hv1.log().find("it is dry"), hv1.log().find("left the cluster"));
}

// Hangs in its third tick, for a minute; says how often it was asked.
class slow_source final : public core::subject, public core::figure_source {
public:
    // The node outlives the test's body: so must the count.
    explicit slow_source(std::shared_ptr<int> asked) : asked_(std::move(asked)) {}
    [[nodiscard]] std::string_view name() const override { return "weather"; }
    [[nodiscard]] std::span<const std::string_view> figure_keys() const override { return keys; }
    async::awaitable<void> collect(core::session& s, time_point /*deadline*/) override {
        if (++*asked_ == 3) {
            co_await async::sleep_for(s.node.clock(), 60s, "an answer");
        }
        collected_ = *asked_;
    }
    void put(core::figure_sheet& sheet) const override { sheet.add(keys[0], std::to_string(collected_)); }

private:
    static constexpr std::string_view keys[] = {"/weather"};
    std::shared_ptr<int> asked_;
    int collected_ = 0;
};

TEST_F(subject_test, a_source_that_hangs_delays_neither_heartbeats_nor_other_figures) {
    const auto asked = std::make_shared<int>(0);
    auto& hv1 = add_with([&] { return std::make_unique<slow_source>(asked); });
    ASSERT_TRUE(hv1.run_until_ready());
    ASSERT_TRUE(run_until([&] { return *asked == 3; }));
    const auto from = loop.clock().now();
    hv1.host.loadavg_text = std::string("3.50 0 0 1/1 1\n");
    loop.run_for(40s);
    EXPECT_EQ(*asked, 3);                           // it is not asked again before it has returned
    EXPECT_EQ(value("/nodes/hv1/weather"), "2");    // its last value
    EXPECT_EQ(value("/nodes/hv1/cpuload"), "3.5");  // the others go on
    EXPECT_NEAR(beat_gaps("hv1", from).front(), 5.0, 0.1);
    loop.run_for(41s);
    EXPECT_GT(*asked, 4);
    EXPECT_EQ(value("/nodes/hv1/weather"), std::to_string(*asked));
}

// Two keys, one of which ends like the other, and goes after two ticks.
class two_keys final : public core::subject, public core::figure_source {
public:
    [[nodiscard]] std::string_view name() const override { return "weather"; }
    [[nodiscard]] std::span<const std::string_view> figure_keys() const override { return keys; }
    async::awaitable<void> collect(core::session& /*s*/, time_point /*deadline*/) override {
        ++ticks_;
        co_return;
    }
    void put(core::figure_sheet& sheet) const override {
        if (ticks_ < 3) {
            sheet.add(keys[0], "sun");
        }
        sheet.add(keys[1], "rain");
    }

private:
    static constexpr std::string_view keys[] = {"/forecast/weather", "/weather"};
    int ticks_ = 0;
};

TEST_F(subject_test, a_figure_is_never_written_into_a_key_that_ends_like_its_own) {
    sim_node& hv1 = add();
    plug(hv1, [] { return std::make_unique<two_keys>(); }, {});
    hv1.start();
    loop.run_for(1s);
    ensemble.put("/nodes/hv1/forecast", "");
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(40s);
    EXPECT_EQ(value("/nodes/hv1/forecast/weather"), "sun");
    EXPECT_EQ(value("/nodes/hv1/weather"), "rain");
}

// What the tables name is there, and takes part in what they name it for.
TEST_F(subject_test, the_tables_of_the_product_name_subjects_that_there_are) {
    sim::sim_hardware hardware(loop.clock());
    sim_node& node =
        nodes.emplace_back(loop, ensemble, sim::node_settings{.hypervisor = true, .networking = true}, &hardware);
    node.plug_in = [](assembly& all) {
        all.make = [phases = all.phases, stops = all.stops, before = std::move(all.make)](core::node_context& context) {
            auto made = before(context);
            const auto named = [&](std::string_view name) -> core::subject* {
                const auto found = std::ranges::find(made, name, [](const auto& one) { return one->name(); });
                return found == made.end() ? nullptr : found->get();
            };
            for (const auto& row : phases) {
                EXPECT_NE(dynamic_cast<core::prepared_subject*>(named(row.subject)), nullptr) << row.subject;
                EXPECT_TRUE(policy::is_for_subjects(row.in)) << row.subject;
            }
            for (const auto& row : stops) {
                EXPECT_NE(dynamic_cast<core::session_subject*>(named(row.subject)), nullptr) << row.subject;
            }
            return made;
        };
    };
    node.start();
    EXPECT_TRUE(node.run_until_ready());
    node.stop();
    nodes.clear();
}

// Fails in one phase, the first `failures` times.
class failing final : public core::subject, public core::prepared_subject {
public:
    failing(policy::phase in, errc code, int& failures) : in_(in), code_(code), failures_(failures) {}
    [[nodiscard]] std::string_view name() const override { return "weather"; }
    async::awaitable<result<void>> prepare(core::preparation in) override {
        if (in.phase == in_ && failures_-- > 0) {
            co_return failure(code_, "weather", "no sky");
        }
        co_return result<void>();
    }

private:
    policy::phase in_;
    errc code_;
    int& failures_;
};

struct failing_case {
    policy::phase in;
    errc code;
    std::optional<int> ends_with;  // empty: it comes to run all the same
    std::string last_state;
    int attempts;
};

TEST_F(subject_test, the_row_of_a_phase_says_what_a_failure_means) {
    using policy::phase;
    const std::vector<failing_case> cases{
        {phase::host_networking, errc::io, {}, "run", 1},  // log_and_continue
        {phase::services, errc::io, {}, "run", 1},
        {phase::zookeeper, errc::io, {}, "run", 2},  // start_again
        {phase::zookeeper, errc::refused, exit_status::environment, "<missing>", 1},
        {phase::node_entry, errc::io, {}, "run", 2},
        {phase::hypervisor, errc::io, exit_status::environment, "stop", 1},  // terminate
        {phase::firewall, errc::io, {}, "run", 1},
        {phase::dns_service_off, errc::io, {}, "run", 1},  // ignore
    };
    int number = 0;
    for (const auto& one : cases) {
        SCOPED_TRACE(fmt::format("S{} {}", policy::info_of(one.in).number, to_text(one.code)));
        sim::node_settings settings;
        settings.name = "hv" + std::to_string(++number);
        settings.coordinators = {settings.name};
        sim_node& node = add(settings);
        int failures = 1;
        plug(node, [&] { return std::make_unique<failing>(one.in, one.code, failures); }, {one.in});
        node.start();
        EXPECT_EQ(node.run_until_ready(), !one.ends_with.has_value());
        EXPECT_EQ(node.exit_status, one.ends_with);
        EXPECT_EQ(state_of(node), one.last_state);
        EXPECT_EQ(node.configuration_reads, one.attempts);
        node.stop();
    }
}

}  // namespace
}  // namespace pvc::node
