// RBD locks at a start (vm-domains.md B.2, section 7).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

class domain_rbd : public effects_test {
protected:
    domain_rbd() { has_storage = true; }
    static constexpr const char* sda = "vms/web_sda";
    static constexpr const char* sdb = "vms/web_sdb";
    void stopped(const std::string& rbdlist = "vms/web_sda,vms/web_sdb", const std::string& text = {}) {
        std::map<std::string, std::string> others{{"/rbdlist", rbdlist}};
        if (!text.empty()) {
            others["/xml"] = text;
        }
        define("stop", "hv1", "", others);
    }
    static std::string rbd_disk(const std::string& name) {
        return "<disk type='network' device='disk'><source protocol='rbd' name='" + name +
               "'/><target dev='sda'/></disk>";
    }
    [[nodiscard]] texts broken() const {
        texts all;
        for (const auto& call : hardware.rbd.calls()) {
            if (call.starts_with("break ")) {
                all.push_back(call.substr(6, call.find(' ', 6) - 6));
            }
        }
        return all;
    }
    [[nodiscard]] bool was_listed(const std::string& image) const {
        return std::ranges::count(hardware.rbd.calls(), "list " + image) > 0;
    }
    void expect_started() {
        EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", running_vnc}));
        expect_running();
    }
};

TEST_F(domain_rbd, D16_own_locks_are_broken_before_the_creation) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.lock(sdb, "10.254.0.1:0/1");
    stopped();
    settled_host();
    set("start");
    pass(10s);
    const auto calls = hardware.rbd.calls();
    ASSERT_GE(calls.size(), 4U);
    EXPECT_EQ((texts{calls[0], calls[1]}), (texts{"list vms/web_sda", "list vms/web_sdb"}));
    EXPECT_EQ(broken(), (texts{sda, sdb}));
    EXPECT_TRUE(calls[2].starts_with("open vms/web_sda") && calls[3].starts_with("break "));
    const auto created = machine().times("create U1");
    ASSERT_EQ(created.size(), 1U);
    EXPECT_LE(hardware.rbd.all_calls().back().at, created.front());
    EXPECT_TRUE(hardware.rbd.locks(sda).empty() && hardware.rbd.locks(sdb).empty());
    expect_started();
}

TEST_F(domain_rbd, D17_a_foreign_lock_that_stays) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.lock(sdb, {"auto 77", "client.7", "10.254.0.2:0/7"});
    stopped();
    settled_host();
    set("start");
    pass(60s);
    ASSERT_EQ(effects().size(), 1U);
    const std::string text = effects().front();
    EXPECT_TRUE(
        text.starts_with("state = fail + failedreason = RBD lock \"auto 77\" on vms/web_sdb is held by 10.254.0.2"))
        << text;
    EXPECT_TRUE(text.ends_with(", not by this node; make sure the VM is stopped there, flush its locks, then start it"))
        << text;
    EXPECT_NEAR(moment(text), 5.0, 0.3);
    EXPECT_EQ(broken(), texts{});
    EXPECT_EQ(state(), "fail");
}

TEST_F(domain_rbd, D17_stop_while_it_waits_for_a_foreign_lock) {
    hardware.rbd.lock(sda, "10.254.0.2:0/7");
    stopped(sda);
    settled_host();
    set("start");
    pass(3s);
    set("stop");
    pass(20s);
    EXPECT_EQ(effects(), texts{});
    EXPECT_EQ(state(), "stop");
}

TEST_F(domain_rbd, D18_a_foreign_lock_that_goes) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.lock(sdb, "10.254.0.2:0/7");
    stopped();
    settled_host();
    set("start");
    pass(2s);
    EXPECT_EQ(broken(), texts{});
    hardware.rbd.unlock(sdb);
    pass(10s);
    EXPECT_EQ(broken(), texts{sda});
    EXPECT_LT(moment("create U1"), 4.0);
    expect_started();
}

TEST_F(domain_rbd, D19_an_address_that_only_begins_like_ours) {
    hardware.rbd.lock(sda, "10.254.0.11:0/1");
    stopped(sda);
    settled_host();
    set("start");
    pass(10s);
    EXPECT_EQ(state(), "fail");
    EXPECT_EQ(broken(), texts{});
    EXPECT_TRUE(calls().empty());
}

TEST_F(domain_rbd, D20_no_volumes) {
    stopped("");
    settled_host();
    set("start");
    pass(5s);
    EXPECT_TRUE(hardware.rbd.calls().empty());
    expect_started();
}

TEST_F(domain_rbd, D21_a_list_that_is_out_of_date) {
    hardware.rbd.lock("vms/new_sda", "10.254.0.1:0/1");
    stopped("vms/old_sda", xml(u1, "web", rbd_disk("vms/new_sda")));
    settled_host();
    set("start");
    pass(10s);
    EXPECT_TRUE(was_listed("vms/old_sda") && was_listed("vms/new_sda"));
    EXPECT_EQ(broken(), texts{"vms/new_sda"});
    expect_started();
}

TEST_F(domain_rbd, D22_no_lock_call_for_a_guest_that_runs) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    define("start", "hv1", "", {{"/rbdlist", sda}});
    machine().put_running(u1, "web", xml(u1));
    add_running_host();
    pass(30s);
    set("start");
    pass(10s);
    EXPECT_TRUE(hardware.rbd.calls().empty());
    EXPECT_EQ(effects(), (texts{"rd = U1", running_vnc}));
}

TEST_F(domain_rbd, a_lock_that_cannot_be_removed) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.fail_always("break", failure(errc::refused, {}, "permission denied"));
    stopped(sda);
    settled_host();
    set("start");
    pass(30s);
    EXPECT_EQ(state(), "fail");
    EXPECT_NE(value(key("/failedreason")).find("on vms/web_sda could not be removed: "), std::string::npos)
        << value(key("/failedreason"));
    EXPECT_TRUE(calls().empty());
}

// Nobody answered: that is no fault of the machine.
TEST_F(domain_rbd, a_lock_that_is_removed_once_ceph_answers) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.fail_always("break", failure(errc::timed_out, {}, "no answer of Ceph in time"));
    stopped(sda);
    settled_host();
    set("start");
    pass(30s);
    EXPECT_EQ(state(), "start");
    EXPECT_NE(value(key("/failedreason")).find("on vms/web_sda could not be removed: "), std::string::npos)
        << value(key("/failedreason"));
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(running(), "");
    hardware.rbd.clear_faults();
    pass(62s);
    EXPECT_TRUE(machine().executes(u1));
    EXPECT_EQ(value(key("/failedreason")), "");
}

// Whoever took it at once after the break may write: only what is seen to be gone lets the machine start.
TEST_F(domain_rbd, a_lock_that_is_still_there_after_the_break) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.on_break = [this](const std::string& /*by*/, const std::string& image,
                                   const storage::rbd_lock& /*which*/) { hardware.rbd.lock(image, "10.254.0.1:0/2"); };
    stopped(sda);
    settled_host();
    set("start");
    pass(30s);
    EXPECT_EQ(state(), "fail");
    EXPECT_NE(value(key("/failedreason")).find("it is still there"), std::string::npos) << value(key("/failedreason"));
    EXPECT_EQ(broken(), (texts{sda}));
    EXPECT_TRUE(calls().empty());
}

TEST_F(domain_rbd, a_lock_that_another_host_takes_after_the_break) {
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    hardware.rbd.on_break = [this](const std::string& /*by*/, const std::string& image,
                                   const storage::rbd_lock& /*which*/) { hardware.rbd.lock(image, "10.254.0.2:0/7"); };
    stopped(sda);
    settled_host();
    set("start");
    pass(30s);
    EXPECT_EQ(state(), "fail");
    EXPECT_NE(value(key("/failedreason")).find("is held by 10.254.0.2"), std::string::npos)
        << value(key("/failedreason"));
    EXPECT_TRUE(calls().empty());
}

TEST_F(domain_rbd, locks_that_cannot_be_read) {
    hardware.rbd.add_image(sda);
    hardware.rbd.fail_next("list", failure(errc::io, {}, "Input/output error"), 2);
    stopped(sda);
    settled_host();
    set("start");
    pass(10s);
    expect_started();  // the third attempt, after 1 s and 3 s
    EXPECT_NEAR(moment("create U1"), 4.0, 0.2);
    set("stop");
    pass(5s);
    hardware.rbd.fail_always("list", failure(errc::io, {}, "the helper is gone"));
    set("start");
    pass(30s);
    EXPECT_EQ(state(), "start") << "it waits";
    EXPECT_EQ(value(key("/failedreason")), "RBD locks of vms/web_sda could not be read: the helper is gone");
    hardware.rbd.fail_always("list", failure(errc::refused, {}, "permission denied"));
    pass(60s);
    EXPECT_EQ(state(), "fail") << "no waiting heals that";
    EXPECT_EQ(value(key("/failedreason")), "RBD locks of vms/web_sda could not be read: permission denied");
}

// The state is written by somebody else while the locks are looked at: his word stands.
TEST_F(domain_rbd, a_refusal_that_comes_too_late) {
    hardware.rbd.add_image(sda);
    hardware.rbd.fail_always("list", failure(errc::refused, {}, "permission denied"));
    stopped(sda);
    settled_host();
    for (int offset = 3900; offset < 4100; offset += 5) {
        set("start");
        pass(offset * 1ms);
        const bool has_failed = state() == "fail";
        set("disable");
        pass(5s);
        EXPECT_EQ(state(), "disable") << offset;
        EXPECT_EQ(value(key("/failedreason")).empty(), !has_failed);
        ensemble.put(key("/failedreason"), "");
    }
}

// README ruling 80: the address of a lock says which host it is of, and not that its holder is gone.
class domain_rbd_neighbours : public domain_rbd {
protected:
    // The image of the machine that is to be started has a lock of this host.
    void locked() {
        hardware.rbd.lock(sda, "10.254.0.1:0/1");
        stopped(sda);
    }
    void neighbour(const std::string& disks) {
        define("start", "hv1", "", {{"/xml", xml(u2, "db", disks)}}, u2, "db");
        machine().put_running(u2, "db", xml(u2, "db", disks));
    }
    void expect_refused(const std::string& words, std::string_view in_state = "fail") {
        EXPECT_EQ(state(), in_state);
        EXPECT_NE(value(key("/failedreason")).find(words), std::string::npos) << value(key("/failedreason"));
        EXPECT_EQ(broken(), texts{});
        EXPECT_TRUE(hardware.rbd.blocklist().empty());
        EXPECT_EQ(count("create U1"), 0U);
    }
    void start() {
        settled_host();
        set("start");
        pass(20s);
    }
    std::map<std::string, std::string>& files() { return nodes.front().host.files; }
    void folder(const std::string& path) { nodes.front().host.directories.try_emplace(path); }
};

TEST_F(domain_rbd_neighbours, a_machine_that_runs_here_keeps_its_lock) {
    locked();
    neighbour(rbd_disk(sda));
    start();
    expect_refused("RBD image vms/web_sda is in use by the VM db, which runs on this node");
}

TEST_F(domain_rbd_neighbours, one_with_other_disks_is_in_nobodys_way) {
    locked();
    neighbour(rbd_disk(sdb));
    start();
    EXPECT_EQ(broken(), texts{sda});
    EXPECT_TRUE(guest().executes());
}

TEST_F(domain_rbd_neighbours, one_that_shares_it_keeps_its_lock_and_the_machine_is_started) {
    locked();
    neighbour("<disk type='network'><source protocol='rbd' name='vms/web_sda'/><target dev='sdb'/><shareable/></disk>");
    start();
    EXPECT_EQ(broken(), texts{});
    EXPECT_EQ(hardware.rbd.locks(sda).size(), 1U);
    EXPECT_TRUE(guest().executes());
}

// What it has open is not known then, and the machine waits for libvirt.
TEST_F(domain_rbd_neighbours, one_whose_definition_cannot_be_read_is_no_reason_to_break_anything) {
    locked();
    neighbour(rbd_disk(sda));
    settled_host();
    for (int i = 0; i < 40; ++i) {
        machine().fail_next("live_xml", {hypervisor::call_error::timed_out, "no answer"});
    }
    set("start");
    pass(5s);
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/failedreason")), "libvirt does not answer for the VM " + to_text(u2));
    EXPECT_EQ(broken(), texts{});
    EXPECT_EQ(count("create U1"), 0U);
}

TEST_F(domain_rbd_neighbours, one_whose_definition_is_refused_once_fails_no_machine) {
    locked();
    neighbour(rbd_disk(sdb));
    settled_host();
    machine().fail_next("live_xml", {hypervisor::call_error::other, "internal error"});
    set("start");
    pass(5s);
    expect_refused("who on this node has its disks open could not be read: the definition of the VM", "start");
    pass(10s);
    EXPECT_EQ(broken(), texts{sda});
    EXPECT_TRUE(guest().executes());
    EXPECT_EQ(value(key("/failedreason")), "");
}

// After a power cut of a host: what a look costs does not grow with how many ask.
class domain_rbd_looks : public domain_rbd_neighbours {
protected:
    static constexpr int machines = 8;
    static constexpr int guests = 12;
    static uuid id_of(int number) {
        return *parse_any_uuid("0000" + std::to_string(1000 + number) + "-0000-4000-8000-000000000000");
    }
    static std::string image_of(int number) { return "vms/m" + std::to_string(number); }
    // Machines that are off, each with a stale lock on its image, and guests that run beside them.
    void prepare() {
        for (int at = 0; at < machines; ++at) {
            hardware.rbd.lock(image_of(at), "10.254.0.1:0/1");
            define("stop", "hv1", "", {{"/rbdlist", image_of(at)}}, id_of(at), "m" + std::to_string(at));
        }
        for (int at = machines; at < machines + guests; ++at) {
            const std::string name = "g" + std::to_string(at);
            hardware.centre.call_it(id_of(at), name);
            define("start", "hv1", "", {}, id_of(at), name);
            machine().put_running(id_of(at), name, xml(id_of(at), name));
        }
        settled_host();
        for (int at = machines; at < machines + guests; ++at) {
            looks_before_ += looks_at(at);
        }
    }
    void start_all() {
        for (int at = 0; at < machines; ++at) {
            ensemble.put(model::domain_path(to_text(id_of(at)), "/state"), "start");
        }
    }
    // Calls of libvirt for live definitions of guests that are not started here.
    [[nodiscard]] std::ptrdiff_t looks() {
        std::ptrdiff_t all = -looks_before_;
        for (int at = machines; at < machines + guests; ++at) {
            all += looks_at(at);
        }
        return all;
    }
    [[nodiscard]] int running_machines() {
        int all = 0;
        for (int at = 0; at < machines; ++at) {
            all += machine().guest(id_of(at)).executes() ? 1 : 0;
        }
        return all;
    }

private:
    [[nodiscard]] std::ptrdiff_t looks_at(int number) {
        return static_cast<std::ptrdiff_t>(machine().count("live_xml g" + std::to_string(number)));
    }
    std::ptrdiff_t looks_before_ = 0;
};

TEST_F(domain_rbd_looks, one_serves_all_that_asked_before_it) {
    prepare();
    machine().delay_always("live_xml", 300ms);
    start_all();
    pass(30s);
    EXPECT_EQ(running_machines(), machines);
    EXPECT_EQ(broken().size(), std::size_t{machines});
    // Three of them have a turn at a time: the first that asks has a look, all others the next one.
    EXPECT_EQ(looks(), 6 * guests);
}

// Whoever came while it was made is seen by the next: the second machine asks when the first one's look is under way.
TEST_F(domain_rbd_looks, one_that_began_before_the_question_is_no_answer) {
    prepare();
    machine().delay_always("live_xml", 300ms);
    const auto start_one = [&](int at) { ensemble.put(model::domain_path(to_text(id_of(at)), "/state"), "start"); };
    start_one(0);
    for (int tries = 0; looks() == 0 && tries < 1000; ++tries) {
        pass(10ms);
    }
    start_one(1);
    pass(30s);
    EXPECT_EQ(running_machines(), 2);
    EXPECT_EQ(looks(), 2 * guests);
}

// Who made it is called off in the middle: the next one makes another.
TEST_F(domain_rbd_looks, one_that_is_called_off_is_made_anew) {
    prepare();
    machine().delay_always("live_xml", 300ms);
    start_all();
    for (int tries = 0; looks() == 0 && tries < 1000; ++tries) {
        pass(10ms);
    }
    for (int at = 0; at < machines; at += 2) {
        ensemble.put(model::domain_path(to_text(id_of(at)), "/state"), "stop");
    }
    pass(40s);
    EXPECT_EQ(running_machines(), machines / 2);
    EXPECT_EQ(broken().size(), std::size_t{machines / 2});
}

// One that fails by the end of its maker's time says nothing to those that asked later.
TEST_F(domain_rbd_looks, all_of_them_start_once_libvirt_shows_its_guests_again) {
    prepare();
    machine().delay_always("live_xml", 60s);
    start_all();
    pass(12s);
    EXPECT_EQ(running_machines(), 0);
    EXPECT_EQ(broken(), texts{});
    machine().delay_always("live_xml", 1ms);
    pass(62s);
    EXPECT_EQ(running_machines(), machines);
}

// Two that share an image, of which neither ran: the one that is being created says that it shares it, too.
TEST_F(domain_rbd_neighbours, two_that_share_it_are_started_together) {
    const std::string disk =
        "<disk type='network'><source protocol='rbd' name='vms/web_sda'/><target dev='sdb'/><shareable/></disk>";
    hardware.rbd.lock(sda, "10.254.0.1:0/1");
    stopped(sda, xml(u1, "web", disk));
    define("stop", "hv1", "", {{"/rbdlist", sda}, {"/xml", xml(u2, "db", disk)}}, u2, "db");
    settled_host();
    machine().delay_always("create", 3s);
    set("start");
    pass(1s);
    ensemble.put(model::domain_path(to_text(u2), "/state"), "start");
    pass(20s);
    EXPECT_TRUE(guest().executes());
    EXPECT_TRUE(machine().guest(u2).executes());
    EXPECT_EQ(value(model::domain_path(to_text(u2), "/state")), "start");
}

TEST_F(domain_rbd_neighbours, what_the_kernel_or_a_program_has_mapped) {
    locked();
    settled_host();
    for (const char* path :
         {"/sys/devices/rbd", "/sys/devices/rbd/power", "/sys/devices/rbd/0", "/sys/devices/virtual/block",
          "/sys/devices/virtual/block/nbd0", "/sys/devices/virtual/block/nbd1", "/sys/devices/virtual/block/loop0"}) {
        folder(path);
    }
    const std::string map = "/sys/devices/rbd/0";
    files()[map + "/pool"] = "vms\n";
    files()[map + "/pool_ns"] = "\n";
    files()[map + "/name"] = "web_sda\n";
    files()[map + "/current_snap"] = "-\n";
    set("start");
    pass(20s);
    expect_refused("RBD image vms/web_sda is mapped on this node as /dev/rbd0");
    files()[map + "/current_snap"] = "daily\n";
    files()["/sys/devices/virtual/block/nbd1/pid"] = "4711\n";
    files()["/proc/4711/cmdline"] = std::string("rbd-nbd\0map\0vms/web_sda\0", 24);
    set("start");
    pass(20s);
    expect_refused("RBD image vms/web_sda is mapped on this node as /dev/nbd1");
    nodes.front().host.broken.insert_or_assign("/proc/4711/cmdline",
                                               failure(errc::io, "/proc/4711/cmdline", "I/O error"));
    set("start");
    pass(20s);
    expect_refused("who on this node has its disks open could not be read: /proc/4711/cmdline", "start");
    nodes.front().host.broken.clear();
    files().erase("/proc/4711/cmdline");  // what served it is gone
    pass(20s);
    EXPECT_EQ(broken(), texts{sda});
    EXPECT_TRUE(guest().executes());
}

TEST_F(domain_rbd, Ceph_hangs) {
    hardware.rbd.add_image(sda);
    hardware.rbd.hangs = true;
    stopped(sda);
    define("stop", "hv1", "", {}, u2, "db");
    settled_host();
    const auto from = loop.clock().now();
    set("start");
    ensemble.put(model::domain_path(to_text(u2), "/state"), "start");
    pass(1s);
    EXPECT_TRUE(machine().guest(u2).executes());
    pass(200s);
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/failedreason")), "RBD locks of vms/web_sda could not be read: no answer of Ceph in time");
    EXPECT_TRUE(nodes.front().logged("virtual machines wait to be started: 1 for Ceph")) << nodes.front().log();
    EXPECT_EQ(count("create U1"), 0U);
    EXPECT_EQ(running(), to_text(u2));
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.5);
    hardware.rbd.hangs = false;
    pass(62s);
    EXPECT_TRUE(machine().guest(u1).executes());
    EXPECT_EQ(value(key("/failedreason")), "");
}

}  // namespace
}  // namespace pvc::node
