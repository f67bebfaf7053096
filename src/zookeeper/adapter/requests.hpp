// Requests on their way through the C library: what the library writes into must live until it calls back, whoever has
// gone meanwhile.
#pragma once

#include "pvcnoded/zookeeper/client.hpp"

#include <functional>
#include <list>
#include <memory>
#include <vector>

// The library's handle; its header stays in the sources.
struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the library's name

namespace pvc::zookeeper {

struct pending_request;

// The requests that wait for an answer. Owned by the client; emptied before the handle is closed.
class pending_requests {
public:
    explicit pending_requests(std::string chroot) : chroot_(std::move(chroot)) {}
    pending_requests(const pending_requests&) = delete;
    pending_requests& operator=(const pending_requests&) = delete;
    ~pending_requests();

    // Hands the request to the library. Calls `done` later, exactly once; if the library refuses at once, the failure
    // is returned and `done` is not called.
    result<void> send(_zhandle* handle, request what, boot_time now, std::function<void(reply)> done);
    // Ends every request: the library's later callbacks find nobody.
    void abandon(const std::string& reason);

    [[nodiscard]] std::string full_path(const std::string& path) const;
    [[nodiscard]] std::string own_path(std::string path) const;

private:
    friend struct pending_request;
    std::string chroot_;
    std::list<pending_request*> waiting_;
};

}  // namespace pvc::zookeeper
