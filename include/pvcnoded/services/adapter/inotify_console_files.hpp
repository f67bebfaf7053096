// The console files on Linux: one inotify descriptor for all files that are followed, reading on the offload pool.
//
// The descriptor exists while anything is followed. Only regular files are read or made; symbolic links are not
// followed. The calls that add watches run on the loop: they resolve a path, they read nothing.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/services/console_files.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <memory>

namespace pvc::services {

class console_watches;

// `pool`, `clock` and `context` must outlive it; what follow() returned may live longer than it does, and is told
// nothing any more then.
class inotify_console_files final : public console_files {
public:
    inotify_console_files(boost::asio::io_context& context, async::offload& pool, async::timers& clock);
    ~inotify_console_files() override;

    async::awaitable<result<void>> ensure(std::string path, time_point deadline) override;
    std::unique_ptr<followed_file> follow(std::string path, async::wakeup& changed) override;
    async::awaitable<result<std::string>> read_end(std::string path, std::size_t lines, std::size_t bytes,
                                                   time_point deadline) override;

    // Files that are followed by looking at them again and again, as they cannot be watched.
    [[nodiscard]] std::size_t looked_at() const;

private:
    async::offload& pool_;
    async::timers& clock_;
    std::shared_ptr<console_watches> watches_;
};

}  // namespace pvc::services
