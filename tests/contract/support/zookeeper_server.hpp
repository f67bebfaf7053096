// A real ZooKeeper server (Debian's package, Java) on a free port of the loopback address, with a folder of its own.
// One tick is 500 ms; sessions are granted 1 to 10 s.
#pragma once

#include "contract/support/child_process.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace pvc::contract {

[[nodiscard]] bool has_zookeeper_server();
// Free at this moment.
[[nodiscard]] std::uint16_t free_port();

class zookeeper_server {
public:
    // Does not start it. Folders left behind by test programs that were killed are removed.
    zookeeper_server();
    zookeeper_server(const zookeeper_server&) = delete;
    zookeeper_server& operator=(const zookeeper_server&) = delete;
    ~zookeeper_server();

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] const std::string& folder() const { return folder_; }

    void start();
    // Whether it serves clients. Asks with a four-letter word, at most for `seconds`.
    [[nodiscard]] bool is_serving(double seconds = 1.0) const;
    // Throws with the end of the server's log if it does not come up.
    void wait_serving(double seconds = 60.0);
    // SIGKILL: a crash. What was acknowledged is in its log.
    void kill();
    void freeze();
    void thaw();
    [[nodiscard]] bool is_running();
    [[nodiscard]] bool is_frozen() const { return is_frozen_; }
    // The answer to a four-letter word; "" from a server that does not answer.
    [[nodiscard]] std::string ask(const std::string& word, double seconds = 2.0) const;

private:
    std::string folder_;
    std::uint16_t port_;
    std::unique_ptr<child_process> process_;
    bool is_frozen_ = false;
};

}  // namespace pvc::contract
