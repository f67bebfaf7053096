#include "adapter/host_files.hpp"

#include "pvcnoded/base/text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace pvc::services {

namespace {

constexpr mode_t parent_mode = 0755;

int make_one_directory(const std::string& path, mode_t mode, bool& is_new) {
    is_new = ::mkdir(path.c_str(), mode) == 0;
    if (is_new) {
        return 0;
    }
    if (errno != EEXIST) {
        return errno;
    }
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) {
        return errno;
    }
    return S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
}

struct account {
    uid_t user = 0;
    gid_t group = 0;
};

// Empty for an account that this machine does not have.
std::optional<account> find_account(const std::string& name) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> texts(16384);
    if (::getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found) != 0 || found == nullptr) {
        return std::nullopt;
    }
    return account{entry.pw_uid, entry.pw_gid};
}

// A file that is replaced keeps its mode.
mode_t mode_of(const std::string& path) {
    struct stat found{};
    // What is a link goes with it: what that leads to is another file.
    return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) ? found.st_mode & 07777 : 0644;
}

using open_directory = std::unique_ptr<DIR, int (*)(DIR*)>;

constexpr std::size_t names_max = 10'000;

// Calls `take` with each entry, until it says that it has enough.
template <class Take>
void each_entry(DIR* directory, Take take) {
    bool goes_on = true;
    while (goes_on) {
        const dirent* entry = ::readdir(directory);
        if (entry == nullptr) {
            return;
        }
        const std::string_view name = entry->d_name;
        goes_on = name == "." || name == ".." || take(*entry);
    }
}

// DT_DIR and so on; a symbolic link is one. Not every file system tells it with the name.
unsigned char kind_of(DIR* directory, const dirent& entry) {
    struct stat found{};
    if (entry.d_type != DT_UNKNOWN || ::fstatat(::dirfd(directory), entry.d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        return entry.d_type;
    }
    return static_cast<unsigned char>(IFTODT(found.st_mode));
}

// So that the new name survives a crash.
void sync_folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const file_descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.is_open()) {
        ::fsync(opened.get());
    }
}

}  // namespace

failure os_failure(std::string subject, int error) {
    const bool missing = error == ENOENT || error == ENOTDIR;
    return failure(missing ? errc::not_found : errc::io, std::move(subject), std::system_category().message(error));
}

failure io_failure(std::string subject, int error) {
    return failure(errc::io, std::move(subject), std::system_category().message(error));
}

file_descriptor::~file_descriptor() {
    if (number_ >= 0) {
        ::close(number_);
    }
}

int file_descriptor::release() {
    return std::exchange(number_, -1);
}

int write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (written == 0 || errno != EINTR) {
            return written == 0 ? EIO : errno;
        }
    }
    return 0;
}

result<void> make_directory_blocking(const std::string& path, std::uint32_t mode, const std::string& owner) {
    auto refused = [&path](int error) { return io_failure(path, error).during("making a directory"); };
    bool is_new = false;
    for (auto end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
        const int error = make_one_directory(path.substr(0, end), parent_mode, is_new);
        if (error != 0) {
            return refused(error);
        }
    }
    const int error = make_one_directory(path, parent_mode, is_new);
    if (error != 0) {
        return refused(error);
    }
    if (!is_new) {
        return {};  // it is as its administrator wants it
    }
    const file_descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened.is_open()) {
        return refused(errno);
    }
    const auto account = owner.empty() ? std::nullopt : find_account(owner);
    if (account && ::fchown(opened.get(), account->user, account->group) != 0) {
        return refused(errno);
    }
    // After the owner: a change of owner may clear bits. The mode is exact, whatever the umask is.
    if (::fchmod(opened.get(), static_cast<mode_t>(mode)) != 0) {
        return refused(errno);
    }
    return {};
}

result<void> replace_file_blocking(const std::string& path, const std::string& text) {
    std::string temporary = path + ".XXXXXX";
    const file_descriptor made(::mkostemp(temporary.data(), O_CLOEXEC));
    auto refused = [&path](int error) { return io_failure(path, error).during("writing a file"); };
    if (!made.is_open()) {
        return refused(errno);
    }
    int error = write_all(made.get(), text);
    if (error == 0 && (::fchmod(made.get(), mode_of(path)) != 0 || ::fsync(made.get()) != 0)) {
        error = errno;
    }
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
        error = errno;
    }
    if (error != 0) {
        ::unlink(temporary.c_str());
        return refused(error);
    }
    sync_folder_of(path);
    return {};
}

result<void> remove_file_blocking(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return io_failure(path, errno).during("removing a file");
    }
    return {};
}

// Nothing is followed: by the descriptor of the directory, what takes its place meanwhile is not touched either.
result<void> remove_folder_blocking(const std::string& path) {
    auto failed = [&path](int error) { return io_failure(path, error).during("removing a directory"); };
    file_descriptor found(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!found.is_open()) {
        if (errno == ENOENT) {
            return {};
        }
        return errno == ENOTDIR || errno == ELOOP ? failure(errc::refused, path, "it is no directory") : failed(errno);
    }
    const open_directory opened(::fdopendir(found.get()), ::closedir);
    if (!opened) {
        return failed(errno);
    }
    found.release();
    std::vector<std::string> files;
    std::string other;
    each_entry(opened.get(), [&](const dirent& entry) {
        if (kind_of(opened.get(), entry) == DT_REG) {
            files.emplace_back(entry.d_name);
        } else if (other.empty()) {
            other = entry.d_name;
        }
        return true;
    });
    for (const auto& name : files) {
        if (::unlinkat(::dirfd(opened.get()), name.c_str(), 0) != 0 && errno != ENOENT) {
            return failed(errno);
        }
    }
    if (!other.empty()) {
        return failure(errc::refused, path, "\"" + ascii_only(other) + "\" in it is no plain file");
    }
    return ::rmdir(path.c_str()) == 0 || errno == ENOENT ? result<void>() : failed(errno);
}

// Opened rather than asked about: what a program may read is more than its mode says.
result<void> can_read_blocking(const std::string& path) {
    const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (number < 0) {
        const failure why = os_failure(path, errno);
        return why.code() == errc::not_found ? why : failure(errc::refused, path, why.cause());
    }
    struct stat seen{};
    const bool is_file = ::fstat(number, &seen) == 0 && S_ISREG(seen.st_mode);
    ::close(number);
    return is_file ? result<void>() : failure(errc::refused, path, "it is no file");
}

result<std::vector<std::string>> file_names(const std::string& directory) {
    const open_directory opened(::opendir(directory.c_str()), ::closedir);
    if (!opened) {
        return os_failure(directory, errno);
    }
    std::vector<std::string> names;
    each_entry(opened.get(), [&](const dirent& entry) {
        names.emplace_back(entry.d_name);
        return names.size() < names_max;
    });
    return names;
}

result<std::vector<std::string>> folder_names(const std::string& directory) {
    const open_directory opened(::opendir(directory.c_str()), ::closedir);
    if (!opened) {
        return os_failure(directory, errno);
    }
    std::vector<std::string> names;
    each_entry(opened.get(), [&](const dirent& entry) {
        if (kind_of(opened.get(), entry) == DT_DIR) {
            names.emplace_back(entry.d_name);
        }
        return names.size() < names_max;
    });
    return names;
}

result<std::string> read_small_file(const std::string& path, std::size_t limit, links by_links) {
    // Not blocked by a pipe that nobody writes to.
    const int follow = by_links == links::are_followed ? 0 : O_NOFOLLOW;
    const file_descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow));
    if (!opened.is_open()) {
        const int error = errno;
        return error == ELOOP && follow != 0 ? failure(errc::io, path, "it is a symbolic link, which is not followed")
                                             : os_failure(path, error);
    }
    struct stat found{};
    if (::fstat(opened.get(), &found) != 0) {
        return os_failure(path, errno);
    }
    if (!S_ISREG(found.st_mode)) {
        return failure(errc::io, path, "not a regular file");
    }
    std::string text;
    std::array<char, 4096> part{};
    for (;;) {
        const ssize_t size = ::read(opened.get(), part.data(), part.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return os_failure(path, errno);
        }
        if (size == 0) {
            return text;
        }
        text.append(part.data(), static_cast<std::size_t>(size));
        if (text.size() > limit) {
            return failure(errc::too_large, path, "above " + std::to_string(limit) + " bytes");
        }
    }
}

}  // namespace pvc::services
