// Client networks of a node, made in the kernel: network_bench [NETWORKS [ROUTES]]
//
// Makes that many client networks (bridge, three settings of it, VXLAN, a port of the bridge, MTU and up of both, no
// checksums of sent packets) in a network namespace of its own, through the adapter, one change after the other; beside
// it `ip -batch` makes the same in another namespace. Then looks at all of it, again and again.
//
// ROUTES: so many of somebody else are there for the looks, as where a routing daemon keeps those of a whole network.
//
// Prints for each its time, the daemon's processor time and that of a look; the ratio is what compares machines.
#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/netlink/adapter/kernel_addresses.hpp"
#include "pvcnoded/netlink/adapter/kernel_stack.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace pvc;
using namespace std::chrono_literals;

constexpr int looks = 20;

double seconds(duration time) {
    return std::chrono::duration<double>(time).count();
}

// Of this program, with what the kernel does for it, and without programs that it starts.
double processor_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto part = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return part(used.ru_utime) + part(used.ru_stime);
}

void must(bool is_so, const std::string& what) {
    if (!is_so) {
        throw std::runtime_error(what);
    }
}

// What follows from the links that come (events, garbage) is left to the namespace that goes.
void enter_namespace() {
    must(::unshare(CLONE_NEWNET) == 0, "no network namespace");
    must(std::system("ip link add eth0 type veth peer name peer0 && ip link set eth0 mtu 9000 up") == 0, "ip");
}

std::vector<model::network_change> changes_of(int number) {
    const std::string bridge = fmt::format("vmbr{}", number);
    const std::string base = fmt::format("vxlan{}", number);
    return {model::make_bridge{bridge},
            model::set_sysctl{"net/ipv6/conf/" + bridge + "/accept_dad", "0"},
            model::set_sysctl{"net/ipv6/conf/" + bridge + "/accept_ra", "0"},
            model::set_sysctl{"net/ipv6/conf/" + bridge + "/autoconf", "0"},
            model::make_vxlan{base, "eth0", static_cast<std::uint32_t>(number)},
            model::set_master{base, bridge},
            model::set_mtu{base, 8950},
            model::set_up{base},
            model::set_mtu{bridge, 8950},
            model::set_up{bridge},
            model::tx_checksum_off{bridge}};
}

// The same without what iproute2 has no word for; the settings are written by the shell that follows.
void write_batch(const std::string& path, int networks) {
    std::ofstream batch(path);
    for (int number = 1; number <= networks; ++number) {
        batch << fmt::format(
            "link add vmbr{0} type bridge\n"
            "link add vxlan{0} type vxlan id {0} dev eth0 dstport 4789\n"
            "link set vxlan{0} master vmbr{0}\n"
            "link set vxlan{0} mtu 8950 up\n"
            "link set vmbr{0} mtu 8950 up\n",
            number);
    }
}

double by_iproute2(int networks) {
    enter_namespace();
    std::string path = "/tmp/network_bench_XXXXXX";
    must(::mkdtemp(path.data()) != nullptr, "no folder");
    write_batch(path + "/batch", networks);
    const auto begin = std::chrono::steady_clock::now();
    must(std::system(("ip -batch " + path + "/batch").c_str()) == 0, "ip -batch");
    const auto time = std::chrono::steady_clock::now() - begin;
    must(std::system(("rm -r " + path).c_str()) == 0, "rm");
    return seconds(time);
}

// Of IPv4, over one link by one gateway.
void add_routes(int number) {
    const std::string words = fmt::format(
        "ip address add 10.0.0.1/24 dev eth0 && ip link set peer0 up && seq 0 {} | awk '{{ printf \"route add "
        "%d.%d.%d.0/24 via 10.0.0.254\\n\", 20 + $1 / 65536, $1 / 256 % 256, $1 % 256 }}' | ip -batch -",
        number - 1);
    must(number == 0 || std::system(words.c_str()) == 0, "routes");
}

struct made {
    double time = 0;
    double processor = 0;
    double look_time = 0;
    double look_processor = 0;
    std::size_t links = 0;
    double one_by_one = 0;  // gateways, two for each network
    double at_once = 0;
};

std::vector<netlink::address_place> gateways_of(int networks) {
    std::vector<netlink::address_place> all;
    for (int number = 1; number <= networks; ++number) {
        const std::string bridge = fmt::format("vmbr{}", number);
        all.push_back({bridge, *parse_host_address(fmt::format("fd00:{:x}::1/64", number))});
        all.push_back({bridge, *parse_host_address(fmt::format("10.{}.{}.1/24", number / 256, number % 256))});
    }
    return all;
}

// As the primary takes them up, and gives them up.
async::awaitable<void> take_gateways(async::real_loop& loop, int networks, made& found) {
    async::thread_offload pool(loop.context());
    netlink::kernel_addresses port(loop.clock(), pool);
    const auto all = gateways_of(networks);
    const auto soon = [&] { return loop.clock().now() + 60s; };
    const boot_time in_time = loop.clock().boot_now() + 60s;
    auto begin = loop.clock().now();
    for (const auto& one : all) {
        const auto added = co_await port.add(one.device, one.address, in_time, soon());
        must(added.has_value(), one.device);
    }
    found.one_by_one = seconds(loop.clock().now() - begin);
    for (const auto& one : all) {
        const auto removed = co_await port.remove(one.device, one.address, soon());
        must(removed.has_value(), one.device);
    }
    begin = loop.clock().now();
    const auto added = co_await port.add_all(all, in_time, soon());
    found.at_once = seconds(loop.clock().now() - begin);
    for (const auto& one : added) {
        must(one.has_value(), "gateways at once");
    }
}

async::awaitable<made> make_and_look(async::real_loop& loop, int networks, int routes) {
    async::thread_offload pool(loop.context());
    netlink::kernel_stack stack(loop.context().get_executor(), loop.clock(), pool);
    async::wakeup changed;
    const auto watch = stack.watch(changed);  // as the daemon has one
    made found;
    auto begin = loop.clock().now();
    double used = processor_seconds();
    for (int number = 1; number <= networks; ++number) {
        for (const auto& change : changes_of(number)) {
            const time_point deadline = loop.clock().now() + 60s;
            const auto applied = co_await stack.apply(change, deadline);
            must(applied.has_value(), model::to_text(change) + (applied ? "" : ": " + applied.error().text()));
        }
    }
    found.time = seconds(loop.clock().now() - begin);
    found.processor = processor_seconds() - used;
    add_routes(routes);
    co_await async::sleep_for(loop.clock(), 3s, "what the links do by themselves");
    begin = loop.clock().now();
    used = processor_seconds();
    for (int times = 0; times < looks; ++times) {
        const time_point deadline = loop.clock().now() + 60s;
        const auto seen = co_await stack.look(deadline);
        must(seen.has_value(), "a look" + (seen ? "" : ": " + seen.error().text()));
        found.links = seen->links().size();
    }
    found.look_time = seconds(loop.clock().now() - begin) / looks;
    found.look_processor = (processor_seconds() - used) / looks;
    co_await take_gateways(loop, networks, found);
    co_return found;
}

made by_adapter(int networks, int routes) {
    enter_namespace();
    async::real_loop loop;
    made found;
    loop.run("bench", [&]() -> async::awaitable<void> { found = co_await make_and_look(loop, networks, routes); });
    return found;
}

}  // namespace

int main(int count, char** arguments) {
    const int networks = count > 1 ? std::atoi(arguments[1]) : 200;
    const double reference = by_iproute2(networks);
    const made ours = by_adapter(networks, count > 2 ? std::atoi(arguments[2]) : 0);
    fmt::print("networks {}: ip -batch {:.3f} s, adapter {:.3f} s (processor {:.3f} s), ratio {:.2f}\n", networks,
               reference, ours.time, ours.processor, ours.time / reference);
    fmt::print("one look at {} links: {:.2f} ms, processor {:.2f} ms\n", ours.links, ours.look_time * 1000,
               ours.look_processor * 1000);
    fmt::print("{} gateways: one by one {:.1f} ms, at once {:.1f} ms\n", 2 * networks, ours.one_by_one * 1000,
               ours.at_once * 1000);
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    fmt::print("memory at the most: {:.1f} MB\n", static_cast<double>(used.ru_maxrss) / 1024);
    return 0;
}
