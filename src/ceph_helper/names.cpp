#include "pvcnoded/ceph_helper/names.hpp"

#include "pvcnoded/base/text.hpp"

#include <array>
#include <utility>

namespace pvc::ceph_helper {

namespace {

// The texts of one list; what follows the last byte 0 is none.
std::vector<std::string> texts_of(std::string_view list) {
    std::vector<std::string> out;
    for (auto end = list.find('\0'); end != std::string_view::npos; end = list.find('\0')) {
        out.emplace_back(list.substr(0, end));
        list.remove_prefix(end + 1);
    }
    return out;
}

std::string_view without_version(std::string_view address) {
    for (const std::string_view prefix : {"v1:", "v2:", "any:"}) {
        if (address.starts_with(prefix)) {
            return address.substr(prefix.size());
        }
    }
    return address;
}

}  // namespace

result<image_name> parse_image_name(std::string_view text) {
    const auto bad = [&](std::string cause) { return failure(errc::invalid, shown(text), std::move(cause)); };
    const auto first = text.find('/');
    if (first == std::string_view::npos) {
        return bad("no image's name: pool/image, or pool/namespace/image");
    }
    const auto last = text.rfind('/');
    image_name out;
    out.pool = text.substr(0, first);
    out.image = text.substr(last + 1);
    if (last > first) {
        out.space = text.substr(first + 1, last - first - 1);
    }
    if (out.pool.empty() || out.image.empty() || (last > first && out.space.empty())) {
        return bad("a part of the image's name is empty");
    }
    if (text.find('\0') != std::string_view::npos) {
        return bad("a byte 0 in the image's name");
    }
    return out;
}

result<std::vector<protocol::ceph::lock>> parse_lockers(const locker_lists& lists, std::size_t count) {
    auto clients = texts_of(lists.clients);
    auto cookies = texts_of(lists.cookies);
    auto addresses = texts_of(lists.addresses);
    if (clients.size() < count || cookies.size() < count || addresses.size() < count) {
        return failure(errc::invalid, "list of locks", "its parts do not fit together");
    }
    std::vector<protocol::ceph::lock> out;
    for (std::size_t i = 0; i < count; ++i) {
        out.push_back({std::move(cookies[i]), std::move(clients[i]), std::move(addresses[i])});
    }
    return out;
}

std::string client_name(std::uint64_t instance) {
    return "client." + std::to_string(instance);
}

std::vector<std::string> plain_addresses(std::string_view text) {
    text = trim(text);
    // Several in brackets begin with a version, one of IPv6 does not.
    if (text.starts_with("[v") || text.starts_with("[any:")) {
        text.remove_prefix(1);
        if (text.ends_with(']')) {
            text.remove_suffix(1);
        }
    }
    std::vector<std::string> out;
    for (const auto one : split(text, ',')) {
        out.emplace_back(without_version(trim(one)));
    }
    return out;
}

}  // namespace pvc::ceph_helper
