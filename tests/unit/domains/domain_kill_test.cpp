// One migration between two of our daemons, and one blow at every point of it: not sampled, all. A point is a step of
// the loop after which the world was another: a request reached the ensemble, a key was written, a guest changed, a
// call was made. What a killed process did since the last point is lost with it (vm-domains.md 8.6; peers.md F5).
#include "domain_migration_fixture.hpp"

#include <array>

namespace pvc::node {
namespace {

enum class way : std::uint8_t { live, offline };
enum class blow : std::uint8_t {
    sender_killed,       // back after 1 s
    sender_killed_long,  // back after 40 s
    receiver_killed,
    receiver_killed_long,
    sender_libvirtd,
    receiver_libvirtd,
    sender_session,
    receiver_session,
    sender_power,
    receiver_power,
};

class one_run : public migration_fixture {
public:
    explicit one_run(way how) : how_(how) {}
    void TestBody() override {}
    void close() { TearDown(); }

    // False: the migration was over before point `at`.
    bool run(std::size_t at, blow what) {
        two_of_ours(how_ == way::offline ? keys{{"/migration_method", "shutdown"}} : keys{});
        guest().shutdown_time = 200ms;
        guest().going_time = 300ms;
        place("migrate", "hv2", "hv1");
        std::size_t points = 0;
        std::size_t mark = marks();
        bool is_over = false;
        while (points <= at && !is_over && loop.step()) {
            const std::size_t now = marks();
            if (now != mark) {
                mark = now;
                ++points;
            }
            is_over = state() == "start" && executes("hv2") && locks_left() == 0 &&
                      value(key("/migrate_sync_lock")).empty() && !hv1().host.read_file(journal) &&
                      !nodes.back().host.read_file(journal);
        }
        if (is_over) {
            return false;
        }
        strike(what);
        return true;
    }

    // Three minutes at most; well for 15 s is well.
    [[nodiscard]] std::string outcome() {
        int good = 0;
        ::testing::AssertionResult last = ::testing::AssertionSuccess();
        for (int i = 0; i < 36 && good < 3; ++i) {
            pass(5s);
            const bool is_busy = !plans.empty() || (is_off_.empty() && !(hv1().is_ready() && nodes.back().is_ready()));
            if (is_off_ == "hv2" && value(key("/node")) == "hv1" && value(key("/migrate_sync_lock")) == to_text(u1)) {
                ensemble.put(key("/migrate_sync_lock"), "");  // the receiver's own mark; it is gone for good
            }
            last = settled_on(value(key("/node")));
            good = last && !is_busy ? good + 1 : 0;
        }
        if (good < 3) {
            return last ? "not all are back" : last.message();
        }
        return hardware.centre.double_runs() > 0 ? "two copies ran" : "";
    }
    [[nodiscard]] std::string tale() { return story() + "\nhv1:\n" + hv1().log() + "\nhv2:\n" + nodes.back().log(); }

private:
    using keys = std::map<std::string, std::string>;

    [[nodiscard]] std::size_t marks() {
        return ensemble.counters().reads + ensemble.counters().writes + ensemble.trace().size() +
               hardware.centre.history().size() + machine("hv1").all_calls().size() + machine("hv2").all_calls().size();
    }
    void strike(blow what) {
        sim_node& from = nodes.front();
        sim_node& to = nodes.back();
        switch (what) {
            case blow::sender_killed: kill(from, 1s); break;
            case blow::sender_killed_long: kill(from, 40s); break;
            case blow::receiver_killed: kill(to, 1s); break;
            case blow::receiver_killed_long: kill(to, 40s); break;
            case blow::sender_libvirtd: restart_libvirtd("hv1"); break;
            case blow::receiver_libvirtd: restart_libvirtd("hv2"); break;
            case blow::sender_session: from.connector.link().expire_sessions(); break;
            case blow::receiver_session: to.connector.link().expire_sessions(); break;
            case blow::sender_power: lose_power(from, "hv2"); break;
            case blow::receiver_power: lose_power(to, "hv1"); break;
        }
    }
    void kill(sim_node& node, duration back_after) {
        node.kill();
        plans.after(back_after, [&node] { node.start(); });
    }
    void restart_libvirtd(const std::string& name) {
        machine(name).kill_libvirtd();
        plans.after(1s, [this, name] { machine(name).start_libvirtd(); });
    }
    // It is found dead and fenced; its recovery moves what was its own, unless a copy is alive (section 15).
    void lose_power(sim_node& node, const std::string& survivor) {
        is_off_ = node.settings.name;
        node.lose_power();
        plans.after(35s, [this] { ensemble.put("/nodes/" + is_off_ + "/daemonstate", "fenced"); });
        // By then who had half of it has asked twice, and removed it if it is stale.
        plans.after(50s, [this, survivor] {
            const bool was_its_own =
                value("/nodes/" + is_off_ + "/runningdomains") == to_text(u1) || value(key("/node")) == is_off_;
            ensemble.put("/nodes/" + is_off_ + "/runningdomains", "");
            if (was_its_own && !machine(survivor).guest(u1).is_there()) {
                place("start", survivor, is_off_);
            }
        });
    }

    way how_;
    std::string is_off_;
};

class domain_kill : public ::testing::TestWithParam<std::tuple<way, blow>> {};

TEST_P(domain_kill, at_every_point) {
    const auto [how, what] = GetParam();
    std::size_t at = 0;
    for (;; ++at) {
        one_run one(how);
        const bool reached = one.run(at, what);
        const std::string wrong = reached ? one.outcome() : std::string();
        EXPECT_EQ(wrong, "") << "blow at point " << at << "\n" << one.tale();
        one.close();
        if (!reached || !wrong.empty() || HasFailure()) {
            break;
        }
    }
    EXPECT_GT(at, 40U) << "points";
    RecordProperty("points", static_cast<int>(at));
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<way, blow>>& info) {
    constexpr std::array names{"sender_killed",   "sender_killed_long", "receiver_killed", "receiver_killed_long",
                               "sender_libvirtd", "receiver_libvirtd",  "sender_session",  "receiver_session",
                               "sender_power",    "receiver_power"};
    const auto [how, what] = info.param;
    return std::string(how == way::live ? "live_" : "offline_") + names.at(static_cast<std::size_t>(what));
}

INSTANTIATE_TEST_SUITE_P(migration, domain_kill,
                         ::testing::Combine(::testing::Values(way::live, way::offline),
                                            ::testing::Values(blow::sender_killed, blow::sender_killed_long,
                                                              blow::receiver_killed, blow::receiver_killed_long,
                                                              blow::sender_libvirtd, blow::receiver_libvirtd,
                                                              blow::sender_session, blow::receiver_session,
                                                              blow::sender_power, blow::receiver_power)),
                         name_of);

}  // namespace
}  // namespace pvc::node
