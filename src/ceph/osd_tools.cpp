#include "osd_tools.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::ceph {

namespace {

constexpr std::size_t tool_output_max = 1024UL * 1024;
constexpr std::size_t complaint_max = 200;

}  // namespace

std::string shown_command(const std::vector<std::string>& arguments) {
    return "`" + ascii_only(join(arguments, " ")) + "`";
}

async::awaitable<result<async::process_outcome>> run_tool(async::process_runner& processes,
                                                          const config::node_config& config,
                                                          std::vector<std::string> arguments, duration limit) {
    const auto& files = config.storage;
    async::command what;
    if (arguments.front() == "ceph" || arguments.front() == "ceph-volume") {
        what.environment.emplace_back("CEPH_CONF", files.ceph_config_file);
    }
    // Not for ceph-volume: the OSD that it makes would take this for its own keyring.
    if (arguments.front() == "ceph") {
        what.environment.emplace_back("CEPH_KEYRING", files.ceph_admin_keyring);
    }
    what.arguments = std::move(arguments);
    async::process_limits limits;
    limits.time = limit;
    limits.output_bytes = tool_output_max;
    auto ended = co_await processes.run(std::move(what), limits);
    co_return ended;
}

std::string last_complaint(const async::process_outcome& outcome) {
    const auto errors = trim(outcome.error_output);
    const auto line = trim(errors.substr(std::min(errors.rfind('\n') + 1, errors.size())));
    return ascii_only(line.substr(0, complaint_max));
}

std::string outcome_text(const std::vector<std::string>& arguments, const async::process_outcome& outcome) {
    std::string text = shown_command(arguments) + ": " + outcome.text();
    if (const auto line = last_complaint(outcome); !line.empty()) {
        text += ": " + line;
    }
    return text;
}

}  // namespace pvc::ceph
