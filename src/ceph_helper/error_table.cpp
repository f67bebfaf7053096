#include "pvcnoded/ceph_helper/error_table.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace pvc::ceph_helper {

namespace {

struct meaning {
    int number;
    errc code;
    bool is_no_answer;
    std::string_view words;  // empty: those of errno
};

constexpr std::array<meaning, 21> meanings{{
    {EPERM, errc::refused, false, "permission denied"},
    {ENOENT, errc::not_found, false, {}},
    {E2BIG, errc::too_large, false, {}},
    {EACCES, errc::refused, false, "permission denied"},
    {EBUSY, errc::refused, false, {}},
    {EEXIST, errc::already_exists, false, {}},
    {EINVAL, errc::invalid, false, {}},
    {EFBIG, errc::too_large, false, {}},
    {EROFS, errc::refused, false, {}},
    {ENAMETOOLONG, errc::invalid, false, {}},
    {ENOTEMPTY, errc::not_empty, false, {}},
    {EMSGSIZE, errc::too_large, false, {}},
    {EOPNOTSUPP, errc::invalid, false, {}},
    {ENETUNREACH, errc::unavailable, true, {}},
    {ECONNABORTED, errc::unavailable, true, {}},
    {ECONNRESET, errc::unavailable, true, {}},
    {ENOTCONN, errc::unavailable, true, "not connected to the cluster"},
    {ESHUTDOWN, errc::unavailable, true, "this client is on the cluster's blocklist"},
    {ETIMEDOUT, errc::timed_out, true, "no answer in time"},
    {ECONNREFUSED, errc::unavailable, true, {}},
    {EHOSTUNREACH, errc::unavailable, true, {}},
}};

const meaning* meaning_of(int error) {
    const auto* found = std::ranges::find(meanings, std::abs(error), &meaning::number);
    return found == meanings.end() ? nullptr : found;
}

}  // namespace

std::string words_of(int error) {
    const int number = std::abs(error);
    const auto* known = meaning_of(error);
    std::string out;
    if (known != nullptr && !known->words.empty()) {
        out = known->words;
    } else if (const char* words = ::strerrordesc_np(number); words != nullptr) {
        out = words;
    } else {
        out = "an error that has no name";
    }
    const char* name = ::strerrorname_np(number);
    return out + " (" + (name != nullptr ? std::string(name) : std::to_string(number)) + ")";
}

errc code_of(int error) {
    const auto* known = meaning_of(error);
    return known == nullptr ? errc::io : known->code;
}

errc code_of_connecting(int error) {
    return is_timeout(error) ? errc::timed_out : errc::unavailable;
}

std::string why_not_connected(const connect_facts& facts, int error) {
    const std::string keyring = "keyring " + facts.keyring;
    std::string of_keyring = keyring + " has no key of client.admin";
    if (facts.unread == EACCES) {
        of_keyring = keyring + " cannot be read";
    } else if (facts.unread != 0) {
        of_keyring = keyring + " is missing";
    }
    std::string out = "no connection";
    if (is_timeout(error)) {
        out = "no monitor that " + facts.config + " names answers";
    } else if (is_missing(error) && facts.monitors.empty()) {
        // The monitors are looked for first; they may be named in sections of their own, or in DNS.
        out = "configuration " + facts.config + " names no monitor in mon_host, or, if it names them elsewhere, " +
              of_keyring;
    } else if (std::abs(error) == EINVAL) {
        out = "mon_host in " + facts.config +
              " has a name that is not found, or what is no address: " + shown(facts.monitors);
    } else if (facts.unread != 0 || is_missing(error)) {
        out = of_keyring;
    } else if (std::abs(error) == EACCES || std::abs(error) == EPERM) {
        out = "the cluster does not take the key of client.admin in " + facts.keyring;
    }
    return out + ": " + words_of(error);
}

bool is_no_answer(int error) {
    const auto* known = meaning_of(error);
    return known != nullptr && known->is_no_answer;
}

bool is_handle_lost(int error) {
    return std::abs(error) == ESHUTDOWN || std::abs(error) == ENOTCONN;
}

bool is_timeout(int error) {
    return std::abs(error) == ETIMEDOUT;
}

bool is_missing(int error) {
    return std::abs(error) == ENOENT;
}

}  // namespace pvc::ceph_helper
