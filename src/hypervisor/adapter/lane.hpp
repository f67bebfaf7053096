// A connection of its own for calls that may take long: opened at its first use, on the thread that uses it, and again
// when it has died. A libvirt daemon serves five calls of a connection at a time and does not read on while it has
// five; so `lanes` keeps the load of each below that. Specification: runtime-design.md 3.2.
#pragma once

#include "link.hpp"

#include <memory>
#include <mutex>
#include <vector>

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

private:
    const link_wishes wishes_;
    std::mutex opening_;  // held while it is opened
    std::mutex mutex_;    // guards what follows; never held in a call of the library
    std::shared_ptr<link> link_;
    std::shared_ptr<breaker> way_out_;  // of the connection or of its opening
    bool is_open_ = false;
    bool given_up_ = false;
};

// What a libvirt daemon serves of one connection, less one for its keepalive.
inline constexpr unsigned calls_of_lane = 4;

// As many of them as the calls that are made at once need: which one a call takes is decided when it has its thread,
// as the calls before it may have hung since it was queued.
class lanes {
public:
    explicit lanes(link_wishes wishes) : wishes_(std::move(wishes)) {}
    lanes(const lanes&) = delete;
    lanes& operator=(const lanes&) = delete;

    // Of all lanes, those to come included; as the lane's own.
    void give_up();
    void cut();
    void close();

    // Pool threads: the lane of one call while it is made.
    class place {
    public:
        explicit place(lanes& of) : of_(of), on_(of.enter()) {}
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place() { of_.leave(on_); }
        [[nodiscard]] lane& on() const { return *on_; }

    private:
        lanes& of_;
        std::shared_ptr<lane> on_;
    };

    // How many were needed so far.
    [[nodiscard]] std::size_t size() const;

private:
    struct used_lane {
        std::shared_ptr<lane> way;
        unsigned calls = 0;
    };
    std::shared_ptr<lane> enter();
    void leave(const std::shared_ptr<lane>& way);
    std::vector<std::shared_ptr<lane>> give_up_all();

    const link_wishes wishes_;
    mutable std::mutex mutex_;  // guards what follows; never held in a call of the library
    std::vector<used_lane> lanes_;
    bool given_up_ = false;
};

}  // namespace pvc::hypervisor
