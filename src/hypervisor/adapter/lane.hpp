// A connection of its own for calls that may take long: opened at its first use, on the thread that uses it, and again
// when it has died. A libvirt daemon serves five calls of a connection at a time and does not read on while it has
// five; so the caller keeps the load of a lane below that. Specification: runtime-design.md 3.2.
#pragma once

#include "link.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace pvc::hypervisor {

class lane {
public:
    explicit lane(link_wishes wishes) : wishes_(std::move(wishes)) {}
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;

    // Pool threads: the connection, opened if need be. Another thread's opening is waited for.
    call_result<std::shared_ptr<link>> get();
    // From now on nothing is opened; an opening that hangs ends. Calls under way are left alone. Any thread.
    void give_up();
    // Ends the calls under way too.
    void cut();
    // Pool threads: lets go of the connection, which closes when the calls under way have returned.
    void close();

    // One call, from when it is queued until it has returned.
    class ticket {
    public:
        explicit ticket(std::shared_ptr<lane> of) : of_(std::move(of)) { ++of_->load_; }
        ticket(const ticket&) = delete;
        ticket& operator=(const ticket&) = delete;
        ~ticket() { --of_->load_; }
        [[nodiscard]] lane& on() const { return *of_; }

    private:
        std::shared_ptr<lane> of_;
    };
    [[nodiscard]] int load() const { return load_; }

private:
    const link_wishes wishes_;
    std::mutex opening_;  // held while it is opened
    std::mutex mutex_;    // guards what follows; never held in a call of the library
    std::shared_ptr<link> link_;
    std::shared_ptr<breaker> way_out_;  // of the connection or of its opening
    bool is_open_ = false;
    bool given_up_ = false;
    std::atomic<int> load_{0};
};

}  // namespace pvc::hypervisor
