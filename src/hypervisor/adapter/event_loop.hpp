// The library's event loop on an io_context: descriptors and timeouts that it wants watched.
//
// The library takes its six functions once a process and for ever, so the object lives as long as the process; it is
// attached to a loop while adapters exist. The functions are called from any thread, with locks of the library held:
// they take notes under a mutex and post one visit of the loop, which does the rest. Callbacks run on the loop thread
// without the mutex; a user's data is freed there too, from a clean stack. Asio gets a duplicate of each descriptor, as
// the library closes its own when it likes. Specification: runtime-design.md 3.1.
#pragma once

#include "breaker.hpp"
#include "pvcnoded/async/timers.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace pvc::hypervisor {

class event_loop {
public:
    static event_loop& instance();
    // Gives the library the functions, at the first call: before a connection is opened. Any thread.
    static void serve_library();

    // One attachment an adapter; all that are alive at a time name the same loop. Loop thread only.
    class attachment {
    public:
        attachment(boost::asio::any_io_executor loop, async::timers& clock) {
            instance().attach(std::move(loop), clock);
        }
        attachment(const attachment&) = delete;
        attachment& operator=(const attachment&) = delete;
        ~attachment() { instance().detach(); }
    };

    // From any thread. Dropped when no loop is attached.
    void post(std::function<void()> action);
    [[nodiscard]] std::size_t handles() const;
    [[nodiscard]] std::size_t timeouts() const;
    // Nothing is left to be done for what the library has taken back.
    [[nodiscard]] bool is_settled() const;

    // While it lives, sockets that the library adds from this thread are shown to `target`: a connection that is being
    // opened adds its own.
    class capture {
    public:
        explicit capture(breaker& target);
        capture(const capture&) = delete;
        capture& operator=(const capture&) = delete;
        ~capture();
    };

    // The library's side. A callback is called with what poll() says; `free` may be empty.
    using ready_function = std::function<void(int watch, int descriptor, short events)>;
    using due_function = std::function<void(int timeout)>;
    int add_handle(int descriptor, short events, ready_function ready, std::function<void()> free);
    void update_handle(int watch, short events);
    bool remove_handle(int watch);
    int add_timeout(int milliseconds, due_function due, std::function<void()> free);
    void update_timeout(int id, int milliseconds);
    bool remove_timeout(int id);

private:
    struct handle;
    struct timeout;
    struct entry;
    event_loop();
    ~event_loop() = default;  // never: see instance()

    void attach(boost::asio::any_io_executor loop, async::timers& clock);
    void detach();
    // With the mutex held.
    void note(const std::shared_ptr<entry>& changed);
    void want_visit();
    int new_id();

    void visit(std::uint64_t attachment_number);
    void refresh(const std::shared_ptr<entry>& one);
    void watch(const std::shared_ptr<handle>& one);
    void wait_for(const std::shared_ptr<handle>& one, boost::asio::posix::stream_descriptor::wait_type what);
    void became_ready(const std::shared_ptr<handle>& one);
    void arm(const std::shared_ptr<timeout>& one, int milliseconds);
    void became_due(const std::shared_ptr<timeout>& one);

    mutable std::mutex mutex_;
    boost::asio::any_io_executor loop_;  // empty: not attached
    async::timers* clock_ = nullptr;
    int attached_ = 0;
    std::uint64_t attachment_number_ = 0;  // tells a visit that was posted to an earlier loop
    int last_id_ = 0;
    bool visit_posted_ = false;
    std::map<int, std::shared_ptr<handle>> handles_;
    std::map<int, std::shared_ptr<timeout>> timeouts_;
    std::vector<std::shared_ptr<entry>> changed_;
};

}  // namespace pvc::hypervisor
