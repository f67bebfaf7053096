// Names as Ceph spells them: of images, of those who hold locks, of addresses. Specification: storage.md 6.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::ceph_helper {

struct image_name {
    std::string pool;
    std::string space;  // its namespace, mostly none
    std::string image;
    friend bool operator==(const image_name&, const image_name&) = default;
};
// "pool/[namespace/]image", split at the first and the last '/'. Errors: invalid (one of the parts is empty, or holds a
// byte 0, at which the library would end it).
[[nodiscard]] result<image_name> parse_image_name(std::string_view text);

// The three lists of rbd_list_lockers: texts that end with a byte 0 each, one after the other.
struct locker_lists {
    std::string clients;
    std::string cookies;
    std::string addresses;
};
// Errors: invalid (they do not hold `count` texts each).
[[nodiscard]] result<std::vector<protocol::ceph::lock>> parse_lockers(const locker_lists& lists, std::size_t count);

// "client.4185"
[[nodiscard]] std::string client_name(std::uint64_t instance);

// Those of a text as rados_getaddrs gives it, or a list of lockers or watchers: one address or several in brackets,
// each without what says its version ("v1:", "v2:", "any:").
[[nodiscard]] std::vector<std::string> plain_addresses(std::string_view text);

}  // namespace pvc::ceph_helper
