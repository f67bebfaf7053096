// Requests on their way through the C library: what the library writes into must live until it calls back, whoever has
// gone meanwhile.
#pragma once

#include "pvcnoded/zookeeper/client.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <vector>

// The library's handle; its header stays in the sources.
struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the library's name

namespace pvc::zookeeper {

struct pending_request;
using pending_request_hook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// The requests that wait for an answer. Owned by the client; emptied before the handle is closed.
class pending_requests {
public:
    explicit pending_requests(std::string chroot);
    pending_requests(const pending_requests&) = delete;
    pending_requests& operator=(const pending_requests&) = delete;
    ~pending_requests();

    // Hands the request to the library; a write is taken. Calls `done` later, exactly once; if the library refuses at
    // once, the failure is returned and `done` is not called.
    result<void> send(_zhandle* handle, request& what, boot_time now, reply_handler done);
    // Ends every request: the library's later callbacks find nobody.
    void abandon(const std::string& reason);

    void put_full_path(const std::string& path, std::string& out) const;
    [[nodiscard]] std::string own_path(std::string path) const;

private:
    friend struct pending_request;
    void keep_for_reuse(std::unique_ptr<pending_request> record);

    std::string chroot_;
    // Not of pending_request itself: that is known to the source only.
    boost::intrusive::list<pending_request_hook, boost::intrusive::constant_time_size<false>> waiting_;
    std::vector<std::unique_ptr<pending_request>> spare_;  // their arrays keep their memory
};

}  // namespace pvc::zookeeper
