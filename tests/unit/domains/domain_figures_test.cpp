// Statistics and accounting (vm-domains.md B.8: D98, D99; node-lifecycle.md AC32, AC33, AC41).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

using hypervisor::call_error;

class domain_figures : public effects_test {
protected:
    static std::string devices() {
        return "<disk type='network' device='disk'><source protocol='rbd' name='vms/web_sda'/><target "
               "dev='sda'/></disk>"
               "<disk type='file' device='cdrom'><target dev='sdb'/></disk>"
               "<interface type='bridge'><source bridge='vmbr100'/><target dev='vnet0'/></interface>"
               "<interface type='bridge'><source bridge='vmbr200'/><target dev='vnet1'/></interface>"
               "<interface type='direct'><source dev='ens1'/><target dev='macvtap0'/></interface>";
    }
    void give_figures() {
        auto& figures = guest().figures;
        figures.blocks = {
            {.target = "sda", .read_requests = 10, .read_bytes = 40960, .write_requests = 3, .write_bytes = 12288},
            {.target = "sdb"}};
        figures.interfaces = {{.target = "vnet0", .received_bytes = 1, .sent_bytes = 2},
                              {.target = "vnet1", .received_bytes = 3, .sent_bytes = 4},
                              {.target = "macvtap0", .received_bytes = 5}};
        figures.maximum_memory_kib = 2097152;
        figures.memory_kib = 2097152;
        figures.vcpus = 2;
        figures.cpu_time_ns = 48772617035;
        figures.cpu_user_ns = 5540000000;
        figures.cpu_system_ns = 6460000000;
        figures.memory = {{"actual", 2097152}, {"rss", 1048576}};
    }
    [[nodiscard]] std::string stats() const { return value(key("/stats")); }
    // Its XML with a memory size; running ones have it in libvirt too.
    void put(const uuid& id, const std::string& name, int mib, unsigned vcpus, bool runs) {
        std::string text = xml(id, name);
        text.replace(text.find(">64<") + 1, 2, std::to_string(mib));
        define(runs ? "start" : "stop", "hv1", "", {{"/xml", text}}, id, name);
        if (runs) {
            auto& one = machine().put_running(id, name, text);
            one.figures.maximum_memory_kib = one.figures.memory_kib = static_cast<std::uint64_t>(mib) * 1024;
            one.figures.vcpus = vcpus;
        }
    }
    [[nodiscard]] std::string own(const std::string& suffix) const { return value("/nodes/hv1/" + suffix); }
};

TEST_F(domain_figures, what_is_read_of_machines_leaves_time_for_the_figures_of_the_node) {
    auto& node = add_running_host();
    pass(11s);
    for (int i = 0; i < 40; ++i) {
        const std::string name = "m" + std::to_string(i);
        put(*parse_uuid(fmt::format("000000{:02}-aaaa-4bbb-8ccc-000000000009", i)), name, 64, 1, false);
    }
    node.connector.link().latency = 200ms;
    node.host.meminfo_text = "MemTotal: 16384000 kB\nMemFree: 4096000 kB\nMemAvailable: 4096000 kB\n";
    pass(8s);
    EXPECT_EQ(own("memfree"), "4000");
    EXPECT_FALSE(node.logged("figures-unwritten")) << node.log();
    pass(60s);
    EXPECT_EQ(own("memprov"), std::to_string(40 * 64)) << "the rest of them was read in later ticks";
}

// What fails alike again and again is said once, and why libvirt cannot be reached from the beginning on.
TEST_F(domain_figures, trouble_with_libvirt_is_said_once) {
    machine().kill_libvirtd();
    auto& node = add_host();
    node.start();
    pass(4s);
    EXPECT_EQ(node.times_logged("libvirt cannot be reached: "), 1U) << node.log();
    machine().fail_always("list", {call_error::other, "too many files are open"});
    machine().start_libvirtd();
    ASSERT_FALSE(node.is_running()) << "a node that peers cannot use does not run";
    node.start();
    pass(12s);
    EXPECT_EQ(node.times_logged("listing the virtual machines of this host: too many files are open, trying again"), 1U)
        << node.log();
    machine().clear_faults();
    ASSERT_TRUE(node.run_until_ready()) << node.log();
}

TEST_F(domain_figures, D98_AC41_statistics) {
    define("start", "hv1");
    machine().put_running(u1, "web", xml(u1, "web", devices()));
    give_figures();
    add_running_host();
    pass(11s);
    EXPECT_EQ(
        stats(),
        R"({"state": "RUNNING", "maxmem": 2097152, "livemem": 2097152, "cpus": 2, "cputime": 48772617035, )"
        R"("mem_stats": {"actual": 2097152, "rss": 1048576}, )"
        R"("cpu_stats": {"cpu_time": 48772617035, "user_time": 5540000000, "system_time": 6460000000}, )"
        R"("disk_stats": [{"name": "vms/web_sda", "rd_req": 10, "rd_bytes": 40960, "wr_req": 3, "wr_bytes": 12288, "err": -1}], )"
        R"("net_stats": [{"name": "vnet0", "bridge": "vmbr100", "rd_bytes": 1, "rd_packets": 0, "rd_errors": 0, "rd_drops": 0, )"
        R"("wr_bytes": 2, "wr_packets": 0, "wr_errors": 0, "wr_drops": 0}, )"
        R"({"name": "vnet1", "bridge": "vmbr200", "rd_bytes": 3, "rd_packets": 0, "rd_errors": 0, "rd_drops": 0, )"
        R"("wr_bytes": 4, "wr_packets": 0, "wr_errors": 0, "wr_drops": 0}]})");
    // Each tick.
    const auto before = values_written(key("/stats")).size();
    pass(20s);
    EXPECT_EQ(values_written(key("/stats")).size() - before, 4U);
}

TEST_F(domain_figures, a_device_that_was_attached) {
    define("start", "hv1");
    machine().put_running(u1, "web", xml(u1));
    give_figures();
    add_running_host();
    pass(11s);
    EXPECT_NE(stats().find("\"disk_stats\": []"), std::string::npos) << stats();
    guest().live_xml_override = xml(u1, "web", devices());
    guest().change_devices();
    pass(6s);
    EXPECT_NE(stats().find("vms/web_sda"), std::string::npos);
}

TEST_F(domain_figures, D99_a_paused_guest) {
    define_running();
    settled_host();
    pass(10s);
    guest().suspend();
    pass(1s);
    const auto before = values_written(key("/stats")).size();
    EXPECT_GT(before, 1U);
    pass(30s);
    EXPECT_EQ(values_written(key("/stats")).size(), before);
    EXPECT_EQ(own("domainscount"), "1");
    guest().resume();
    pass(6s);
    EXPECT_GT(values_written(key("/stats")).size(), before);
}

// Counters that are not known for a moment are not shown as zero.
TEST_F(domain_figures, a_guest_whose_job_is_busy) {
    define_running();
    settled_host();
    pass(10s);
    const auto before = values_written(key("/stats")).size();
    guest().figures.is_partial = true;
    pass(20s);
    EXPECT_LE(values_written(key("/stats")).size(), before + 1);
    EXPECT_EQ(own("domainscount"), "1");
    guest().figures.is_partial = false;
    pass(10s);
    EXPECT_GT(values_written(key("/stats")).size(), before + 1);
}

TEST_F(domain_figures, no_statistics_below_a_domain_that_is_deleted) {
    define_running("delete");
    guest().fail_always("destroy", refusal(call_error::other, "busy"));
    settled_host();
    pass(20s);
    EXPECT_TRUE(guest().executes());
    EXPECT_EQ(stats(), "");
    EXPECT_EQ(value(key("/consolelog")), "");
}

TEST_F(domain_figures, one_that_is_removed_does_not_stop_the_others) {
    define("start", "hv1", "", {}, u2, "db");
    define_running();
    settled_host();
    pass(10s);
    ensemble.remove_tree(key());
    const auto before = values_written(model::domain_path(to_text(u2), "/stats")).size();
    pass(30s);
    EXPECT_GE(values_written(model::domain_path(to_text(u2), "/stats")).size() - before, 5U);
    EXPECT_FALSE(ensemble.exists(key()));
}

TEST_F(domain_figures, AC32_accounting) {
    const uuid u3 = numbered(3);
    put(u1, "web", 1024, 2, true);
    put(u2, "db", 2048, 4, true);
    define("stop", "hv1", "", {}, u3, "off");
    ensemble.put(model::domain_path(to_text(u3), "/xml"), [&] {
        std::string text = xml(u3, "off");
        return text.replace(text.find(">64<") + 1, 2, "512");
    }());
    add_running_host();
    pass(11s);
    EXPECT_EQ(own("memalloc"), "3072");
    EXPECT_EQ(own("memprov"), "3584");
    EXPECT_EQ(own("vcpualloc"), "6");
    EXPECT_EQ(own("domainscount"), "2");
    EXPECT_EQ(own("runningdomains"), to_text(u1) + " " + to_text(u2));
    // A stored definition that changes, and one that ends.
    ensemble.put(model::domain_path(to_text(u3), "/xml"), [&] {
        std::string text = xml(u3, "off");
        return text.replace(text.find(">64<") + 1, 2, "600");
    }());
    ensemble.put(key("/state"), "stop");
    pass(25s);
    EXPECT_EQ(own("memalloc"), "2048");
    EXPECT_EQ(own("memprov"), "3672");  // 2048 + 600 + 1024
    EXPECT_EQ(own("vcpualloc"), "4");
    EXPECT_EQ(own("domainscount"), "1");
    EXPECT_EQ(own("runningdomains"), to_text(u2));
}

TEST_F(domain_figures, AC33_libvirt_is_away_from_the_first_tick) {
    define_running();
    add_host();
    hv1().start();
    // It answers the daemon's question at the start and is gone by the first tick.
    ASSERT_TRUE(run_until([&] { return hv1().logged("libvirt answers"); }));
    machine().kill_libvirtd();
    const auto from = loop.clock().now();
    pass(60s);
    const auto gaps = beat_gaps("hv1", from);
    EXPECT_GE(gaps.size(), 5U);
    EXPECT_LT(gaps.front(), 5.1);
    EXPECT_EQ(stats(), "");
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(hv1().times_logged("figures are not published"), 1U);
}

// Declared dead while the figures wait for a libvirtd that stands still: the objection does not wait with them, and
// takes no tick's place.
TEST_F(domain_figures, AC35_declared_dead_while_libvirt_hangs) {
    define_running();
    settled_host();
    machine().stop_libvirtd();
    const auto from = loop.clock().now();
    const auto beats = [&] { return times("/nodes/hv1/keepalive", from).size(); };
    ASSERT_TRUE(run_until([&] { return beats() == 1; }));
    pass(100ms);
    ensemble.put("/nodes/hv1/daemonstate", "dead");
    pass(100ms);
    EXPECT_EQ(own("daemonstate"), "run");
    EXPECT_EQ(beats(), 2U);
    pass(30s);
    EXPECT_EQ(beats(), 8U);
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
}

TEST_F(domain_figures, AC33_the_figures_stay_while_libvirt_is_away) {
    put(u1, "web", 1024, 2, true);
    settled_host();
    pass(10s);
    EXPECT_EQ(own("memalloc"), "1024");
    machine().kill_libvirtd();
    pass(1s);
    const auto from = loop.clock().now();
    const auto written = values_written(key("/stats")).size();
    const auto allocated = times("/nodes/hv1/memalloc", from).size();
    pass(60s);
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
    EXPECT_EQ(values_written(key("/stats")).size(), written);
    EXPECT_EQ(times("/nodes/hv1/memalloc", from).size(), allocated);
    EXPECT_EQ(own("memalloc"), "1024");
    EXPECT_EQ(running(), to_text(u1));
    EXPECT_EQ(hv1().times_logged("figures are not published"), 1U);
    machine().start_libvirtd();
    pass(15s);
    EXPECT_GT(values_written(key("/stats")).size(), written);
}

}  // namespace
}  // namespace pvc::node
