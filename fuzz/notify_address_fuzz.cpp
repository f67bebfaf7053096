// NOTIFY_SOCKET: an address that fits, or none.
// Covers: src/services/notify_address.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/services/notify_address.hpp"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    const auto found = pvc::services::parse_notify_address(text);
    PVC_ASSERT(found || size < 2 || size >= sizeof(sockaddr_un::sun_path) || (data[0] != '/' && data[0] != '@'));
    if (found) {
        const bool is_abstract = text.front() == '@';
        const char* name = found->address.sun_path;
        PVC_ASSERT(found->size <= sizeof found->address && found->address.sun_family == AF_UNIX);
        PVC_ASSERT(found->size == offsetof(sockaddr_un, sun_path) + size + (is_abstract ? 0 : 1));
        PVC_ASSERT(is_abstract ? name[0] == '\0' : name[size] == '\0');
        PVC_ASSERT(std::memcmp(name + 1, text.data() + 1, size - 1) == 0);
    }
    return 0;
}
