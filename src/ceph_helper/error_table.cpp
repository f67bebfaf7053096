#include "pvcnoded/ceph_helper/error_table.hpp"

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
