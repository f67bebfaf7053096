#include "pvcnoded/services/adapter/inotify_console_files.hpp"

#include "adapter/console_end.hpp"
#include "adapter/console_watches.hpp"

#include <utility>

namespace pvc::services {

namespace {

class watched_file final : public followed_file {
public:
    watched_file(std::shared_ptr<console_watches> watches, const std::string& path, async::wakeup& changed)
        : watches_(std::move(watches)) {
        const auto slash = path.rfind('/');
        self_.path = path;
        self_.folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        self_.name = path.substr(slash + 1);  // npos + 1 is 0
        self_.changed = &changed;
        watches_->add(self_);
    }
    watched_file(const watched_file&) = delete;
    watched_file& operator=(const watched_file&) = delete;
    ~watched_file() override { watches_->remove(self_); }

private:
    std::shared_ptr<console_watches> watches_;
    console_watches::follower self_;
};

}  // namespace

inotify_console_files::inotify_console_files(boost::asio::io_context& context, async::offload& pool,
                                             async::timers& clock)
    : pool_(pool), clock_(clock), watches_(std::make_shared<console_watches>(context, clock)) {}

inotify_console_files::~inotify_console_files() {
    watches_->close();
}

std::unique_ptr<followed_file> inotify_console_files::follow(std::string path, async::wakeup& changed) {
    return std::make_unique<watched_file>(watches_, path, changed);
}

std::size_t inotify_console_files::looked_at() const {
    return watches_->unwatched();
}

async::awaitable<result<void>> inotify_console_files::ensure(std::string path, time_point deadline) {
    const std::string what = "make " + path;
    std::function<result<void>()> work = [path = std::move(path)] { return ensure_console_blocking(path); };
    return pool_.run<void>(clock_, deadline, what, std::move(work));
}

async::awaitable<result<std::string>> inotify_console_files::read_end(std::string path, std::size_t lines,
                                                                      std::size_t bytes, time_point deadline) {
    const std::string what = "read " + path;
    std::function<result<std::string>()> work = [path = std::move(path), lines, bytes] {
        return read_console_end_blocking(path, lines, bytes);
    };
    if (deadline <= clock_.now()) {
        co_return failure(errc::timed_out, what);  // else a quick disk could still win
    }
    co_return co_await pool_.run<std::string>(clock_, deadline, what, std::move(work));
}

}  // namespace pvc::services
