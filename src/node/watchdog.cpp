#include "pvcnoded/node/watchdog.hpp"

namespace pvc::node {

using namespace std::chrono_literals;

namespace {
constexpr duration ping_every = 10s;
}

async::awaitable<void> feed_watchdog(core::platform& port, std::function<std::uint64_t()> loop_turns,
                                     std::function<bool()> is_stuck) {
    std::uint64_t turns = loop_turns ? loop_turns() : 0;
    for (;;) {
        co_await async::sleep_for(port.clock, ping_every, "the next watchdog ping");
        const std::uint64_t now = loop_turns ? loop_turns() : turns + 1;
        if (now != turns && !is_stuck()) {
            port.notifier.send("WATCHDOG=1");
        }
        turns = now;
    }
}

}  // namespace pvc::node
