// The real ZooKeeper adapter: libzookeeper_st driven by the loop. Chosen in `app` and in the contract tests only.
//
// Host names are resolved in a lane of their own, at the first connect and again while reconnecting; the library is
// given numeric addresses, and the last that were found live here: a new session begins with those at once, whatever
// the name server does. An own back-off (0.1 to 5 s with jitter) stands between failed connection attempts.
// Specification: runtime-design.md 2.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <functional>
#include <memory>
#include <set>

namespace pvc::zookeeper {

class c_client;
class resolver;

class c_connector final : public connector {
public:
    // `check_pause` is called before the content of a socket is looked at; it calls on_pause() when the process was
    // stopped (node-lifecycle.md 3.1 rule 7). `lane` runs look-ups and the closing of sessions, and nothing that may
    // hang for another reason (a disk, a pipe). The references must outlive the connector and its clients.
    c_connector(async::timers& clock, async::offload& lane, random_source random, std::function<void()> check_pause);
    ~c_connector() override;

    std::unique_ptr<client> open(connection_options options) override;
    // The process stood still since `before_gap`: every client is suspended until a request sent from now on is
    // answered.
    void on_pause(boot_time before_gap);

private:
    friend class c_client;
    async::timers& clock_;
    async::offload& lane_;
    std::unique_ptr<resolver> names_;
    random_source random_;
    std::function<void()> check_pause_;
    std::set<c_client*> clients_;
    std::uint64_t opened_ = 0;
};

}  // namespace pvc::zookeeper
