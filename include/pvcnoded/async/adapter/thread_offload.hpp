// The offload port on real threads: made on demand, ended when idle, bounded in number and in what may wait for them.
//
// A blocking call that never returns occupies its own thread and no other. When the pool is destroyed it waits a moment
// for its threads and then leaves the hanging ones behind: what they may still touch is shared and dies with the last
// of them, and their results go nowhere. Specification: runtime-design.md 3.2, 7.3, 9.8.
#pragma once

#include "pvcnoded/async/offload.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <memory>

namespace pvc::async {

struct offload_limits {
    std::size_t threads = 4;
    std::size_t waiting = 64;                     // items without a thread yet
    duration idle = std::chrono::seconds(10);     // after which a thread without work ends
    duration farewell = std::chrono::seconds(1);  // how long the destructor waits for busy threads
    std::size_t stack_bytes = 256 * 1024;         // address space only until used; enough for getaddrinfo
};

// run() and destruction on the loop thread; `context` must not be destroyed before this.
class thread_offload final : public offload {
public:
    explicit thread_offload(boost::asio::io_context& context, offload_limits limits = {});
    ~thread_offload() override;

    // From now on so many threads; those beyond it finish what they do. At least one.
    void allow_threads(std::size_t most);
    // Threads that exist, and items that wait for one.
    [[nodiscard]] std::size_t threads() const;
    [[nodiscard]] std::size_t waiting() const;

protected:
    bool submit(std::function<void()> work, std::function<void()> done) override;

private:
    struct pool;
    std::shared_ptr<pool> pool_;
};

}  // namespace pvc::async
