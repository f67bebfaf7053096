// What the daemon answers over its local socket: all of it from memory, at once, so that it is told also while
// ZooKeeper and libvirt are away. Asking changes nothing. The fields are documented in docs/control.md.
#pragma once

#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/protocol/messages.hpp"

#include <string>
#include <string_view>

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

class answers {
public:
    // Both must outlive it.
    answers(const node::daemon& of, services::host& host) : daemon_(of), host_(host) {}

    [[nodiscard]] protocol::answer to(const protocol::request& asked) const;

private:
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
};

}  // namespace pvc::control
