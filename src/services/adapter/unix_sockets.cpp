#include "pvcnoded/services/adapter/unix_sockets.hpp"

#include "adapter/socket_file.hpp"
#include "adapter/stream_socket.hpp"

#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

namespace pvc::services {

namespace {

constexpr std::string_view unix_name = "local socket";

std::optional<socket_peer> peer_of(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
        return std::nullopt;
    }
    socket_peer peer{who.uid, {who.gid}, who.pid};
    std::vector<gid_t> more(64);
    for (int attempt = 0; attempt < 2; ++attempt) {
        size = static_cast<socklen_t>(more.size() * sizeof(gid_t));
        const int code = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, more.data(), &size) == 0 ? 0 : errno;
        more.resize(size / sizeof(gid_t));  // also what is needed, if it was too little
        if (code == 0) {
            peer.groups.insert(peer.groups.end(), more.begin(), more.end());
            break;
        }
        if (code != ERANGE) {
            break;  // an old kernel: the group of the process alone counts
        }
    }
    return peer;
}

class unix_connection final : public socket_connection<local_connection> {
public:
    unix_connection(boost::asio::io_context& context, async::timers& clock, int number, socket_peer who)
        : socket_connection(context, clock, number, unix_name), peer_(std::move(who)) {}

    [[nodiscard]] const socket_peer& peer() const override { return peer_; }

private:
    socket_peer peer_;
};

class unix_listener final : public local_listener {
public:
    unix_listener(boost::asio::io_context& context, async::timers& clock, std::shared_ptr<socket_file> file)
        : context_(context), clock_(clock), file_(std::move(file)), socket_(context, file_->release()) {}

    [[nodiscard]] bool is_watched() const { return socket_.is_watched(); }

    async::awaitable<result<std::unique_ptr<local_connection>>> accept() override {
        for (;;) {
            const auto number = co_await accept_on(socket_, unix_name);
            if (!number) {
                co_return number.error();
            }
            auto who = peer_of(*number);
            if (!who) {
                ::close(*number);
                continue;
            }
            auto made = std::make_unique<unix_connection>(context_, clock_, *number, *std::move(who));
            if (!made->is_watched()) {
                co_return socket_failure(unix_name, ENOMEM);
            }
            co_return made;
        }
    }
    async::awaitable<void> lost() override {
        // A folder above it that is renamed or hidden is told by no watch of the file.
        constexpr auto look_again = std::chrono::seconds(30);
        // First the watch, then the look: what happens between them is told of.
        watch();
        while (file_->is_there()) {
            const time_point next = clock_.now() + look_again;
            if (!news_) {
                co_await async::sleep_until(clock_, next, "another look at the socket file");
                continue;
            }
            co_await news_->until_readable().wait_until(clock_, next, "a socket file that is removed");
            std::array<char, 4096> told{};
            while (::read(news_->number(), told.data(), told.size()) > 0) {
            }
        }
    }
    [[nodiscard]] std::uint32_t own_user() const override { return ::geteuid(); }
    [[nodiscard]] std::optional<std::uint32_t> group() const override { return file_->group(); }

private:
    void watch() {
        if (news_) {
            return;
        }
        const int number = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (number < 0) {
            return;
        }
        // The count of its names is an attribute of a file: removing one is told of at once, although the socket lives.
        constexpr std::uint32_t events = IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW;
        if (::inotify_add_watch(number, file_->path().c_str(), events) < 0) {
            ::close(number);
            return;
        }
        news_.emplace(context_, number);
        if (!news_->is_watched()) {
            news_.reset();
        }
    }

    boost::asio::io_context& context_;
    async::timers& clock_;
    std::shared_ptr<socket_file> file_;
    watched_descriptor socket_;
    std::optional<watched_descriptor> news_;  // of the file
};

}  // namespace

async::awaitable<result<std::unique_ptr<local_listener>>> unix_sockets::listen(std::string path, std::string group,
                                                                               time_point deadline) {
    const std::string what = "make the socket " + path;
    std::function<result<std::shared_ptr<socket_file>>()> work = [path = std::move(path), group = std::move(group)] {
        return socket_file::make_blocking(path, group);
    };
    auto made = co_await pool_.run<std::shared_ptr<socket_file>>(clock_, deadline, what, std::move(work));
    if (!made) {
        co_return made.error();
    }
    auto listener = std::make_unique<unix_listener>(context_, clock_, *std::move(made));
    if (!listener->is_watched()) {
        co_return socket_failure(unix_name, ENOMEM);
    }
    co_return listener;
}

}  // namespace pvc::services
