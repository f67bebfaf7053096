#include "pvcnoded/policy/placement/rbd_lock_policy.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

namespace pvc::policy {

namespace {

constexpr std::size_t longest_quote = 200;  // of what others wrote, in a reason that clients show

std::string tame(std::string_view text) {
    return ascii_only(text.substr(0, longest_quote));
}

template <class Number>
bool is_number(std::string_view text) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stopped_at == end;
}

// ":6800/17": a port and a nonce.
bool is_port_and_nonce(std::string_view text) {
    const auto slash = text.find('/');
    return text.starts_with(':') && slash != std::string_view::npos &&
           is_number<std::uint16_t>(text.substr(1, slash - 1)) && is_number<std::uint64_t>(text.substr(slash + 1));
}

// Such an address says nothing about whose it is.
bool is_shared_by_all_hosts(const ip::address& address) {
    const bool is_this_network = address.is_v4() && address.to_v4().to_bytes().front() == 0;  // 0.0.0.0/8
    return is_this_network || address.is_unspecified() || address.is_loopback();
}

std::string holder_of(const held_lock& lock) {
    const auto holder = parse_lock_address(lock.address);
    return holder ? holder->to_string() : tame(lock.address);
}

lock_decision foreign_lock(std::string_view volume, const held_lock& lock) {
    return {
        lock_verdict::foreign,
        {},
        fmt::format("RBD lock \"{}\" on {} is held by {}, not by this node; make sure the VM is stopped there, flush "
                    "its locks, then start it",
                    tame(lock.id), tame(volume), holder_of(lock)),
        fmt::format("the RBD lock of {} on {}", holder_of(lock), tame(volume))};
}

class owner {
public:
    explicit owner(const std::vector<std::string>& texts) {
        for (const auto& text : texts) {
            if (const auto address = parse_own_address(text); address && !is_shared_by_all_hosts(*address)) {
                addresses_.push_back(*address);
            }
        }
    }
    [[nodiscard]] bool holds(const held_lock& lock) const {
        const auto address = parse_lock_address(lock.address);
        return address && std::ranges::find(addresses_, *address) != addresses_.end();
    }

private:
    std::vector<ip::address> addresses_;
};

}  // namespace

std::optional<ip::address> parse_own_address(std::string_view text) {
    const auto address = parse_address(trim(text.substr(0, text.find('/'))));
    return address ? std::optional(*address) : std::nullopt;
}

std::optional<ip::address> parse_lock_address(std::string_view text) {
    for (const std::string_view prefix : {"v1:", "v2:", "any:"}) {
        if (text.starts_with(prefix)) {
            text.remove_prefix(prefix.size());
            break;
        }
    }
    const bool is_ipv6 = text.starts_with('[');
    const auto end = text.find(is_ipv6 ? ']' : ':');
    if (end == std::string_view::npos || !is_port_and_nonce(text.substr(is_ipv6 ? end + 1 : end))) {
        return std::nullopt;
    }
    if (is_ipv6) {
        const auto address = parse_address_v6(text.substr(1, end - 1));
        return address ? std::optional<ip::address>(*address) : std::nullopt;
    }
    const auto address = parse_address_v4(text.substr(0, end));
    return address ? std::optional<ip::address>(*address) : std::nullopt;
}

namespace {
// `is_ours`: of a lock, whether it may be broken.
lock_decision decide(const std::vector<volume_locks>& volumes, const std::function<bool(const held_lock&)>& is_ours) {
    std::vector<lock_to_break> own;
    std::string unreadable;
    for (const auto& one : volumes) {
        if (one.error && unreadable.empty()) {
            unreadable = fmt::format("RBD locks of {} could not be read: {}", tame(one.volume), tame(*one.error));
        }
        for (const auto& lock : one.locks) {
            if (!is_ours(lock)) {
                return foreign_lock(one.volume, lock);
            }
            own.push_back({one.volume, lock});
        }
    }
    if (!unreadable.empty()) {
        return {lock_verdict::unreadable, {}, std::move(unreadable), {}};
    }
    return {lock_verdict::own, std::move(own), {}, {}};
}
}  // namespace

lock_decision decide_start_locks(const std::vector<volume_locks>& volumes,
                                 const std::vector<std::string>& own_addresses) {
    const owner self(own_addresses);
    return decide(volumes, [&self](const held_lock& lock) {
        return self.holds(lock) || is_planted(defect::foreign_lock_broken);
    });
}

lock_decision decide_flush_locks(const std::vector<volume_locks>& volumes,
                                 const std::vector<std::string>& own_addresses, bool breaks_any) {
    const owner self(own_addresses);
    return decide(volumes, [&self, breaks_any](const held_lock& lock) { return breaks_any || self.holds(lock); });
}

bool is_held_by(const held_lock& lock, const std::vector<std::string>& own_addresses) {
    return owner(own_addresses).holds(lock);
}

std::string unbreakable_lock_text(const lock_to_break& which, std::string_view error) {
    return fmt::format("RBD lock \"{}\" on {} could not be removed: {}", tame(which.lock.id), tame(which.volume),
                       tame(error));
}

}  // namespace pvc::policy
