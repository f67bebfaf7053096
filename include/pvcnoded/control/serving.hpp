// Both servers beside a daemon, as children of its process: they answer from the moment when it can be asked, whatever
// becomes of its attempts and sessions, until they are cancelled.
#pragma once

#include "pvcnoded/control/server.hpp"
#include "pvcnoded/control/web_server.hpp"
#include "pvcnoded/node/daemon.hpp"

#include <string>

namespace pvc::control {

// Below the directory of changeable files.
[[nodiscard]] std::string socket_path(const config::node_config& of);

// Both references must outlive the call.
async::awaitable<void> serve_questions(server& by, node::daemon& about);
// Returns at once if the configuration that was read first names no port.
async::awaitable<void> serve_metrics(web_server& by, node::daemon& about);

}  // namespace pvc::control
