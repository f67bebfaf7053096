// The steady tick of one simulated node: tick_bench [HOURS]
//
// Prints what a tick costs, the in-memory ensemble included. Under count_allocations.so (see allocations.py) the counts
// of one hour lie in its board, with the call stacks of the first ten ticks of it.
#include "sim/sim_node.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace pvc;
using namespace std::chrono_literals;

double processor_seconds() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

void record(bool on) {
    // Of the preloaded counter, if there is one.
    static const auto switch_stacks = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "bench_record_stacks"));
    if (switch_stacks != nullptr) {
        switch_stacks(on ? 1 : 0);
    }
}

int measure(int hours) {
    sim::sim_loop loop;
    sim::memory_ensemble ensemble(loop.clock());
    sim::initialise(ensemble, 10);
    sim::node_settings settings;
    settings.coordinators = {"hv1"};
    settings.log_keepalives = false;
    sim::sim_node node(loop, ensemble, settings);
    node.start();
    if (!node.run_until_ready()) {
        fmt::print("the node did not become ready\n{}\n", node.log());
        return 1;
    }
    const auto interval = std::chrono::seconds(settings.keepalive_interval);
    loop.run_for(60s);
    record(true);
    loop.run_for(10 * interval);
    record(false);
    const double before = processor_seconds();
    loop.run_for(std::chrono::hours(hours));
    const double used = processor_seconds() - before;
    const auto ticks = std::chrono::hours(hours) / interval;
    fmt::print("simulated node-hours per real second: {:.1f}\n", hours / used);
    fmt::print("microseconds a simulated tick: {:.1f}\n", used / static_cast<double>(ticks) * 1e6);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    // Inside a handler of an io_context, so that Asio recycles the memory of coroutines as it does in the daemon.
    boost::asio::io_context context;
    int status = 1;
    boost::asio::post(context, [&] { status = measure(count > 1 ? std::max(1, std::atoi(words[1])) : 10); });
    context.run();
    return status;
}
