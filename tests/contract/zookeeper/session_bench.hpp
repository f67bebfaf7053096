// What the cases of a session and of its loss have in common.
#pragma once

#include "contract/zookeeper/suite.hpp"

namespace pvc::contract {

class zookeeper_session : public zookeeper_contract {
protected:
    // A shorter session, for cases that wait for its end.
    connection_options short_session(std::chrono::milliseconds timeout = 3s) {
        auto options = env().options();
        options.session_timeout = timeout;
        return options;
    }
    void with_session(connection_options options, const client_body& body, bool wait_connected = true) {
        env().run([&]() -> awaitable<void> { co_await one_client(options, events_, body, wait_connected); });
    }
};

// The cases that wait for a session's end.
class zookeeper_loss : public zookeeper_session {};

}  // namespace pvc::contract
