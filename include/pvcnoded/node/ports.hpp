// What a daemon needs from outside: every port, injected. Real ones are chosen in `app`, simulated ones in tests.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/task.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/config/load.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "pvcnoded/services/console_files.hpp"
#include "pvcnoded/services/host.hpp"
#include "pvcnoded/services/log_output.hpp"
#include "pvcnoded/services/notifier.hpp"
#include "pvcnoded/services/service_manager.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pvc::node {

// All references must outlive the daemon.
struct ports {
    async::timers& clock;
    async::offload& pool;
    zookeeper::connector& zookeeper;
    services::service_manager& services;
    services::host& host;
    services::notifier& notifier;
    random_source random;

    // Reads and validates the configuration; asked once at each beginning of start-up. Blocking, bounded by the file's
    // size.
    std::function<config::loaded()> load_configuration;
    // A line before the logger exists, and what must be said when nothing else is configured.
    std::function<void(const std::string&)> announce;  // standard output
    std::function<void(const std::string&)> complain;  // standard error
    std::function<std::shared_ptr<services::log_output>(const std::string& path)> open_log_file;
    std::shared_ptr<services::log_output> standard_output;
    std::shared_ptr<services::log_output> standard_error;
    bool standard_output_is_journal = false;
    // The function `hypervisor` needs these three.
    hypervisor::hypervisor* hypervisor = nullptr;
    storage::rbd_locks* rbd_locks = nullptr;
    services::console_files* console_files = nullptr;
    std::function<std::uint64_t()> loop_turns;  // the watchdog's proof that the loop turns
    std::optional<std::string> schema_limit;    // PVCD_SCHEMA_LIMIT
    std::string implementation;                 // program, version and build, for log and file
};

}  // namespace pvc::node
