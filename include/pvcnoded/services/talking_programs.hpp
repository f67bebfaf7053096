// The port to programs of ours that run beside the daemon and are talked to over a stream: the program inherits the
// other end as its descriptor 3 and ends when that does, whatever became of the daemon. Specification: ruling 3.
#pragma once

#include "pvcnoded/services/stream_connection.hpp"

#include <functional>
#include <string>
#include <vector>

namespace pvc::services {

class talking_programs {
public:
    using conversation = std::function<async::awaitable<void>(stream_connection&)>;

    talking_programs() = default;
    talking_programs(const talking_programs&) = delete;
    talking_programs& operator=(const talking_programs&) = delete;
    virtual ~talking_programs() = default;

    // Starts the program ([0], found on PATH unless it has a '/') and `talk` beside it. When one of them ends the other
    // is ended, the program by SIGKILL, and it is reaped by the time this returns; likewise when this is cancelled.
    // Gives how it ended, in words, with the end of what it printed ("exit status 2: no socket"); "killed" if `talk`
    // ended first. Errors: not_found, io, timed_out (too many programs run): it was not started.
    virtual async::awaitable<result<std::string>> run(std::vector<std::string> arguments, conversation talk) = 0;
};

}  // namespace pvc::services
