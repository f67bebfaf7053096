// The local sockets on Linux: stream sockets of the Unix domain, credentials from the kernel (SO_PEERCRED,
// SO_PEERGROUPS), the file made on the offload pool, since a group's name may have to be asked of a directory.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/services/local_sockets.hpp"

#include <boost/asio/io_context.hpp>

namespace pvc::services {

// All three must outlive it and what it makes.
class unix_sockets final : public local_sockets {
public:
    unix_sockets(boost::asio::io_context& context, async::offload& pool, async::timers& clock)
        : context_(context), pool_(pool), clock_(clock) {}

    async::awaitable<result<std::unique_ptr<local_listener>>> listen(std::string path, std::string group,
                                                                     time_point deadline) override;

private:
    boost::asio::io_context& context_;
    async::offload& pool_;
    async::timers& clock_;
};

}  // namespace pvc::services
