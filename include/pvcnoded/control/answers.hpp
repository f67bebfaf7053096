// What the daemon answers over its local socket: from memory, at once, so that it is told also while ZooKeeper and
// libvirt are away. Some answers are waited for: the end of a task that is cancelled, `explain flush`, which reads, and
// those about fences, for which a board or the disk is asked. Asking changes nothing, but for the level of the log,
// such a task, and a node that an operator says is off. The fields are documented in docs/control.md.
#pragma once

#include "pvcnoded/control/server.hpp"
#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/protocol/messages.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace pvc::control {

// What the process knows of itself.
struct process_memory {
    std::int64_t resident_kib = 0;
    std::int64_t highest_resident_kib = 0;
    std::int64_t private_kib = 0;  // anonymous

    friend bool operator==(const process_memory&, const process_memory&) = default;
};
// Of the text of /proc/self/status; what is not there is 0.
[[nodiscard]] process_memory parse_process_status(std::string_view text);

// What the daemon is run by, which it does not know itself.
struct surroundings {
    duration loop_delay{};          // of the last second
    duration highest_loop_delay{};  // since the start
    std::size_t pool_threads = 0;
    std::size_t pool_waiting = 0;  // blocking calls without a thread yet
};

class answers {
public:
    // Both references must outlive it. Without `around` what it would say is not known.
    answers(const node::daemon& of, services::host& host, std::function<surroundings()> around = nullptr)
        : daemon_(of), host_(host), around_(std::move(around)) {}

    [[nodiscard]] reply to(const protocol::request& asked, const asker& who = {}) const;

private:
    [[nodiscard]] protocol::answer ready() const;
    [[nodiscard]] protocol::answer settings() const;
    [[nodiscard]] protocol::answer log_level(const protocol::request& asked, const asker& who) const;
    [[nodiscard]] reply log_follow() const;
    [[nodiscard]] reply explain(const protocol::request& asked) const;
    [[nodiscard]] reply fence(const protocol::request& asked) const;
    [[nodiscard]] reply confirm_fence(const protocol::request& asked, const asker& who) const;
    [[nodiscard]] reply retry_fence(const protocol::request& asked, const asker& who) const;
    [[nodiscard]] reply cancel_task(const protocol::request& asked, const asker& who) const;
    [[nodiscard]] boost::json::object levels() const;
    void add_figures(boost::json::object& out) const;
    [[nodiscard]] protocol::answer status() const;
    [[nodiscard]] protocol::answer tasks() const;
    [[nodiscard]] protocol::answer machines() const;
    [[nodiscard]] protocol::answer machine(const protocol::request& asked) const;
    [[nodiscard]] protocol::answer process() const;
    [[nodiscard]] boost::json::object zookeeper() const;
    [[nodiscard]] boost::json::object heartbeat() const;
    [[nodiscard]] boost::json::array reports() const;

    const node::daemon& daemon_;
    services::host& host_;
    std::function<surroundings()> around_;
};

}  // namespace pvc::control
