#include "adapter/socket_file.hpp"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace pvc::services {

namespace {

constexpr mode_t file_mode = 0660;
constexpr int backlog = 64;
constexpr std::size_t group_bytes_max = 1UL << 20U;  // of one with very many members

failure system_failure(const std::string& path, int code) {
    return failure(errc::io, path, std::generic_category().message(code));
}

std::optional<std::uint32_t> group_of(const std::string& name) {
    std::vector<char> room(16UL * 1024);
    for (;;) {
        group entry{};
        group* found = nullptr;
        const int code = ::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
        if (code == ERANGE && room.size() < group_bytes_max) {
            room.resize(room.size() * 2);
            continue;
        }
        return found == nullptr ? std::nullopt : std::optional<std::uint32_t>(found->gr_gid);
    }
}

}  // namespace

result<std::shared_ptr<socket_file>> socket_file::make_blocking(const std::string& path, const std::string& group) {
    struct stat before{};
    if (::lstat(path.c_str(), &before) == 0 && !S_ISSOCK(before.st_mode)) {
        return failure(errc::refused, path, "what stands there is no socket");
    }
    const std::string beside = path + ".new";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (beside.size() >= sizeof address.sun_path) {
        return failure(errc::invalid, path, "the path is too long for a socket");
    }
    std::memcpy(address.sun_path, beside.c_str(), beside.size() + 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        return system_failure(path, errno);
    }
    std::shared_ptr<socket_file> made(new socket_file(path, descriptor));
    ::unlink(beside.c_str());
    if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return system_failure(path, errno);
    }
    const auto published = made->publish(beside, group);
    if (!published) {
        ::unlink(beside.c_str());
        return published.error();
    }
    return made;
}

// Nobody can connect before listen(), and nobody looks for it before rename().
result<void> socket_file::publish(const std::string& beside, const std::string& group) {
    if (!group.empty()) {
        group_ = group_of(group);
    }
    struct stat made{};
    const gid_t owner = group_ ? *group_ : ::getegid();
    const bool is_ready = ::chown(beside.c_str(), ::geteuid(), owner) == 0 && ::chmod(beside.c_str(), file_mode) == 0 &&
                          ::lstat(beside.c_str(), &made) == 0 && ::listen(descriptor_, backlog) == 0 &&
                          std::rename(beside.c_str(), path_.c_str()) == 0;
    if (!is_ready) {
        return system_failure(path_, errno);
    }
    device_ = made.st_dev;
    inode_ = made.st_ino;
    is_published_ = true;
    return {};
}

int socket_file::release() {
    return std::exchange(descriptor_, -1);
}

bool socket_file::is_there() const {
    struct stat now{};
    return is_published_ && ::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

socket_file::~socket_file() {
    if (is_there()) {
        ::unlink(path_.c_str());
    }
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

}  // namespace pvc::services
