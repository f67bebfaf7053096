// Starts the programs that know of this host's OSDs, with the configuration of Ceph that this node is configured with.
// Specification: storage.md 5, 8.3, hazard 21.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/config/node_config.hpp"

#include <string>
#include <vector>

namespace pvc::ceph {

// `arguments` in one line, for a message.
[[nodiscard]] std::string shown_command(const std::vector<std::string>& arguments);

[[nodiscard]] async::awaitable<result<async::process_outcome>> run_tool(async::process_runner& processes,
                                                                        const config::node_config& config,
                                                                        std::vector<std::string> arguments,
                                                                        duration limit);

// The last line of what it complained about.
[[nodiscard]] std::string last_complaint(const async::process_outcome& outcome);

// Which command, how it ended, and the last line of what it complained about.
[[nodiscard]] std::string outcome_text(const std::vector<std::string>& arguments,
                                       const async::process_outcome& outcome);

}  // namespace pvc::ceph
