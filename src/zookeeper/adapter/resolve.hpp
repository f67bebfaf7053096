// Host names to numeric addresses, in a lane of blocking calls that nothing else uses. What was found last is kept for
// as long as the process lives: a name server that is away keeps no session from coming.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pvc::zookeeper {

struct resolved_servers {
    std::vector<std::string> addresses;  // "10.0.0.1:2181", IPv6 without brackets: the library splits at the last ':'
    std::string problems;                // names that did not resolve, and why
    bool was_asked = true;               // false: a name was never looked up
};

// Blocks. All addresses of a host, numeric.
using look_up_function = std::function<result<std::vector<std::string>>(const std::string& host)>;
[[nodiscard]] result<std::vector<std::string>> look_up(const std::string& host);

class resolver {
public:
    // The references must outlive the resolver; `how` may still run afterwards, on a thread of the lane.
    resolver(async::offload& lane, async::timers& clock, look_up_function how = look_up)
        : lane_(lane), clock_(clock), how_(std::move(how)) {}
    resolver(const resolver&) = delete;
    resolver& operator=(const resolver&) = delete;

    // Every name to all its addresses; numeric ones pass. A look-up that fails or hangs leaves what is known already,
    // and is named in `problems`. One that hangs is not begun a second time beside itself, nor waited for again; an
    // answer that comes too late counts for the next question.
    async::awaitable<resolved_servers> resolve(time_point deadline, std::vector<server_address> servers);
    // What is known now, without asking anybody.
    [[nodiscard]] resolved_servers known(const std::vector<server_address>& servers) const;

private:
    struct inquiry;
    struct host {
        std::vector<std::string> addresses;  // of the last look-up that succeeded
        std::string problem;                 // of the last one, if that did not
        std::shared_ptr<inquiry> last;
    };
    static void take_answer(const std::string& name, host& of);
    async::awaitable<void> ask(std::string name, time_point deadline);

    async::offload& lane_;
    async::timers& clock_;
    look_up_function how_;
    std::map<std::string, host> hosts_;
};

}  // namespace pvc::zookeeper
