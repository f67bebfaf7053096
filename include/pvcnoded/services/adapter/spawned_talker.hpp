// Programs that are talked to, over a socket pair, as children of this process (async::process_runner).
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/services/talking_programs.hpp"

#include <boost/asio/io_context.hpp>

namespace pvc::services {

// Loop thread only. All references must outlive it.
class spawned_talker final : public talking_programs {
public:
    spawned_talker(boost::asio::io_context& context, async::timers& clock, async::process_runner& processes)
        : context_(context), clock_(clock), processes_(processes) {}

    async::awaitable<result<std::string>> run(std::vector<std::string> arguments, conversation talk) override;

private:
    boost::asio::io_context& context_;
    async::timers& clock_;
    async::process_runner& processes_;
};

}  // namespace pvc::services
