// Commands of clients about OSDs, at schema 9 (storage.md 8, cases 27 to 32; zookeeper-schema.md case 41;
// node-lifecycle.md 13, AC111).
#include "osd_fixture.hpp"

namespace pvc::node {
namespace {

class osd_commands_test : public osd_test {
protected:
    osd_commands_test() {
        ensemble.observe([this](const recorded_change& change) {
            if (change.path == pipe && change.what == recorded_kind::set && change.session != 0) {
                answered_at_ = loop.clock().now();
                answers.push_back(change.data);
            }
        });
        program({"lsblk"}, "{\"blockdevices\": [{" + block_of("sdb", "disk") + "}]}");
        program({"blkid"}, "", 2);
        program({"wipefs"}, "");
        program({"ceph"}, "");
        program({"ceph", "osd", "create"}, "7\n");
        program({"ceph", "osd", "ls"}, "0\n7\n");
        program({"ceph-volume"}, "", 0, 1s);
        program({"ceph-volume", "lvm", "list"}, listing("7", fsid_1));
        program({"systemctl"}, "");
        program({"vgdisplay"}, "", 5);
        program({"lvremove"}, "");
    }
    static std::string block_of(const std::string& name, const std::string& type) {
        return R"("name": ")" + name + R"(", "path": "/dev/)" + name +
               R"(", "maj:min": "8:16", "size": 480103981056, "wwn": null, "serial": null, "type": ")" + type +
               R"(", "fstype": null, "pttype": null, "mountpoint": null)";
    }
    void send(const std::string& text) {
        sent_at_ = loop.clock().now();
        ensemble.put(pipe, text);
    }
    [[nodiscard]] bool is_locked() const { return !lock_children(pipe).empty(); }
    // The client's view: the lock is held when it looks, and it finds the answer behind it.
    std::string ask(const std::string& text) {
        send(text);
        loop.run_for(450ms);
        EXPECT_TRUE(is_locked() || !answers.empty()) << text;
        EXPECT_TRUE(run_until([&] { return !is_locked(); }, 120s));
        released_at_ = loop.clock().now();
        return value(pipe);
    }
    // Without those that only look.
    [[nodiscard]] texts steps() const {
        auto lines = processes.lines();
        std::erase_if(lines, [](const std::string& line) {
            return line.starts_with("lsblk ") || line.starts_with("blkid ") || line.starts_with("wipefs ");
        });
        return lines;
    }

    inline static const std::string pipe = "/cmd/ceph";
    inline static const std::string add_sdb = "osd_add hv1,/dev/sdb,1.0,False,0.05";
    texts answers;
    time_point sent_at_{};
    time_point answered_at_{};
    time_point released_at_{};
};

TEST_F(osd_commands_test, case_27_what_stands_there_at_the_start_is_not_carried_out) {
    sim_node& node = hv1(9);
    ensemble.put(pipe, add_sdb);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(60s);
    EXPECT_TRUE(processes.calls().empty());
    EXPECT_EQ(value(pipe), add_sdb);
    for (const auto session : ensemble.sessions()) {
        ensemble.expire_session(session);
    }
    loop.run_for(30s);
    EXPECT_EQ(state_of(node), "run");
    EXPECT_TRUE(processes.calls().empty()) << "nor in a new session";
    EXPECT_EQ(ask(add_sdb), "success-" + add_sdb) << "the same text, written again, is a command";
}

TEST_F(osd_commands_test, case_28_osd_add) {
    sim_node& node = running(9);
    EXPECT_EQ(ask(add_sdb), "success-" + add_sdb);
    EXPECT_EQ(steps(),
              (texts{"ceph osd create", "ceph osd rm 7", "ceph-volume lvm zap --destroy /dev/sdb",
                     "ceph-volume lvm prepare --bluestore --data /dev/sdb",
                     "ceph-volume lvm list --format json /dev/sdb", "ceph-volume lvm activate --bluestore 7 " + fsid_1,
                     "ceph osd crush add osd.7 1.0 root=default host=hv1", "systemctl status ceph-osd@7",
                     // The object is there: what is written of a new OSD of this node (storage.md 5).
                     "ceph-volume lvm list --format json /dev/ceph-7/osd-block-7"}));
    EXPECT_GE(released_at_ - answered_at_, 1s);
    EXPECT_LT(released_at_ - answered_at_, 1100ms);
    std::map<std::string, std::string> keys;
    std::set<std::int64_t> transactions;
    for (const auto& change : changes("/ceph/osds/7")) {
        keys[change.path.substr(std::string("/ceph/osds/7").size())] = change.data;
        transactions.insert(change.zxid);
    }
    EXPECT_EQ(transactions.size(), 1U);
    EXPECT_TRUE(keys["/stats"].starts_with(R"({"uuid": "|", "up": 0)"));
    keys.erase("/stats");
    EXPECT_EQ(keys, (std::map<std::string, std::string>{{"", ""},
                                                        {"/node", "hv1"},
                                                        {"/device", "/dev/sdb"},
                                                        {"/db_device", ""},
                                                        {"/fsid", ""},
                                                        {"/fsid/osd", fsid_1},
                                                        {"/fsid/cluster", std::string(cluster_fsid)},
                                                        {"/lvm", ""},
                                                        {"/lvm/vg", "ceph-7"},
                                                        {"/lvm/lv", "osd-block-7"}}));
    EXPECT_TRUE(node.logged("ceph-volume lvm zap --destroy /dev/sdb"));
    const auto& create = processes.calls()[3];
    EXPECT_EQ(create.what.environment,
              (std::vector<std::pair<std::string, std::string>>{
                  {"CEPH_CONF", "/etc/ceph/ceph.conf"}, {"CEPH_KEYRING", "/etc/ceph/ceph.client.admin.keyring"}}));
}

TEST_F(osd_commands_test, case_29_a_step_that_fails) {
    sim_node& node = running(9);
    processes.add({"ceph-volume", "lvm", "prepare"},
                  {.how = async::exited{1}, .error_output = "Traceback\nRuntimeError: no room\n"});
    EXPECT_EQ(ask(add_sdb), "failure-" + add_sdb);
    EXPECT_EQ(value("/ceph/osds/7"), "<missing>");
    EXPECT_TRUE(processes.lines().back().starts_with("ceph-volume lvm prepare"));
    EXPECT_TRUE(node.logged("exit status 1: RuntimeError: no room [command-failed]")) << node.log();
}

TEST_F(osd_commands_test, case_30_what_is_addressed_to_another_node) {
    sim_node& node = running(9);
    add_osd("7", "hv2");
    loop.run_for(1s);
    for (const std::string& text : {"osd_remove 7,False", "osd_add hv2,/dev/sdb,1.0,False", "db_vg_add hv2,/dev/sdb",
                                    "osd_add HV1,/dev/sdb,1.0,False", "success-osd_remove 7,True",
                                    "flush_locks 00000001-aaaa-4bbb-8ccc-000000000001", ""}) {
        ensemble.clear_trace();
        send(text);
        loop.run_for(10s);
        EXPECT_EQ(value(pipe), text);
        EXPECT_TRUE(changes(pipe + "/").empty()) << "no lock: " << text;
    }
    EXPECT_TRUE(processes.calls().empty());
    EXPECT_TRUE(answers.empty());
    EXPECT_TRUE(node.is_running());
}

// storage.md case 32, zookeeper-schema.md case 41.
TEST_F(osd_commands_test, case_32_no_watch_at_schema_10_also_after_a_hot_update) {
    running(9);
    EXPECT_GT(ensemble.watches(pipe), 0U);
    EXPECT_EQ(ask("osd_remove 5,False"), "failure-osd_remove 5,False");
    ensemble.put("/schema/version", "10");
    loop.run_for(30s);
    EXPECT_EQ(value(pipe), "<missing>");
    answers.clear();
    ensemble.put(pipe, "");
    loop.run_for(5s);
    EXPECT_EQ(ensemble.watches(pipe), 0U);
    send(add_sdb);
    loop.run_for(30s);
    EXPECT_TRUE(processes.calls().empty());
    EXPECT_EQ(value(pipe), add_sdb);
}

TEST_F(osd_commands_test, case_32_nor_when_it_starts_there) {
    sim_node& node = hv1(10);
    ensemble.put(pipe, "");
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    EXPECT_EQ(ensemble.watches(pipe), 0U);
    send(add_sdb);
    loop.run_for(30s);
    EXPECT_TRUE(processes.calls().empty());
}

TEST_F(osd_commands_test, AC111_the_failure_of_db_vg_add_is_spelled_as_all_others) {
    running(9);
    program({"sgdisk"}, "", 2);
    EXPECT_EQ(ask("db_vg_add hv1,/dev/sdx"), "failure-db_vg_add hv1,/dev/sdx");
    EXPECT_EQ(answers.size(), 1U) << "and is no command";
    program({"sgdisk"}, "");
    bool has_partition = false;
    processes.add({"sgdisk", "--new"}, {.effect = [&] { has_partition = true; }});
    processes.add([&](const async::command& what) -> std::optional<sim::sim_program> {
        if (what.arguments.front() != "lsblk" || !has_partition) {
            return std::nullopt;
        }
        return sim::sim_program{.output = "{\"blockdevices\": [{" + block_of("sdb", "disk") + ", \"children\": [{" +
                                          block_of("sdx1", "part") + "}]}]}"};
    });
    program({"pvcreate"}, "");
    program({"vgcreate"}, "");
    EXPECT_EQ(ask("db_vg_add hv1,/dev/sdx"), "success-db_vg_add hv1,/dev/sdx");
    EXPECT_EQ(processes.lines().back(), "vgcreate --force osd-db /dev/sdx1");
}

TEST_F(osd_commands_test, what_cannot_be_done_fails_at_once) {
    sim_node& node = running(9);
    for (const std::string& text : {"osd_add hv1,/etc/passwd,1.0,False", "osd_add hv1,/dev/sdb,nan,False", "osd_add",
                                    "osd_remove x,False", "osd_refresh hv1,7", "osd_remove 99,True"}) {
        answers.clear();
        EXPECT_EQ(ask(text), "failure-" + text);
        EXPECT_LT(answered_at_ - sent_at_, 500ms) << text;
        loop.run_for(1s);
    }
    EXPECT_TRUE(processes.calls().empty());
    EXPECT_TRUE(node.logged("there is no OSD 99"));
}

// The look at a device takes longer than a client waits for the lock.
TEST_F(osd_commands_test, the_lock_is_there_before_anything_is_looked_at) {
    running(9);
    program({"lsblk"}, "", 32, 5s);
    send(add_sdb);
    loop.run_for(400ms);
    EXPECT_TRUE(is_locked());
    EXPECT_TRUE(answers.empty());
    loop.run_for(5s);
    EXPECT_EQ(answers, texts{"failure-" + add_sdb});
    EXPECT_EQ(processes.calls().size(), 1U);
}

TEST_F(osd_commands_test, osd_remove_takes_the_object_with_all_that_is_below_it) {
    running(9);
    add_osd("7", "hv1");
    ensemble.put({{"/ceph/osds/7/lvm/vg", "ceph-7"},
                  {"/ceph/osds/7/lvm/lv", "osd-block-7"},
                  {"/ceph/osds/7/db_device", "osd-db/osd-7"},
                  {"/ceph/osds/7/fsid/osd", fsid_1},
                  {"/ceph/osds/7/of/others", "x"}});
    loop.run_for(5s);
    EXPECT_EQ(ask("osd_remove 7,False"), "success-osd_remove 7,False");
    EXPECT_EQ(value("/ceph/osds/7"), "<missing>");
    EXPECT_NE(value("/ceph/osds"), "<missing>");
    const auto lines = processes.lines();
    EXPECT_EQ(lines.back(), "lvremove --yes --force osd-db/osd-7");
    EXPECT_EQ(std::ranges::count(lines, "ceph-volume lvm zap --destroy /dev/sdb"), 1);
}

TEST_F(osd_commands_test, osd_replace_and_refresh_write_over_what_was_there) {
    running(9);
    add_osd("7", "hv1", "/dev/sda");
    loop.run_for(5s);
    const std::string replace = "osd_replace hv1,7,/dev/sda,/dev/sdb,1.5,True";
    ensemble.put("/ceph/osds/7/fsid/osd", "11111111-8c5a-4e7d-9f53-000000000001");
    EXPECT_EQ(ask(replace), "success-" + replace);
    EXPECT_EQ(value("/ceph/osds/7/device"), "/dev/sdb");
    EXPECT_EQ(value("/ceph/osds/7/fsid/osd"), fsid_1);
    EXPECT_EQ(value("/ceph/osds/7/db_device"), "osd-db/osd-7");
    const std::string refresh = "osd_refresh hv1,7,/dev/sdb,False";
    EXPECT_EQ(ask(refresh), "success-" + refresh);
    EXPECT_EQ(value("/ceph/osds/7/db_device"), "");
}

TEST_F(osd_commands_test, the_stop_ends_the_work_and_the_command_is_not_answered) {
    sim_node& node = running(9);
    program({"ceph-volume", "lvm", "prepare"}, "", 0, 5min);
    send(add_sdb);
    loop.run_for(10s);
    ASSERT_EQ(processes.running(), 1U);
    node.stop();
    EXPECT_EQ(node.exit_status, 0);
    EXPECT_TRUE(processes.calls().back().cancelled);
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(value(pipe), add_sdb);
    EXPECT_FALSE(is_locked());
    EXPECT_EQ(value("/ceph/osds/7"), "<missing>");
}

TEST_F(osd_commands_test, the_wait_until_it_may_be_destroyed_is_told_each_minute_and_ends_with_the_daemon) {
    sim_node& node = running(9);
    add_osd("7", "hv1");
    loop.run_for(5s);
    program({"ceph", "osd", "safe-to-destroy"}, "", 16);
    send("osd_remove 7,False");
    loop.run_for(10min + 30s);
    EXPECT_TRUE(is_locked());
    EXPECT_EQ(node.times_logged("OSD 7 is not safe to destroy yet"), 10U);
    // What goes on beside it: the heartbeat, and what is watched.
    add_osd("8", "hv2");
    loop.run_for(1s);
    EXPECT_TRUE(node.logged("OSD list: 7 8"));
    node.stop();
    EXPECT_EQ(node.exit_status, 0);
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(processes.running(), 0U);
}

// ZooKeeper goes right after the last look at the device. Who comes back soon goes on; later the look says nothing any
// more, as somebody may use the device by then.
TEST_F(osd_commands_test, what_was_looked_at_too_long_ago_is_not_erased) {
    sim_node& node = running(9);
    int looks = 0;
    processes.add([&](const async::command& what) -> std::optional<sim::sim_program> {
        if (what.arguments.front() == "blkid" && ++looks % 2 == 0) {
            node.connector.link().cut();
        }
        return std::nullopt;
    });
    for (const auto& [away, is_erased] : {std::pair(2s, true), std::pair(7s, false)}) {
        const auto before = std::ranges::count(processes.lines(), "ceph-volume lvm zap --destroy /dev/sdb");
        answers.clear();
        send(add_sdb);
        ASSERT_TRUE(run_until([&] { return node.connector.link().is_cut(); }, 10s));
        loop.run_for(away);
        node.connector.link().mend();
        ASSERT_TRUE(run_until([&] { return !answers.empty() && !is_locked(); }, 120s));
        EXPECT_EQ(std::ranges::count(processes.lines(), "ceph-volume lvm zap --destroy /dev/sdb") - before,
                  is_erased ? 1 : 0);
        EXPECT_EQ(value(pipe), (is_erased ? "success-" : "failure-") + add_sdb);
        ensemble.put(pipe, "");
        ensemble.remove_tree("/ceph/osds/7");
        loop.run_for(3s);
    }
    EXPECT_TRUE(node.logged("too long ago that the device was looked at"));
}

TEST_F(osd_commands_test, a_command_that_is_taken_back_goes_no_further) {
    sim_node& node = running(9);
    program({"ceph", "osd", "rm"}, "", 0, 10s);
    send(add_sdb);
    loop.run_for(5s);
    ensemble.put(pipe, "");
    loop.run_for(30s);
    EXPECT_EQ(steps(), (texts{"ceph osd create", "ceph osd rm 7"})) << "nothing is erased";
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(value(pipe), "");
    EXPECT_TRUE(node.logged("the command was withdrawn"));
    EXPECT_FALSE(is_locked());
}

// What waits until Ceph says that it is safe gives way to the next client's command at once, and not after a day.
TEST_F(osd_commands_test, a_command_that_waits_for_ceph_is_taken_back) {
    sim_node& node = running(9);
    add_whole_osd(9, "7", "hv1");
    ensemble.put({{"/ceph/osds/7/fsid/osd", fsid_1},
                  {"/ceph/osds/7/fsid/cluster", std::string(cluster_fsid)},
                  {"/ceph/osds/7/lvm/vg", "ceph-7"},
                  {"/ceph/osds/7/lvm/lv", "osd-block-7"}});
    program({"ceph", "osd", "safe-to-destroy"}, "", 16);
    loop.run_for(5s);
    send("osd_remove 7,False");
    loop.run_for(60s);
    ASSERT_TRUE(is_locked());
    ASSERT_EQ(processes.lines().back(), "ceph osd safe-to-destroy osd.7");
    ensemble.put(pipe, "");
    loop.run_for(7s);
    EXPECT_FALSE(is_locked());
    EXPECT_TRUE(node.logged("the command was withdrawn"));
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(ask(add_sdb), "success-" + add_sdb);
}

// What was written after a connection had come back is new, also to one who was busy with another command by then.
TEST_F(osd_commands_test, a_command_behind_one_during_which_the_connection_broke_is_carried_out) {
    sim_node& node = running(9);
    program({"ceph", "osd", "rm"}, "", 0, 20s);
    send(add_sdb);
    loop.run_for(5s);
    node.connector.link().cut();
    loop.run_for(3s);
    node.connector.link().mend();
    loop.run_for(3s);
    const std::string next = "osd_add hv1,/dev/sdb,0.5,False";
    send(next);
    ASSERT_TRUE(run_until([&] { return !answers.empty(); }, 90s));
    EXPECT_EQ(answers, texts{"success-" + next});
}

// A lock that somebody takes away, and a connection that breaks for a moment.
TEST_F(osd_commands_test, a_lost_lock_ends_it_and_a_lost_connection_does_not) {
    sim_node& node = running(9);
    program({"ceph", "osd", "rm"}, "", 0, 10s);
    send(add_sdb);
    loop.run_for(5s);
    node.connector.link().cut();
    loop.run_for(6s);
    node.connector.link().mend();
    ASSERT_TRUE(run_until([&] { return !answers.empty(); }, 60s));
    EXPECT_EQ(answers, texts{"success-" + add_sdb});
    loop.run_for(5s);
    answers.clear();
    const std::string again = "osd_add hv1,/dev/sdc,1.0,False";
    send(again);
    loop.run_for(5s);
    for (const auto& child : lock_children(pipe)) {
        ASSERT_TRUE(ensemble.remove(pipe + "/" + child));
    }
    loop.run_for(60s);
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(std::ranges::count(processes.lines(), "ceph-volume lvm zap --destroy /dev/sdc"), 0);
}

// ZooKeeper answers, but so late that its answer says nothing any more of who has the lock: nothing is erased on it.
TEST_F(osd_commands_test, nothing_is_erased_on_a_look_at_the_lock_that_is_too_old) {
    sim_node& node = running(9);
    int looks = 0;
    processes.add([&](const async::command& what) -> std::optional<sim::sim_program> {
        if (what.arguments.front() == "blkid" && ++looks == 2) {
            node.connector.link().answer_delay = 1200ms;  // the lock, then the command
        }
        return std::nullopt;
    });
    send(add_sdb);
    ASSERT_TRUE(run_until([&] { return node.connector.link().answer_delay != duration::zero(); }, 10s));
    loop.run_for(30s);
    EXPECT_EQ(std::ranges::count(processes.lines(), "ceph-volume lvm zap --destroy /dev/sdb"), 0);
}

// The client takes its command back as the keys of the new OSD are written.
TEST_F(osd_commands_test, no_key_of_an_osd_is_written_once_the_command_is_taken_back) {
    sim_node& node = running(9);
    bool is_taken_back = false;
    node.connector.link().on_request = [&](const zookeeper::request& asked) {
        const bool is_of_osd = std::ranges::any_of(
            asked.operations, [](const zookeeper::operation& one) { return one.path.starts_with("/ceph/osds/7"); });
        if (is_of_osd && !std::exchange(is_taken_back, true)) {
            ensemble.put(pipe, "");
        }
        return sim::verdict::answer;
    };
    send(add_sdb);
    ASSERT_TRUE(run_until([&] { return is_taken_back; }, 60s));
    loop.run_for(60s);
    EXPECT_FALSE(ensemble.exists("/ceph/osds/7"));
    EXPECT_TRUE(answers.empty());
}

// Somebody deletes the child of the command's lock as the keys of the new OSD are written.
TEST_F(osd_commands_test, no_key_of_an_osd_is_written_once_the_lock_is_gone) {
    sim_node& node = running(9);
    bool is_gone = false;
    node.connector.link().on_request = [&](const zookeeper::request& asked) {
        const bool is_of_osd = std::ranges::any_of(
            asked.operations, [](const zookeeper::operation& one) { return one.path.starts_with("/ceph/osds/7"); });
        if (is_of_osd && !std::exchange(is_gone, true)) {
            for (const auto& child : lock_children(pipe)) {
                EXPECT_TRUE(ensemble.remove(pipe + "/" + child));
            }
        }
        return sim::verdict::answer;
    };
    send(add_sdb);
    ASSERT_TRUE(run_until([&] { return is_gone; }, 60s));
    loop.run_for(60s);
    EXPECT_FALSE(ensemble.exists("/ceph/osds/7"));
    EXPECT_TRUE(answers.empty());
}

TEST_F(osd_commands_test, an_object_that_somebody_else_writes_is_written_over_as_it_is_then) {
    sim_node& node = running(9);
    int times = 0;
    // Of the primary of another version: the figures, at the worst moment.
    node.connector.link().on_request = [&](const zookeeper::request& asked) {
        if (times == 1 && asked.what == zookeeper::request::kind::commit) {
            ++times;
            add_osd("7", "hv1");
        }
        return sim::verdict::answer;
    };
    processes.add({"systemctl", "status"}, {.effect = [&] { ++times; }});
    EXPECT_EQ(ask(add_sdb), "success-" + add_sdb);
    EXPECT_EQ(times, 2);
    EXPECT_TRUE(value("/ceph/osds/7/stats").starts_with(R"({"uuid": "|")"));
}

}  // namespace
}  // namespace pvc::node
