#include "build_id.hpp"

#include <fmt/format.h>

#include <link.h>
#include <cstring>
#include <span>

namespace pvc::app {

namespace {

constexpr std::size_t shown_bytes = 5;

// Of one segment of notes: name, description and both lengths, each padded to four bytes.
std::string id_in(std::span<const unsigned char> notes) {
    const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head{};
        std::memcpy(&head, notes.data(), sizeof(head));
        const std::size_t name = sizeof(head);
        const std::size_t description = name + padded(head.n_namesz);
        const std::size_t end = description + padded(head.n_descsz);
        if (end > notes.size()) {
            return {};
        }
        const bool is_gnu = head.n_namesz == 4 && std::memcmp(&notes[name], "GNU", 4) == 0;
        if (is_gnu && head.n_type == NT_GNU_BUILD_ID && head.n_descsz >= shown_bytes) {
            return fmt::format("{:02x}", fmt::join(notes.subspan(description, shown_bytes), ""));
        }
        notes = notes.subspan(end);
    }
    return {};
}

// The first object is the program itself.
int look_at_program(dl_phdr_info* info, std::size_t /*size*/, void* found) {
    for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
        if (segment.p_type == PT_NOTE) {
            // The loader has mapped it there.
            const auto* begin = reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
            const auto id = id_in({begin, segment.p_memsz});
            if (!id.empty()) {
                *static_cast<std::string*>(found) = id;
            }
        }
    }
    return 1;
}

}  // namespace

std::string build_id() {
    std::string found = "unknown";
    ::dl_iterate_phdr(&look_at_program, &found);
    return found;
}

std::string implementation_text() {
    return fmt::format("pvcnoded {}, build {}", PVC_VERSION, build_id());
}

}  // namespace pvc::app
