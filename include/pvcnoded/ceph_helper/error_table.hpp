// What the errors of librados and librbd mean: one table. They are negative numbers of errno; one call of version 16
// gives a positive one when the manager does not answer, so the sign is not looked at. Specification: storage.md 3.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>

namespace pvc::ceph_helper {

// Ceph's own words for it where errno's mislead; always with the number's name: "no answer in time (ETIMEDOUT)".
[[nodiscard]] std::string words_of(int error);
[[nodiscard]] errc code_of(int error);
// Of a connection that was not made: no answer is timed_out, everything else unavailable, as nothing can be asked.
[[nodiscard]] errc code_of_connecting(int error);

struct connect_facts {
    std::string config;    // path of the configuration file
    std::string keyring;   // path of the keyring
    int unread = 0;        // of errno: why the keyring cannot be read; 0: it can
    std::string monitors;  // mon_host, as the library read it
};
// Why no connection was made. The library has one number for several causes.
[[nodiscard]] std::string why_not_connected(const connect_facts& facts, int error);

// What is to become of the handle.
[[nodiscard]] bool is_no_answer(int error);    // it counts as a failure of the connection, not of the question
[[nodiscard]] bool is_handle_lost(int error);  // blocklisted or not connected any more: only a new one helps
[[nodiscard]] bool is_timeout(int error);
[[nodiscard]] bool is_missing(int error);

}  // namespace pvc::ceph_helper
