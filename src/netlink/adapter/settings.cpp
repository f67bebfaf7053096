#include "adapter/settings.hpp"

#include "adapter/routing_socket.hpp"
#include "pvcnoded/base/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace pvc::netlink {

namespace {

// Empty: the key is none below that folder.
std::optional<std::string> path_of(const std::string& key) {
    const auto parts = split(key, '/');
    const bool is_inside =
        key.find('\0') == std::string::npos &&
        std::ranges::none_of(parts, [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
    return is_inside ? std::optional("/proc/sys/" + key) : std::nullopt;
}

class open_file {
public:
    open_file(const std::string& path, int how) : number_(::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW)) {}
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;
    ~open_file() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

failure no_such_key(const std::string& key) {
    return failure(errc::not_found, key, "this kernel has no such setting");
}

bool is_missing(int error) {
    return error == ENOENT || error == ENOTDIR;
}

}  // namespace

result<std::string> read_setting(const std::string& key) {
    const auto path = path_of(key);
    if (!path) {
        return no_such_key(key);
    }
    const open_file file(*path, O_RDONLY);
    if (file.number() < 0) {
        return is_missing(errno) ? no_such_key(key) : failure(errc::io, key, error_text(errno));
    }
    std::array<char, 4096> text{};
    const ssize_t size = ::read(file.number(), text.data(), text.size());
    if (size < 0) {
        return failure(errc::io, key, error_text(errno));
    }
    std::string value(text.data(), static_cast<std::size_t>(size));
    if (value.ends_with('\n')) {
        value.pop_back();
    }
    return value;
}

result<void> write_setting(const std::string& key, const std::string& value) {
    const auto path = path_of(key);
    if (!path) {
        return failure(errc::refused, key, "it is no key below /proc/sys");
    }
    const open_file file(*path, O_WRONLY);
    if (file.number() < 0) {
        return is_missing(errno) ? no_such_key(key) : failure(errc::refused, key, error_text(errno));
    }
    // In one piece: the kernel takes each for a value of its own.
    if (::write(file.number(), value.data(), value.size()) < 0) {
        return failure(errc::refused, key, error_text(errno));
    }
    return {};
}

}  // namespace pvc::netlink
