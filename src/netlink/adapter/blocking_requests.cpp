#include "adapter/blocking_requests.hpp"

#include "adapter/routing_socket.hpp"

#include <poll.h>

#include <cerrno>
#include <utility>

namespace pvc::netlink {

namespace {

constexpr std::size_t answer_size = 256UL * 1024;  // cards tell of all their functions at once
constexpr int answer_limit_ms = 10'000;            // the work is done when the request was taken

// False: nothing came.
bool wait_for_answer(int number) {
    pollfd wanted{number, POLLIN, 0};
    for (;;) {
        const int ready = ::poll(&wanted, 1, answer_limit_ms);
        if (ready >= 0 || errno != EINTR) {
            return ready > 0;
        }
    }
}

}  // namespace

result<kernel_answer> ask_and_wait(std::string message, const kernel_requests::taker& each) {
    constexpr std::uint32_t sequence = 1;
    PVC_TRY(const auto socket, routing_socket::open(answer_size));
    if (const int error = socket->send(message, sequence); error != 0) {
        return failure(errc::unavailable, "routing socket", error_text(error));
    }
    kernel_answer answer;
    for (;;) {
        const auto got = socket->receive();
        if (got.error == EAGAIN) {
            if (!wait_for_answer(socket->number())) {
                return failure(errc::io, "routing socket", "the kernel did not answer");
            }
            continue;
        }
        if (got.error != 0 || !got.is_whole) {
            return failure(errc::io, "routing socket", got.error != 0 ? error_text(got.error) : "too long an answer");
        }
        PVC_TRY(const auto read, read_datagram(got.bytes, sequence, socket->port()));
        for (const auto& one : read.messages) {
            if (auto taken = each(one); !taken) {
                return std::move(taken).error();
            }
        }
        if (read.is_over) {
            answer.error = read.error;
            answer.sentence = read.sentence;
            return answer;
        }
    }
}

failure driver_refusal(std::string subject, const kernel_answer& answer) {
    if (answer.error == EOPNOTSUPP) {
        return failure(errc::invalid, std::move(subject), answer.cause());
    }
    return refusal(std::move(subject), answer);
}

}  // namespace pvc::netlink
