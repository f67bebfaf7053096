// Names that pvcnoded-ceph reads: of images as the daemon asks for them, lists of lockers and addresses as the library
// gives them. The input is cut at bytes 1: a name, three lists, an address.
// Covers: src/ceph_helper/names.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/ceph_helper/names.hpp"

#include <cstdint>
#include <string_view>

using namespace pvc;

namespace {

void check_image(std::string_view text) {
    const auto name = ceph_helper::parse_image_name(text);
    if (!name) {
        return;
    }
    const std::string back = name->pool + '/' + (name->space.empty() ? "" : name->space + '/') + name->image;
    PVC_ASSERT(back == text);
    PVC_ASSERT(!name->pool.empty() && !name->image.empty());
    PVC_ASSERT(name->pool.find('/') == std::string::npos && name->image.find('/') == std::string::npos);
}

// As many as are said to be there, each as long as it is in its list.
void check_lists(const ceph_helper::locker_lists& lists) {
    for (std::size_t count = 0; count < 4; ++count) {
        const auto all = ceph_helper::parse_lockers(lists, count);
        if (!all) {
            continue;
        }
        PVC_ASSERT(all->size() == count);
        std::string clients;
        for (const auto& one : *all) {
            clients += one.client + '\0';
        }
        PVC_ASSERT(lists.clients.starts_with(clients));
    }
}

void check_address(std::string_view text) {
    for (const auto& one : ceph_helper::plain_addresses(text)) {
        PVC_ASSERT(text.find(one) != std::string_view::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto parts = split(text, '\x01');
    parts.resize(5);
    check_image(parts[0]);
    check_lists({std::string(parts[1]), std::string(parts[2]), std::string(parts[3])});
    check_address(parts[4]);
    return 0;
}
