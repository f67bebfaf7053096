#include "adapter/system_files.hpp"

#include "adapter/owned_descriptor.hpp"
#include "adapter/routing_socket.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

namespace pvc::netlink {

namespace {

owned_descriptor open_file(const std::string& path, int how) {
    return owned_descriptor(::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW));
}

failure told(const std::string& path, int error, errc otherwise) {
    const bool is_missing = error == ENOENT || error == ENOTDIR || error == ENODEV;
    return failure(is_missing ? errc::not_found : otherwise, path, error_text(error));
}

}  // namespace

result<std::string> read_system_file(const std::string& path) {
    const owned_descriptor file = open_file(path, O_RDONLY);
    if (file.number() < 0) {
        return told(path, errno, errc::io);
    }
    std::array<char, 4096> text{};
    const ssize_t size = ::read(file.number(), text.data(), text.size());
    if (size < 0) {
        return told(path, errno, errc::io);
    }
    std::string value(text.data(), static_cast<std::size_t>(size));
    if (value.ends_with('\n')) {
        value.pop_back();
    }
    return value;
}

result<void> write_system_file(const std::string& path, const std::string& value) {
    const owned_descriptor file = open_file(path, O_WRONLY);
    if (file.number() < 0 || ::write(file.number(), value.data(), value.size()) < 0) {
        return told(path, errno, errc::refused);
    }
    return {};
}

result<std::vector<std::string>> names_in(const std::string& folder, std::size_t most) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
    if (open == nullptr) {
        return told(folder, errno, errc::io);
    }
    std::vector<std::string> names;
    while (names.size() < most) {
        const auto* const entry = ::readdir(open.get());  // NOLINT(concurrency-mt-unsafe): a stream of its own
        if (entry == nullptr) {
            break;
        }
        if (const std::string_view name(entry->d_name); name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    return names;
}

result<std::string> link_end(const std::string& path) {
    std::array<char, 4096> text{};
    const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
    if (size < 0) {
        return told(path, errno, errc::io);
    }
    const std::string_view target(text.data(), static_cast<std::size_t>(size));
    return std::string(target.substr(target.rfind('/') + 1));
}

bool is_there(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace pvc::netlink
