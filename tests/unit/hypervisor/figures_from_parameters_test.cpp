#include "pvcnoded/hypervisor/figures_from_parameters.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pvc::hypervisor {
namespace {

using std::uint64_t;

parameter natural(std::string name, uint64_t value) {
    return {std::move(name), value};
}
parameter text(std::string name, std::string value) {
    return {std::move(name), std::move(value)};
}
guest_figures read(std::vector<parameter> list) {
    guest of;
    of.name = "web";
    return figures_from_parameters(of, list);
}

TEST(figures_from_parameters, a_whole_guest) {
    const auto out = read({{"state.state", std::int64_t{1}},    {"state.reason", std::int64_t{1}},
                           natural("cpu.time", 48772617035),    natural("cpu.user", 5540000000),
                           natural("cpu.system", 6460000000),   natural("balloon.current", 2097152),
                           natural("balloon.maximum", 4194304), natural("balloon.last-update", 1700000000),
                           natural("balloon.swap_in", 0),       natural("balloon.hugetlb_pgalloc", 7),
                           natural("balloon.rss", 1048576),     natural("vcpu.current", 2),
                           natural("vcpu.0.time", 5),           natural("net.count", 1),
                           text("net.0.name", "vnet0"),         natural("net.0.rx.bytes", 1),
                           natural("net.0.rx.pkts", 2),         natural("net.0.rx.errs", 3),
                           natural("net.0.rx.drop", 4),         natural("net.0.tx.bytes", 5),
                           natural("net.0.tx.pkts", 6),         natural("net.0.tx.errs", 7),
                           natural("net.0.tx.drop", 8),         natural("block.count", 2),
                           text("block.0.name", "sda"),         natural("block.0.rd.reqs", 10),
                           natural("block.0.rd.bytes", 40960),  natural("block.0.rd.times", 99),
                           natural("block.0.wr.reqs", 3),       natural("block.0.wr.bytes", 12288),
                           text("block.1.name", "sdb")});
    EXPECT_EQ(out.of.name, "web");
    EXPECT_EQ(out.of.status.state, model::run_state::running);
    EXPECT_EQ(out.maximum_memory_kib, 4194304U);
    EXPECT_EQ(out.memory_kib, 2097152U);
    EXPECT_EQ(out.vcpus, 2U);
    EXPECT_EQ(out.cpu_time_ns, 48772617035U);
    EXPECT_EQ(out.cpu_user_ns, 5540000000U);
    EXPECT_EQ(out.cpu_system_ns, 6460000000U);
    EXPECT_FALSE(out.vcpu_time_ns);
    const std::vector<std::pair<std::string, uint64_t>> memory{
        {"actual", 2097152}, {"swap_in", 0}, {"last_update", 1700000000}, {"hugetlb_pgalloc", 7}, {"rss", 1048576}};
    EXPECT_EQ(out.memory, memory);
    ASSERT_EQ(out.interfaces.size(), 1U);
    const auto& nic = out.interfaces[0];
    EXPECT_EQ(nic.target, "vnet0");
    const std::vector<uint64_t> counters{nic.received_bytes, nic.received_packets, nic.received_errors,
                                         nic.received_drops, nic.sent_bytes,       nic.sent_packets,
                                         nic.sent_errors,    nic.sent_drops};
    EXPECT_EQ(counters, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    ASSERT_EQ(out.blocks.size(), 2U);
    EXPECT_EQ(out.blocks[0].target, "sda");
    EXPECT_EQ(out.blocks[0].read_requests, 10U);
    EXPECT_EQ(out.blocks[0].read_bytes, 40960U);
    EXPECT_EQ(out.blocks[0].write_requests, 3U);
    EXPECT_EQ(out.blocks[0].write_bytes, 12288U);
    EXPECT_EQ(out.blocks[0].errors, -1);
    EXPECT_EQ(out.blocks[1].target, "sdb");
}

// What QEMU's driver gives of a guest that somebody else is working on: names, and what it knows without asking.
TEST(figures_from_parameters, a_guest_whose_job_was_busy) {
    const std::vector<parameter> busy{
        {"state.state", std::int64_t{1}},  natural("cpu.time", 5),     natural("balloon.current", 65536),
        natural("balloon.maximum", 65536), natural("vcpu.current", 1), natural("block.count", 1),
        text("block.0.name", "sda"),       text("block.0.path", "/a"), natural("block.0.backingIndex", 1)};
    EXPECT_TRUE(read(busy).is_partial);
    auto with_memory = busy;
    with_memory.push_back(natural("balloon.rss", 5));
    EXPECT_FALSE(read(with_memory).is_partial);
    auto with_counters = busy;
    with_counters.push_back(natural("block.0.rd.reqs", 0));
    EXPECT_FALSE(read(with_counters).is_partial);
    EXPECT_FALSE(read({{"state.state", std::int64_t{1}}}).is_partial);
}

TEST(figures_from_parameters, nothing_gives_nothing) {
    const auto out = read({});
    EXPECT_EQ(out.of.status.state, model::run_state::none);
    EXPECT_TRUE(out.memory.empty());
    EXPECT_TRUE(out.blocks.empty());
    EXPECT_TRUE(out.interfaces.empty());
    EXPECT_FALSE(out.cpu_user_ns);
}

TEST(figures_from_parameters, what_makes_no_sense_is_passed_over) {
    const auto out = read({text("balloon.current", "many"),
                           {"cpu.time", std::int64_t{-1}},
                           natural("block..name", 1),
                           natural("block.4294967296.rd.reqs", 1),
                           text("block.7", "x"),
                           text("block.-1.name", "y"),
                           natural("block.3.name", 3),
                           natural("net.0.rx.bytes", 5),
                           natural("state.state", std::numeric_limits<uint64_t>::max()),
                           natural("vcpu.current", std::numeric_limits<uint64_t>::max())});
    EXPECT_EQ(out.memory_kib, 0U);
    EXPECT_EQ(out.cpu_time_ns, 0U);
    EXPECT_TRUE(out.blocks.empty());
    EXPECT_TRUE(out.interfaces.empty());  // without a name nobody can tell which it is
    EXPECT_EQ(out.of.status.state, model::run_state::none);
}

TEST(figures_from_parameters, devices_come_in_the_order_of_their_numbers) {
    const auto out =
        read({text("block.10.name", "sdc"), text("block.2.name", "sdb"), text("block.4294967295.name", "sdd"),
              text("block.0.name", "sda"), natural("block.2.errors", 4)});
    ASSERT_EQ(out.blocks.size(), 4U);
    EXPECT_EQ(out.blocks[0].target, "sda");
    EXPECT_EQ(out.blocks[1].target, "sdb");
    EXPECT_EQ(out.blocks[1].errors, 4);
    EXPECT_EQ(out.blocks[2].target, "sdc");
    EXPECT_EQ(out.blocks[3].target, "sdd");
}

}  // namespace
}  // namespace pvc::hypervisor
