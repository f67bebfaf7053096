#include "adapter/blocking_requests.hpp"

#include <cerrno>
#include <utility>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t answer_size = 256UL * 1024;  // cards tell of all their functions at once
constexpr duration answer_limit = 10s;             // the work is done when the request was taken

}  // namespace

result<kernel_answer> ask_and_wait(std::string message, const kernel_requests::taker& each) {
    kernel_requests once(answer_size);
    auto answer = once.exchange(std::move(message), each, errand(async::thread_now() + answer_limit));
    if (!answer && answer.error().code() == errc::timed_out) {
        return failure(errc::io, "routing socket", "the kernel did not answer");
    }
    return answer;
}

failure driver_refusal(std::string subject, const kernel_answer& answer) {
    if (answer.error == EOPNOTSUPP) {
        return failure(errc::invalid, std::move(subject), answer.cause());
    }
    return refusal(std::move(subject), answer);
}

}  // namespace pvc::netlink
