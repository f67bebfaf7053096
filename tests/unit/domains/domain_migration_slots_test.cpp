// Four live migrations at once: what waits for its turn has not begun, and no clock of it runs (README ruling 25).
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class domain_migration_slots : public migration_fixture {
protected:
    // Six on hv1, of which the first four never converge; all are to move to hv2.
    void six_move(bool is_dirty) {
        put_hosts({"hv3"});
        std::map<std::string, std::string> request;
        for (int i = 1; i <= 6; ++i) {
            all.push_back(*parse_uuid(fmt::format("0000000{}-aaaa-4bbb-8ccc-000000000001", i)));
            const std::string name = "vm" + std::to_string(i);
            define("start", "hv1", {}, {}, all.back(), name);
            machine().put_running(all.back(), name, xml(all.back(), name));
            if (is_dirty && i <= 4) {
                machine().guest(all.back()).set_kind(guest_kind::dirty);
            }
            const std::string root = model::domain_path(to_text(all.back()));
            request.insert({{root + "/state", "migrate"}, {root + "/node", "hv2"}, {root + "/lastnode", "hv1"}});
        }
        add_our_host("hv1");
        add_our_host("hv2");
        pass(2s);
        ensemble.put(request);
    }
    [[nodiscard]] std::size_t migrating() {
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [&](const uuid& id) { return machine().guest(id).is_migrating(); }));
    }
    [[nodiscard]] std::string state_of(std::size_t index) const {
        return value(model::domain_path(to_text(all.at(index)), "/state"));
    }
    std::vector<uuid> all;
};

TEST_F(domain_migration_slots, four_at_once) {
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;
    six_move(false);
    std::size_t most = 0;
    const auto all_moved = [&] {
        most = std::max(most, migrating());
        return std::ranges::all_of(all, [&](const uuid& id) {
            return value(model::domain_path(to_text(id), "/state")) == "start" && machine("hv2").executes(id);
        });
    };
    ASSERT_TRUE(run_until(all_moved)) << hv1().log();
    EXPECT_EQ(most, 4U);
    pass(2s);
    EXPECT_EQ(split_blanks(running("hv2")).size(), 6U);
}

// Its own 300 s have not begun: it moves live when a place is free.
TEST_F(domain_migration_slots, what_waits_is_not_called_slow) {
    six_move(true);
    pass(290s);
    EXPECT_EQ(migrating(), 4U);
    EXPECT_EQ(state_of(5), "migrate") << hv1().log();
    ASSERT_TRUE(run_until([&] { return machine("hv2").executes(all[4]) && machine("hv2").executes(all[5]); }, 60s));
    pass(2s);
    EXPECT_EQ(state_of(4), "start");
    EXPECT_EQ(state_of(5), "start");
    EXPECT_FALSE(was("hv1: shutdown vm5") || was("hv1: shutdown vm6")) << story();
}

TEST_F(domain_migration_slots, as_many_as_the_operator_allows) {
    limits = {{"max_migrations", 6}};
    six_move(true);
    ASSERT_TRUE(run_until([&] { return migrating() == 4 && machine("hv2").executes(all[5]); }, 20s)) << story();
}

TEST_F(domain_migration_slots, one_at_a_time_if_the_operator_wants_it) {
    limits = {{"max_migrations", 1}};
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;
    six_move(false);
    std::size_t most = 0;
    ASSERT_TRUE(run_until([&] {
        most = std::max(most, migrating());
        return machine("hv2").executes(all[1]);
    }));
    EXPECT_EQ(most, 1U);
}

TEST_F(domain_migration_slots, a_shorter_patience_with_what_does_not_converge) {
    limits = {{"stall_limit", 60}};
    six_move(true);
    pass(58s);
    EXPECT_EQ(migrating(), 4U);
    EXPECT_TRUE(hv1().logged("without progress it is ended after 60 s (30 s if somebody waits")) << hv1().log();
    EXPECT_TRUE(run_until([&] { return was("hv1: shutdown U1"); }, 10s)) << story();
}

// 64 MiB at 4 MiB/s.
TEST_F(domain_migration_slots, no_more_bandwidth_than_the_operator_allows) {
    limits = {{"migration_bandwidth", 4}};
    six_move(false);
    pass(14s);
    EXPECT_EQ(migrating(), 4U);
    EXPECT_TRUE(run_until([&] { return machine("hv2").executes(all[0]); }, 5s));
}

// A client who wants something of it waits no longer than behind one that does not converge.
TEST_F(domain_migration_slots, somebody_waits_for_what_waits) {
    six_move(true);
    pass(5s);
    const std::string root = model::domain_path(to_text(all[5]));
    const auto session = ensemble.open_session();
    const auto child = *ensemble.create(root + "/state/" + std::string(32, 'a') + "__lock__", "",
                                        zookeeper::create_mode::ephemeral_sequential, session);
    pass(25s);
    EXPECT_EQ(state_of(5), "migrate");
    ASSERT_TRUE(run_until([&] { return state_of(5) == "start"; }, 10s)) << hv1().log();
    EXPECT_EQ(value(root + "/node"), "hv1");
    EXPECT_TRUE(machine().executes(all[5]));
    std::ignore = ensemble.remove(child);
}

}  // namespace
}  // namespace pvc::node
