// What is followed, and the inotify descriptor with its watches: one on the folder of each file (names that come and
// go) and one on the file itself (its content).
//
// A file whose folder or content cannot be watched is notified of twice a second instead, and each time it is tried
// again. Events are taken at most 20 times a second, so that a guest that writes without end costs little; the kernel
// merges equal ones meanwhile.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct inotify_event;

namespace pvc::services {

class console_watches : public std::enable_shared_from_this<console_watches> {
public:
    struct follower {
        std::string path;
        std::string folder;
        std::string name;  // within the folder
        async::wakeup* changed = nullptr;
        int folder_watch = -1;
        int file_watch = -1;
        bool is_watched = false;  // as far as it exists
    };

    console_watches(boost::asio::io_context& context, async::timers& clock);
    console_watches(const console_watches&) = delete;
    console_watches& operator=(const console_watches&) = delete;
    ~console_watches() = default;

    void add(follower& one);
    void remove(follower& one);
    // Lets go of context and clock.
    void close();
    [[nodiscard]] std::size_t unwatched() const;

private:
    using descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

    bool open();
    void listen();
    void take_events();
    void dispatch(const inotify_event& event, std::string_view name);
    void watch(follower& one);
    void unwatch(follower& one);
    void watch_file(follower& one);
    void drop(int& watch);
    void look_again();
    void arm_look();

    boost::asio::io_context& context_;
    async::timers& clock_;
    std::optional<descriptor> inotify_;
    std::uint64_t opened_ = 0;  // tells the handlers of an earlier descriptor from those of the present one
    std::vector<follower*> followers_;
    std::optional<async::timer> look_;
    std::optional<async::timer> rest_;
};

}  // namespace pvc::services
