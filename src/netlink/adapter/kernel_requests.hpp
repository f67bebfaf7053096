// One routing socket: a request, and what the kernel says to it.
//
// The kernel does what it is asked within the call that sends, so effects come in the order of the requests, also of
// one whose answer nobody waited for; and that call takes as long as the kernel waits for others. So all of this is for
// threads of the pool, one at a time (kernel_lane). A socket whose answer was not read to its end is closed, and the
// next request opens another one: no answer of old is left in it. A request of an errand that is not wanted any more is
// not sent, and timed_out. Specification: networking.md 2; runtime-design.md 4.
#pragma once

#include "adapter/errand.hpp"
#include "adapter/routing_socket.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/netlink/network_stack.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
// timed_out.
[[nodiscard]] failure too_late(std::string about);

class kernel_requests {
public:
    using taker = std::function<result<void>(const reply_message&)>;

    explicit kernel_requests(std::size_t answer_size = routing_socket::usual_size);
    kernel_requests(const kernel_requests&) = delete;
    kernel_requests& operator=(const kernel_requests&) = delete;
    ~kernel_requests();

    // Errors of all that follows: unavailable (no socket), io (nothing that can be understood), timed_out.

    // A request and its acknowledgement.
    [[nodiscard]] result<kernel_answer> ask(std::string message, const errand& by);
    // Likewise, with these behind it in the same datagram: nobody who dies comes in between. How each of those ended;
    // fewer where that was lost. They are too long for one datagram if there are hundreds: the others follow then.
    [[nodiscard]] result<kernel_answer> ask_all(std::string message, std::vector<std::string> behind,
                                                std::vector<kernel_answer>& ends, const errand& by);
    // The same; `each` sees the messages before it.
    [[nodiscard]] result<kernel_answer> exchange(std::string message, const taker& each, const errand& by);
    // The same of a dump; if it was interrupted it is made anew after `begin_anew`, a few times in a second, then
    // unavailable.
    [[nodiscard]] result<kernel_answer> dump(std::string message, const std::function<void()>& begin_anew,
                                             const taker& each, const errand& by);
    // Empty: there is no such link.
    [[nodiscard]] result<std::optional<kernel_link>> find_link(const std::string& name, const errand& by);
    // One that has to be there: else not_found, with its name.
    [[nodiscard]] result<kernel_link> need_link(const std::string& name, const errand& by);
    [[nodiscard]] result<std::vector<kernel_link>> links(const errand& by);
    // Those of IPv6 that are not used yet, or never; and whether time alone decides about one: nobody tells of that.
    struct unsettled_addresses {
        std::set<std::pair<int, ip::address>> all;
        bool has_new = false;
    };
    // Of one link, 0: of all. Errors: not_found also.
    [[nodiscard]] result<std::vector<model::link_address>> addresses(int link, const errand& by,
                                                                     unsettled_addresses* unsettled = nullptr);
    [[nodiscard]] result<std::vector<model::default_route>> default_routes(const errand& by);
    // Of one family (AF_INET, AF_INET6).
    struct found_routes {
        std::vector<model::default_route> of_default;  // IPv4 only
        std::vector<model::link_route> of_links;       // that somebody made
        std::vector<model::connected_route> connected;
    };
    // Both in one dump; of each link up to model::link_routes_max beside its default routes.
    [[nodiscard]] result<found_routes> routes(int family, const errand& by);
    [[nodiscard]] result<found_routes> all_routes(int family, const errand& by);
    // That somebody entered: of each link up to model::link_neighbours_max.
    [[nodiscard]] result<std::vector<model::link_neighbour>> neighbours(const errand& by);
    // Of one family: those of which the kernel takes packets (table local), and what somebody made of that kind, in
    // whatever table: of each link up to model::link_routes_max.
    struct found_local {
        std::vector<local_address> addresses;
        std::vector<model::link_route> given;
    };
    [[nodiscard]] result<found_local> local_routes(int family, const errand& by);
    // Rules of routing that name devices, once for each that they name.
    [[nodiscard]] result<std::vector<device_rule>> device_rules(const errand& by);
    // On which somebody has packets looked at as they come or go.
    [[nodiscard]] result<std::vector<int>> filtered_links(const errand& by);

    // An address that is there already is success; IPv6 with another prefix length is already_exists.
    [[nodiscard]] result<void> add_address(int link, const model::add_address& what, std::string about,
                                           const errand& by);
    // `behind`: what follows within the same datagram, whatever becomes of it.
    [[nodiscard]] result<void> remove_address(int link, host_address which, std::optional<ip::address> peer,
                                              std::string about, const errand& by,
                                              std::vector<std::string> behind = {});

    // SIOCETHTOOL: errno of it.
    [[nodiscard]] result<int> switch_tx_checksum_off(const std::string& device, const errand& by);
    // Dumps that were made anew, so far. Any thread.
    [[nodiscard]] std::uint64_t interrupted() const { return interrupted_; }

private:
    result<void> open();
    [[nodiscard]] result<found_routes> dump_routes(int family, std::size_t most, const errand& by);
    void read_ends(std::uint32_t first, std::vector<kernel_answer>& ends);
    [[nodiscard]] result<kernel_answer> read_answer(std::uint32_t sequence, const taker& each, const errand& by);

    std::size_t answer_size_;
    std::unique_ptr<routing_socket> socket_;
    std::uint32_t sequence_ = 0;
    std::atomic<std::uint64_t> interrupted_ = 0;
};

}  // namespace pvc::netlink
