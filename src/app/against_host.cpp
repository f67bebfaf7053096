#include "against_host.hpp"

#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/netlink/adapter/kernel_stack.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <optional>

namespace pvc::app {

using namespace std::chrono_literals;

namespace {

std::vector<model::set_sysctl> settings_to_set(const config::node_config& config, const netlink::kernel_stack& stack) {
    return policy::sysctls_to_set(policy::sysctl_settings(policy::core_devices_of(config)),
                                  [&](const std::string& key) -> std::optional<std::string> {
                                      auto read = stack.sysctl(key);
                                      return read ? std::optional(*std::move(read)) : std::nullopt;
                                  });
}

}  // namespace

result<host_comparison> compare_with_host(const config::node_config& config) {
    host_comparison out;
    if (!config.functions.networking) {
        out.lines.emplace_back("enable_networking is False: nothing would be changed");
        return out;
    }
    async::real_loop loop;
    async::thread_offload pool(loop.context());
    netlink::kernel_stack stack(loop.context().get_executor(), loop.clock(), pool);
    result<model::network_state> seen = failure(errc::unavailable, "links");
    loop.run("look", [&]() -> async::awaitable<void> {
        const time_point until = loop.clock().now() + 10s;
        seen = co_await stack.look(until);
    });
    if (!seen) {
        return std::move(seen).error().during("looking at the links of this host");
    }
    const auto plan = policy::plan_host(config, *seen);
    for (const auto& remark : plan.remarks) {
        out.warnings.push_back(remark.text);
        out.is_possible = out.is_possible && !remark.is_error;
    }
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            out.lines.push_back(unit.what + ": would " + model::to_text(step));
        }
    }
    for (const auto& one : plan.missing) {
        out.is_possible = false;
        out.lines.push_back("device " + one + " is not there: what needs it would be done when it comes");
    }
    for (const auto& one : settings_to_set(config, stack)) {
        out.lines.push_back("kernel settings: would " + model::to_text(one));
    }
    if (out.lines.empty()) {
        out.lines.emplace_back("nothing would be changed");
    }
    return out;
}

}  // namespace pvc::app
