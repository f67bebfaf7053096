// The local sockets port: other programs of this host ask over a stream socket that has a path. Who they are is what
// the kernel says, not what they say.
#pragma once

#include "pvcnoded/services/stream_connection.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::services {

// Who connected, at the moment when it did.
struct socket_peer {
    std::uint32_t user = 0;
    std::vector<std::uint32_t> groups;  // its own first, then those that it is in besides
    int pid = 0;
};

class local_connection : public stream_connection {
public:
    [[nodiscard]] virtual const socket_peer& peer() const = 0;
};

// Destroying it closes the socket and removes its file, if that is still its own; who is connected stays.
class local_listener {
public:
    local_listener() = default;
    local_listener(const local_listener&) = delete;
    local_listener& operator=(const local_listener&) = delete;
    virtual ~local_listener() = default;

    // Suspends until somebody connects. Errors: io (no more descriptors, for one; the next one may be had).
    virtual async::awaitable<result<std::unique_ptr<local_connection>>> accept() = 0;
    [[nodiscard]] virtual std::uint32_t own_user() const = 0;
    // Suspends until the file at the path is no longer this one's: somebody removed, renamed or replaced it. At once if
    // that is so; half a minute later where the system does not tell of it (a folder above it that was renamed, no
    // watches left). One waiter.
    virtual async::awaitable<void> lost() = 0;
    // Whose the file is; empty: no group was wanted, or there is none of that name.
    [[nodiscard]] virtual std::optional<std::uint32_t> group() const = 0;
};

class local_sockets {
public:
    local_sockets() = default;
    local_sockets(const local_sockets&) = delete;
    local_sockets& operator=(const local_sockets&) = delete;
    virtual ~local_sockets() = default;

    // Listens at `path`, mode 0660, of the group of that name if there is one ("": none is wanted). A socket that
    // stands there is taken for one that was left behind and is replaced in one step: the caller sees to it that nobody
    // else uses the path. Errors: refused (what stands there is no socket), invalid (the path is too long), io,
    // timed_out.
    virtual async::awaitable<result<std::unique_ptr<local_listener>>> listen(std::string path, std::string group,
                                                                             time_point deadline) = 0;
};

}  // namespace pvc::services
