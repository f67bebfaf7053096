// Migrations between two of our daemons, asked for as clients and a flush do (vm-domains.md 2, 8), and how long they
// take.
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class domain_pair : public migration_fixture {
protected:
    // Seconds from the write until `start` on `to`; by a client, or as a flush writes, without its lock.
    double move(const std::string& from, const std::string& to, const std::string& last, bool by_client) {
        if (by_client) {
            client();
        }
        forget();
        if (by_client) {
            client_places("migrate", to, last);
            EXPECT_TRUE(until_state("migrate"));
        } else {
            place("migrate", to, last);
        }
        const time_point began = loop.clock().now();
        EXPECT_TRUE(until_state("start")) << story() << hv1().log();
        const double took = seconds_since(began);
        pass(2s);
        EXPECT_TRUE(settled_on(to)) << story();
        EXPECT_EQ(value(key("/lastnode")), last);
        EXPECT_EQ(count(from + ": migrate U1 " + to + ".pvc.local tcp://" + to + ".pvc.local"), 1U);
        return took;
    }
};

TEST_F(domain_pair, there_and_back_as_a_flush_writes_it) {
    two_of_ours();
    const double there = move("hv1", "hv2", "hv1", false);
    const double back = move("hv2", "hv1", "", false);
    EXPECT_LE(there, 0.6);
    EXPECT_LE(back, 0.6);
    RecordProperty("milliseconds", static_cast<int>(there * 1000));
}

TEST_F(domain_pair, there_and_back_as_a_client_writes_it) {
    two_of_ours();
    const double there = move("hv1", "hv2", "hv1", true);
    const double back = move("hv2", "hv1", "", true);
    EXPECT_LE(there, 1.1);
    EXPECT_LE(back, 1.1);
    RecordProperty("milliseconds", static_cast<int>(there * 1000));
}

TEST_F(domain_pair, the_course) {
    two_of_ours();
    place("migrate", "hv2", "");
    ASSERT_TRUE(until_state("start"));
    pass(2s);
    EXPECT_TRUE(in_order({"state=migrate", "sync=U1", "hv2 +sync", "hv1 +sync", "hv2 -sync", "hv2 +sync", live_call,
                          "hv2 list=U1", "state=start", "hv1 -sync", "hv1 -state", "hv1 -node"}))
        << story();
    EXPECT_TRUE(in_order({live_call, "hv1 list=", "hv1 -sync"})) << story();
    EXPECT_TRUE(in_order({"state=start", "hv2 -sync", "sync="})) << story();
    EXPECT_EQ(count("state=start"), 1U);
    EXPECT_EQ(calls("hv1").size() + calls("hv2").size(), 1U);
}

TEST_F(domain_pair, through_a_shutdown_there_and_back) {
    two_of_ours({{"/migration_method", "shutdown"}});
    for (const auto& [from, to] : {std::pair("hv1", "hv2"), std::pair("hv2", "hv1")}) {
        forget();
        place("migrate", to, "");
        ASSERT_TRUE(run_until([&] { return executes(to); })) << story();
        pass(3s);
        const std::string source = from;
        const std::string target = to;
        EXPECT_TRUE(in_order({source + ": shutdown U1", source + " list=", "state=stop", source + " -sync",
                              "state=start", target + " list=U1", target + ": create U1"}))
            << story();
        EXPECT_EQ(count("state=stop") + count("state=start"), 2U);
        EXPECT_TRUE(settled_on(to)) << story();
    }
}

TEST_F(domain_pair, a_guest_that_does_not_go_and_one_that_is_enforced) {
    two_of_ours();
    for (int i = 0; i < 3; ++i) {
        guest().fail_migration(migration_step::copy, {call_error::other, "refused"});
    }
    place("migrate-live", "hv2", "");
    ASSERT_TRUE(until_state("start"));
    pass(3s);
    EXPECT_EQ(value(key("/node")), "hv1");
    EXPECT_TRUE(settled_on("hv1")) << story();
    for (int i = 0; i < 3; ++i) {
        guest().fail_migration(migration_step::copy, {call_error::other, "refused"});
    }
    place("migrate", "hv2", "");
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    pass(3s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_pair, six_one_after_another_and_back) {
    std::vector<uuid> all;
    put_hosts({"hv3"});
    for (int i = 1; i <= 6; ++i) {
        all.push_back(*parse_uuid(fmt::format("0000000{}-aaaa-4bbb-8ccc-000000000001", i)));
        const std::string name = "vm" + std::to_string(i);
        define("start", "hv1", {}, {}, all.back(), name);
        machine().put_running(all.back(), name, xml(all.back(), name));
    }
    add_our_host("hv1");
    add_our_host("hv2");
    pass(2s);
    const auto states = [&](const std::string& node) {
        return std::ranges::all_of(all, [&](const uuid& id) {
            const std::string root = model::domain_path(to_text(id));
            return value(root + "/state") == "start" && value(root + "/node") == node && machine(node).executes(id);
        });
    };
    client();
    for (const auto& [to, last] : {std::pair("hv2", "hv1"), std::pair("hv1", "")}) {
        const time_point began = loop.clock().now();
        for (const auto& id : all) {
            client().place(to_text(id), "migrate", to, last);
        }
        ASSERT_TRUE(run_until([&] { return states(to); })) << hv1().log();
        EXPECT_LE(seconds_since(began), 6 * 0.6 + 1.2);
        pass(2s);
        for (const auto& id : all) {
            const std::string root = model::domain_path(to_text(id));
            EXPECT_TRUE(lock_children(root + "/state").empty() && lock_children(root + "/node").empty() &&
                        lock_children(root + "/migrate_sync_lock").empty());
            EXPECT_EQ(value(root + "/migrate_sync_lock"), "");
            EXPECT_EQ(hardware.centre.running_copies(id), 1U);
        }
        EXPECT_EQ(split_blanks(running(to)).size(), 6U);
        EXPECT_EQ(running(to == std::string("hv1") ? "hv2" : "hv1"), "");
    }
}

TEST_F(domain_pair, six_at_once) {
    std::vector<uuid> all;
    put_hosts({"hv3"});
    std::map<std::string, std::string> request;
    for (int i = 1; i <= 6; ++i) {
        all.push_back(*parse_uuid(fmt::format("0000000{}-aaaa-4bbb-8ccc-000000000001", i)));
        const std::string name = "vm" + std::to_string(i);
        define("start", "hv1", {}, {}, all.back(), name);
        machine().put_running(all.back(), name, xml(all.back(), name));
        const std::string root = model::domain_path(to_text(all.back()));
        request.insert({{root + "/state", "migrate"}, {root + "/node", "hv2"}, {root + "/lastnode", "hv1"}});
    }
    add_our_host("hv1");
    add_our_host("hv2");
    pass(2s);
    ensemble.put(request);
    ASSERT_TRUE(run_until([&] {
        return std::ranges::all_of(all, [&](const uuid& id) {
            return value(model::domain_path(to_text(id), "/state")) == "start" && machine("hv2").executes(id);
        });
    })) << hv1().log();
    pass(2s);
    EXPECT_EQ(split_blanks(running("hv2")).size(), 6U);
    EXPECT_EQ(running("hv1"), "");
}

TEST_F(domain_pair, the_session_of_the_sender_ends_when_the_guest_has_just_moved) {
    two_of_ours();
    hardware.centre.times.reply = 300ms;
    place("migrate", "hv2", "");
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    nodes.back().connector.link().silence();  // the receiver cannot say so
    plans.after(4s, [this] { nodes.back().connector.link().end_silence(); });
    hv1().connector.link().expire_sessions();
    pass(8s);
    EXPECT_FALSE(was("state=stop")) << "it runs: " << story();
    pass(30s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

}  // namespace
}  // namespace pvc::node
