#include "pvcnoded/ceph_helper/server.hpp"

#include "pvcnoded/ceph_helper/carry_out.hpp"
#include "pvcnoded/ceph_helper/outbox.hpp"
#include "pvcnoded/ceph_helper/request_queue.hpp"

#include "process_state.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

namespace pvc::ceph_helper {

namespace say = protocol::ceph::say;

namespace {

constexpr int lock_threads = 4;
constexpr int break_threads = 8;
constexpr duration idle_look = std::chrono::seconds(5);
// Outputs of that size are rare; what they took goes back to the system.
constexpr std::size_t large_output = 1024UL * 1024;

class service {
public:
    service(int socket, const cluster_files& files)
        : socket_(socket),
          figures_([this, files] { return connection::open(files, purpose::figures, identities_); }, monotonic_now),
          locks_([this, files] { return connection::open(files, purpose::locks, identities_); }, monotonic_now) {}

    end_of_service run(const std::string& build) {
        start_workers();
        auto greeting = encode(protocol::ceph::greeting{protocol::ceph::version, build});
        outgoing_ = *std::move(greeting);
        std::optional<end_of_service> end;
        while (!end) {
            end = turn();
        }
        return *std::move(end);
    }

private:
    void start_workers() {
        std::thread([this] { work_on(figure_requests_, figures_); }).detach();
        for (int i = 0; i < lock_threads; ++i) {
            std::thread([this] { work_on(lock_requests_, locks_); }).detach();
        }
        for (int i = 0; i < break_threads; ++i) {
            std::thread([this] { work_on(break_requests_, locks_); }).detach();
        }
    }

    // A worker's life; it ends with the process.
    [[noreturn]] void work_on(request_queue& requests, handle_keeper& handle) {
        const surroundings with{handle, identities_, prepared_, monotonic_now, boot_now};
        const bool is_kept = &handle == &figures_;
        for (;;) {
            auto next = requests.take(idle_look);
            if (&requests == &break_requests_) {
                prepared_.forget_old(monotonic_now());
            }
            if (!next) {
                if (!is_kept) {
                    handle.close_if_idle();
                }
                continue;
            }
            protocol::ceph::answer answer{next->what.id, carry_out(next->what.what, next->until, with)};
            const auto* output = std::get_if<say::output>(&answer.what);
            const bool is_large = output != nullptr && output->bytes.size() >= large_output;
            requests.is_over(pool_of(next->what));
            answers_.put(std::move(answer));
            if (is_large) {
                ::malloc_trim(0);
            }
        }
    }

    // One turn of the thread that reads and writes.
    std::optional<end_of_service> turn() {
        const bool may_read = !answers_.is_full();
        const bool has_more = written_ < outgoing_.size();
        const auto wanted = (may_read ? POLLIN : 0) | (has_more ? POLLOUT : 0);
        std::array<pollfd, 2> seen{{{socket_, static_cast<short>(wanted), 0}, {answers_.descriptor(), POLLIN, 0}}};
        if (::poll(seen.data(), seen.size(), -1) < 0) {
            return std::nullopt;  // a signal
        }
        if ((seen[1].revents & POLLIN) != 0) {
            answers_.calm();
        }
        if ((seen[0].revents & POLLIN) != 0) {
            if (auto end = read_some()) {
                return end;
            }
        } else if ((seen[0].revents & (POLLHUP | POLLERR)) != 0) {
            return end_of_service{};
        }
        return write_some();
    }

    std::optional<end_of_service> read_some() {
        const auto room = frames_.room();
        const ssize_t size = ::recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
        if (size == 0) {
            return end_of_service{};
        }
        if (size < 0) {
            const bool is_nothing = errno == EAGAIN || errno == EINTR;
            return is_nothing ? std::nullopt : std::optional(end_of_service{});
        }
        frames_.filled(static_cast<std::size_t>(size));
        for (;;) {
            auto next = frames_.take();
            if (!next) {
                return end_of_service{ending::not_understood, next.error().text()};
            }
            if (!*next) {
                return std::nullopt;
            }
            auto request = protocol::ceph::parse_request(**next);
            if (!request) {
                return end_of_service{ending::not_understood, request.error().text()};
            }
            accept(*std::move(request));
        }
    }

    void accept(protocol::ceph::request request) {
        if (unanswered_ >= protocol::ceph::requests_max) {
            ++unanswered_;
            answers_.put_now({request.id, say::failed{errc::unavailable, "too many requests at once"}});
            return;
        }
        ++unanswered_;
        const time_point until = monotonic_now() + request.limit;
        switch (lane_of(request)) {
            case lane::at_once: {
                auto used = usage_now();
                used.handles = identities_.size();
                answers_.put_now({request.id, used});
                break;
            }
            case lane::figures: figure_requests_.put({std::move(request), until}); break;
            case lane::locks: lock_requests_.put({std::move(request), until}); break;
            case lane::breaks: break_requests_.put({std::move(request), until}); break;
        }
    }

    std::optional<end_of_service> write_some() {
        for (;;) {
            if (written_ == outgoing_.size()) {
                auto next = answers_.take();
                if (!next) {
                    return std::nullopt;
                }
                --unanswered_;
                outgoing_ = *std::move(next);
                written_ = 0;
            }
            const ssize_t size =
                ::send(socket_, outgoing_.data() + written_, outgoing_.size() - written_, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (size < 0) {
                const bool is_nothing = errno == EAGAIN || errno == EINTR;
                return is_nothing ? std::nullopt : std::optional(end_of_service{});
            }
            written_ += static_cast<std::size_t>(size);
            if (written_ == outgoing_.size()) {
                outgoing_ = {};
                written_ = 0;
            }
        }
    }

    int socket_;
    own_identities identities_;
    handle_keeper figures_;
    handle_keeper locks_;
    prepared_breaks prepared_;
    request_queue figure_requests_{1};
    request_queue lock_requests_{lock_threads};
    request_queue break_requests_{break_threads};
    outbox answers_;
    protocol::frame_reader frames_;
    std::size_t unanswered_ = 0;  // of requests that were read; those that wait to be written count
    std::string outgoing_;
    std::size_t written_ = 0;
};

}  // namespace

end_of_service serve(int socket, const cluster_files& files, const std::string& build) {
    // For ever: its threads may be anywhere in the library when this returns.
    auto* all = new service(socket, files);
    return all->run(build);
}

}  // namespace pvc::ceph_helper
