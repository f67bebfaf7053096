// Virtual functions of network cards (networking.md 4): what a kernel without such a card allows. Messages go to the
// kernel of a network namespace, whose devices have no functions; a folder stands in place of /sys. What a driver does
// with settings takes a card, as the guest of the lab has one.
#include "contract/netlink/real_network.hpp"
#include "pvcnoded/netlink/adapter/kernel_functions.hpp"
#include "sim/network/sim_functions.hpp"

#include <sys/stat.h>

#include <filesystem>

namespace pvc::contract {
namespace {

using model::function_name;
using model::function_setting;

const std::vector<function_setting> all_settings{model::function_vlan{101, 3},      model::function_rate{0, 1000},
                                                 model::function_spoof_check{true}, model::function_link::enable,
                                                 model::function_trust{true},       model::function_query_rss{true}};

// In place of modprobe.
class told_programs final : public async::process_runner {
public:
    awaitable<result<async::process_outcome>> run(async::command what, async::process_limits /*limits*/) override {
        asked.push_back(what.arguments);
        if (on_run) {
            on_run();
        }
        async::process_outcome outcome;
        outcome.how = async::exited{code};
        outcome.error_output = code == 0 ? "" : "modprobe: FATAL: Module not found\n";
        co_return outcome;
    }
    std::vector<std::vector<std::string>> asked;
    std::function<void()> on_run;
    int code = 1;
};

class kernel_functions_test : public network_suite<real_network> {
protected:
    template <class T>
    static errc code_of(const result<T>& outcome) {
        EXPECT_FALSE(outcome);
        return outcome ? errc::unspecified : outcome.error().code();
    }
    void folder(const std::string& path) const { std::filesystem::create_directories(sys / path); }

    scratch_folder sys;
    told_programs programs;
    async::thread_offload pool{bench.loop().context()};
    netlink::kernel_functions functions{bench.clock(), pool, programs, sys.path()};
};

TEST_F(kernel_functions_test, how_many_there_are_is_a_file) {
    bench.run([this]() -> awaitable<void> {
        folder("class/net/ens8/device");
        folder("class/net/ens9");
        sys.write("class/net/ens8/device/sriov_numvfs", "4\n");
        const auto count = co_await functions.count("ens8", soon());
        EXPECT_TRUE(count && *count == 4);
        const auto made = co_await functions.make("ens8", 8, soon());
        EXPECT_TRUE(made);
        EXPECT_TRUE(sys.read("class/net/ens8/device/sriov_numvfs").starts_with("8"));
        for (const auto* card : {"ens9", "ens10", "", "..", "../ens8", "a/b"}) {
            const auto none = co_await functions.count(card, soon());
            EXPECT_EQ(code_of(none), errc::not_found) << card;
            const auto unmade = co_await functions.make(card, 8, soon());
            EXPECT_EQ(code_of(unmade), errc::not_found) << card;
        }
        sys.write("class/net/ens8/device/sriov_numvfs", "many\n");
        const auto garbage = co_await functions.count("ens8", soon());
        EXPECT_EQ(code_of(garbage), errc::io);
    });
}

TEST_F(kernel_functions_test, a_look_at_a_device_that_has_none) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        const auto index = (co_await link("eth0"))->index;
        const auto seen = co_await functions.look("eth0", soon());
        ASSERT_CO_TRUE(seen);
        EXPECT_EQ(*seen, (model::physical_function{index, "eth0", 1500, {}}));
        for (const auto* card : {"eth9", "", "..", "a/b", "much_too_long_a_name"}) {
            const auto none = co_await functions.look(card, soon());
            EXPECT_EQ(code_of(none), errc::not_found) << card;
        }
    });
}

TEST_F(kernel_functions_test, a_driver_without_functions_has_none_of_the_settings) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        for (const auto& one : all_settings) {
            const auto done = co_await functions.set({"eth0", 0}, one, soon());
            EXPECT_EQ(code_of(done), errc::invalid) << model::to_text(one) << ": " << done.error().text();
            const auto none = co_await functions.set({"eth9", 0}, one, soon());
            EXPECT_EQ(code_of(none), errc::not_found) << model::to_text(one);
        }
    });
}

TEST_F(kernel_functions_test, the_size_of_a_functions_link) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth1");
        folder("class/net/ens8/device/virtfn0/net/eth1");
        folder("class/net/ens8/device/virtfn1/net");
        folder("class/net/ens8/device/virtfn2/net/eth9");
        const auto done = co_await functions.set_mtu({"ens8", 0}, 1400, soon());
        EXPECT_TRUE(done);
        EXPECT_EQ((co_await link("eth1"))->mtu, 1400);
        const auto again = co_await functions.set_mtu({"ens8", 0}, 1400, soon());
        EXPECT_TRUE(again);
        for (const int index : {1, 2, 3}) {
            const auto none = co_await functions.set_mtu({"ens8", index}, 1400, soon());
            EXPECT_EQ(code_of(none), errc::not_found) << index;
        }
        const auto refused = co_await functions.set_mtu({"ens8", 0}, 1, soon());
        EXPECT_EQ(code_of(refused), errc::refused);
    });
}

TEST_F(kernel_functions_test, the_module) {
    bench.run([this]() -> awaitable<void> {
        const std::string folder_of_it = "module/vfio_iommu_type1/parameters";
        const auto missing = co_await functions.allow_unsafe_interrupts(soon());
        EXPECT_EQ(code_of(missing), errc::refused);
        EXPECT_NE(missing.error().text().find("Module not found"), std::string::npos) << missing.error().text();
        EXPECT_EQ(programs.asked.back(),
                  (std::vector<std::string>{"modprobe", "vfio_iommu_type1", "allow_unsafe_interrupts=1"}));
        programs.code = 0;
        programs.on_run = [&] {
            folder(folder_of_it);
            sys.write(folder_of_it + "/allow_unsafe_interrupts", "N\n");
        };
        const auto loaded = co_await functions.allow_unsafe_interrupts(soon());
        EXPECT_TRUE(loaded);
        EXPECT_TRUE(sys.read(folder_of_it + "/allow_unsafe_interrupts").starts_with("Y"));
        const auto again = co_await functions.allow_unsafe_interrupts(soon());
        EXPECT_TRUE(again);
        EXPECT_EQ(programs.asked.size(), 2U) << "it is there";
    });
}

TEST_F(kernel_functions_test, a_driver_that_does_not_come_back_takes_one_thread_and_no_more) {
    bench.run([this]() -> awaitable<void> {
        folder("class/net/ens8/device");
        const auto file = sys / "class/net/ens8/device/sriov_numvfs";
        const bool is_made = ::mkfifo(file.c_str(), 0600) == 0;
        ASSERT_CO_TRUE(is_made);
        const auto late = co_await functions.count("ens8", bench.clock().now() + 50ms);
        EXPECT_EQ(code_of(late), errc::timed_out);
        for (int times = 0; times < 20; ++times) {
            const auto refused = co_await functions.look("eth0", bench.clock().now() + 50ms);
            EXPECT_EQ(code_of(refused), errc::unavailable);
        }
        std::ofstream(file) << "3\n";  // it comes back
        auto code = errc::unavailable;
        for (int times = 0; times < 200 && code == errc::unavailable; ++times) {
            co_await async::sleep_for(bench.clock(), 100ms, "the thread");
            code = code_of(co_await functions.look("eth9", soon()));
        }
        EXPECT_EQ(code, errc::not_found);
    });
}

TEST(simulated_functions, as_the_port_promises) {
    sim_world world;
    sim::sim_kernel machine{{{.name = "ens8"}, {.name = "eth0"}}};
    sim::sim_functions functions(machine, world.clock());
    functions.add_card("ens8");
    world.run([&]() -> awaitable<void> {
        const auto soon = world.clock().now() + 20s;
        const auto none = co_await functions.count("eth0", soon);
        EXPECT_TRUE(!none && none.error().code() == errc::not_found);
        const auto made = co_await functions.make("ens8", 2, soon);
        EXPECT_TRUE(made);
        const auto busy = co_await functions.make("ens8", 4, soon);
        EXPECT_TRUE(!busy && busy.error().code() == errc::refused);
        for (const auto& one : all_settings) {
            const auto done = co_await functions.set({"ens8", 1}, one, soon);
            EXPECT_TRUE(done) << model::to_text(one);
            const auto no_card = co_await functions.set({"ens9", 1}, one, soon);
            EXPECT_TRUE(!no_card && no_card.error().code() == errc::not_found);
            const auto no_function = co_await functions.set({"ens8", 2}, one, soon);
            EXPECT_TRUE(!no_function && no_function.error().code() == errc::refused);
        }
        const auto seen = co_await functions.look("ens8", soon);
        ASSERT_CO_TRUE(seen && seen->functions.size() == 2);
        EXPECT_EQ(seen->functions[1].vlan, (model::function_vlan{101, 3}));
        EXPECT_EQ(seen->functions[1].link_state, model::function_link::enable);
        EXPECT_EQ(seen->functions[0].vlan, model::function_vlan());
        const auto plain = co_await functions.look("eth0", soon);
        EXPECT_TRUE(plain && plain->functions.empty());
        machine.remove_device("ens8");
        const auto gone = co_await functions.look("ens8", soon);
        EXPECT_TRUE(!gone && gone.error().code() == errc::not_found);
        machine.add_device("ens8");
        const auto anew = co_await functions.look("ens8", soon);
        EXPECT_TRUE(anew && anew->functions.empty() && anew->link != seen->link);
    });
}

}  // namespace
}  // namespace pvc::contract
