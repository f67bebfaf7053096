// One routing socket: a request, and what the kernel says to it.
//
// The kernel does what it is asked within the call that sends, so effects come in the order of the requests, also of
// one whose answer nobody waited for. One exchange at a time: who makes several that belong together has the turn. A
// socket whose answer was not read to its end is closed, and the next request opens another one: no answer of old is
// left in it. Loop thread only. Specification: networking.md 2; runtime-design.md 4.
#pragma once

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::netlink {

// How a request ended.
struct kernel_answer {
    int error = 0;  // errno; 0: it is done
    std::string sentence;
    bool is_interrupted = false;

    // "Device does not allow enslaving to a bridge (Operation not supported)"
    [[nodiscard]] std::string cause() const;
};

// The failure that a refusal is, where nothing more is known about it: not_found, unavailable (no memory), refused.
[[nodiscard]] failure refusal(std::string subject, const kernel_answer& answer);

class routing_socket;

class kernel_requests {
public:
    using taker = std::function<result<void>(const reply_message&)>;

    kernel_requests(boost::asio::any_io_executor executor, async::timers& clock);
    kernel_requests(const kernel_requests&) = delete;
    kernel_requests& operator=(const kernel_requests&) = delete;
    ~kernel_requests();

    // Until the guard goes nobody else asks. Errors: timed_out.
    async::awaitable<result<async::mutex::guard>> turn(std::string about, time_point deadline);

    // All that follows: with the turn. Errors: unavailable (no socket), io (nothing that can be understood), timed_out.

    // A request and its acknowledgement.
    async::awaitable<result<kernel_answer>> ask(std::string message, time_point deadline);
    // The same; `each` sees the messages before it.
    async::awaitable<result<kernel_answer>> exchange(std::string message, taker each, time_point deadline);
    // The same of a dump; if it was interrupted it is made anew after `begin_anew`, a few times in a second, then
    // unavailable.
    async::awaitable<result<kernel_answer>> dump(std::string message, std::function<void()> begin_anew, taker each,
                                                 time_point deadline);
    // Empty: there is no such link.
    async::awaitable<result<std::optional<kernel_link>>> find_link(std::string name, time_point deadline);
    // One that has to be there: else not_found, with its name.
    async::awaitable<result<kernel_link>> need_link(std::string name, time_point deadline);
    async::awaitable<result<std::vector<kernel_link>>> links(time_point deadline);
    // Of one link, 0: of all. Errors: not_found also.
    async::awaitable<result<std::vector<model::link_address>>> addresses(int link, time_point deadline);
    async::awaitable<result<std::vector<model::default_route>>> default_routes(time_point deadline);
    // Of one family (AF_INET, AF_INET6).
    async::awaitable<result<std::vector<model::link_route>>> link_routes(int family, time_point deadline);

    // An address that is there already is success; IPv6 with another prefix length is already_exists.
    async::awaitable<result<void>> add_address(int link, host_address which, std::string about, time_point deadline);
    async::awaitable<result<void>> remove_address(int link, host_address which, std::optional<ip::address> peer,
                                                  std::string about, time_point deadline);

    // SIOCETHTOOL: errno of it.
    [[nodiscard]] result<int> switch_tx_checksum_off(const std::string& device);
    // Dumps that were made anew, so far.
    [[nodiscard]] std::uint64_t interrupted() const { return interrupted_; }

private:
    result<void> open();
    async::awaitable<result<kernel_answer>> read_answer(std::uint32_t sequence, const taker& each, time_point deadline);

    boost::asio::any_io_executor executor_;
    async::timers& clock_;
    async::mutex turns_;
    std::unique_ptr<routing_socket> socket_;
    std::uint32_t sequence_ = 0;
    std::uint64_t interrupted_ = 0;
};

}  // namespace pvc::netlink
