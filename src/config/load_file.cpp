// The only input and output of this layer (config.md 1).
#include "pvcnoded/config/load.hpp"
#include "pvcnoded/config/yaml.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace pvc::config {

namespace {

class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    ~descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

struct contents {
    std::string text;
    ::mode_t mode = 0;
    bool is_of_root_and_sudo = false;
    std::string who_can_change;
    std::string error;  // the system's words; empty = read
};

std::string error_text(int number) {
    return std::generic_category().message(number);
}

// In words; empty: nobody but root and the running user. In a folder with the sticky bit nobody replaces a file of
// somebody else.
std::string who_can_change(const std::string& what, const struct stat& status) {
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
        return fmt::format("{} of user {}", what, status.st_uid);
    }
    if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0) {
        return {};
    }
    if ((status.st_mode & S_IWOTH) != 0) {
        return what + " that everybody can write";
    }
    if ((status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 && status.st_gid != ::getegid()) {
        return fmt::format("{} that group {} can write", what, status.st_gid);
    }
    return {};
}

// The file as it is open, the folder that it was named in, and the one that it lies in.
std::string who_can_change_file(const std::string& path, const struct stat& file) {
    std::string found = who_can_change("a file", file);
    std::error_code ignored;
    for (const auto& name : {std::filesystem::path(path), std::filesystem::canonical(path, ignored)}) {
        const auto folder = name.has_parent_path() ? name.parent_path() : std::filesystem::path(".");
        struct stat status{};
        if (found.empty() && ::stat(folder.c_str(), &status) == 0) {
            found = who_can_change("a folder (" + folder.string() + ")", status);
        }
    }
    return found;
}

// The group's name is looked up, which may ask a server, only for a file that has the mode in question.
bool is_of_root_and_sudo(const struct stat& status) {
    constexpr ::mode_t deployed_mode = 0640;
    if ((status.st_mode & 07777) != deployed_mode || status.st_uid != 0) {
        return false;
    }
    constexpr std::size_t room = 16384;  // a group with many members does not fit, and is then not known
    std::string texts(room, '\0');
    struct group entry{};
    struct group* found = nullptr;
    return ::getgrnam_r("sudo", &entry, texts.data(), texts.size(), &found) == 0 && found != nullptr &&
           found->gr_gid == status.st_gid;
}

// One byte beyond the limit is enough to know that there is too much.
contents read_bounded(const std::string& path) {
    contents out;
    const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO must not hold us up
    struct stat status{};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0) {
        out.error = error_text(errno);
        return out;
    }
    if (!S_ISREG(status.st_mode)) {
        out.error = S_ISDIR(status.st_mode) ? error_text(EISDIR) : "Not a regular file";
        return out;
    }
    out.mode = status.st_mode & 07777;
    out.is_of_root_and_sudo = is_of_root_and_sudo(status);
    out.who_can_change = who_can_change_file(path, status);
    out.text.resize(max_file_bytes + 1);
    std::size_t used = 0;
    while (used < out.text.size()) {
        const auto got = ::read(file.number(), out.text.data() + used, out.text.size() - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            out.error = error_text(errno);
            return out;
        }
        if (got == 0) {
            break;
        }
        used += static_cast<std::size_t>(got);
    }
    out.text.resize(used);
    return out;
}

bool directory_exists(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_readable(const std::string& path) {
    return ::access(path.c_str(), R_OK) == 0;
}

}  // namespace

loaded load_file(const environment& from, host_facts facts) {
    const std::string path = from.config_file.value_or("");
    if (path.empty()) {
        loaded out;
        out.missing_variable = true;
        out.diagnostics.push_back(
            {severity::fatal, "PVCD_CONFIG_FILE", 0,
             "not set; expected the path of the configuration file in this environment variable"});
        return out;
    }
    const auto file = read_bounded(path);
    if (!file.error.empty()) {
        loaded out;
        out.diagnostics.push_back(
            {severity::fatal, path, 0, fmt::format("cannot be read; expected a readable file, got: {}", file.error)});
        return out;
    }
    if (!facts.directory_exists) {
        facts.directory_exists = directory_exists;
    }
    if (!facts.file_readable) {
        facts.file_readable = file_readable;
    }
    facts.file_mode = file.mode;
    facts.is_of_root_and_sudo = file.is_of_root_and_sudo;
    facts.who_can_change = file.who_can_change;
    return load_text(file.text, path, from.hostname, facts);
}

}  // namespace pvc::config
