// Files below /proc/sys that a simulated node reads with a look at its network: look_bench [NETWORKS]
//
// Counts, the same in every run: with a look that somebody's route causes, with one after which the setting of one
// bridge is another one, and with the round each minute in which all are read.
#include "sim/sim_node.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace {

using namespace pvc;
using namespace std::chrono_literals;

void put_network(sim::memory_ensemble& ensemble, int number) {
    const auto path = fmt::format("/networks/{}", 1000 + number);
    const auto part = fmt::format("{}.{}", 10 + number / 250, number % 250);
    ensemble.put({{path, "net"},
                  {path + "/nettype", "managed"},
                  {path + "/mtu", ""},
                  {path + "/domain", "test.local"},
                  {path + "/name_servers", ""},
                  {path + "/ip4_network", fmt::format("10.{}.0/24", part)},
                  {path + "/ip4_gateway", fmt::format("10.{}.1", part)},
                  {path + "/ip6_network", fmt::format("fd00:{}::/64", number)},
                  {path + "/ip6_gateway", fmt::format("fd00:{}::1", number)},
                  {path + "/dhcp4_flag", "False"},
                  {path + "/dhcp6_flag", "False"}});
}

int measure(int networks) {
    sim::sim_loop loop;
    sim::memory_ensemble ensemble(loop.clock());
    sim::initialise(ensemble, 10);
    sim::node_settings settings;
    settings.coordinators = {"hv1"};
    settings.networking = true;
    sim::sim_node node(loop, ensemble, settings);
    node.start();
    if (!node.run_until_ready()) {
        fmt::print("the node did not become ready\n{}\n", node.log());
        return 1;
    }
    for (int number = 0; number < networks; ++number) {
        put_network(ensemble, number);
    }
    const auto last = fmt::format("vxlan{}", 1000 + networks - 1);
    for (int seconds = 0; seconds < 300 && networks > 0 && !node.kernel.has_device(last); ++seconds) {
        loop.run_for(1s);
    }
    loop.run_for(150s);
    const auto read_by = [&](const std::string& what, duration time, const std::function<void()>& act) {
        const auto reads = node.network.settings_read();
        const auto looks = node.network.looks;
        act();
        loop.run_for(time);
        fmt::print("{}: {} files, {} looks\n", what, node.network.settings_read() - reads, node.network.looks - looks);
    };
    // Right behind a round, so that the next one is far.
    for (auto reads = node.network.settings_read(); node.network.settings_read() < reads + 10;) {
        loop.run_for(100ms);
    }
    loop.run_for(1s);
    read_by(fmt::format("a route beside {} networks", networks), 1s,
            [&] { node.kernel.add_route("ens4", {.is = {.to = *parse_host_address("172.16.1.0/24")}}); });
    read_by("forwarding of one bridge", 1s, [&] {
        ignore(node.kernel.apply(model::set_sysctl{"net/ipv6/conf/vmbr1000/forwarding", "0"}), "it is there");
    });
    read_by("a minute in which nothing happens", 60s, [] {});
    return 0;
}

}  // namespace

int main(int count, char** words) {
    boost::asio::io_context context;
    int status = 1;
    boost::asio::post(context, [&] { status = measure(count > 1 ? std::max(0, std::atoi(words[1])) : 500); });
    context.run();
    return status;
}
