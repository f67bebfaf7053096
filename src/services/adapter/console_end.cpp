#include "adapter/console_end.hpp"

#include "adapter/host_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

namespace pvc::services {

namespace {

constexpr mode_t console_mode = 0600;
constexpr std::size_t block_bytes = 64UL * 1024;
constexpr int tries_max = 3;

bool is_missing(int error) {
    return error == ENOENT || error == ENOTDIR;
}

// Fills `block` from the offset on. Less than asked for: the file has become shorter.
result<bool> read_block(int file, std::size_t offset, std::string& block) {
    std::size_t filled = 0;
    while (filled < block.size()) {
        const ssize_t size =
            ::pread(file, block.data() + filled, block.size() - filled, static_cast<off_t>(offset + filled));
        if (size < 0 && errno != EINTR) {
            return os_failure({}, errno);
        }
        if (size == 0) {
            return false;
        }
        filled += size < 0 ? 0 : static_cast<std::size_t>(size);
    }
    return true;
}

// Where the kept part of a block begins: behind the newline that ends the line before the last `lines`. `seen` counts
// the newlines found so far, without the one at the very end of the file.
std::optional<std::size_t> start_in_block(std::string_view block, bool is_last, std::size_t lines, std::size_t& seen) {
    std::size_t end = block.size() - (is_last && block.ends_with('\n') ? 1 : 0);
    while (end > 0) {
        const auto newline = block.rfind('\n', end - 1);
        if (newline == std::string_view::npos) {
            return std::nullopt;
        }
        if (++seen == lines) {
            return newline + 1;
        }
        end = newline;
    }
    return std::nullopt;
}

// Blocks from the end of the file backwards. Empty: the file became shorter meanwhile.
result<std::optional<std::string>> read_end(int file, std::size_t size, std::size_t lines, std::size_t bytes) {
    const std::size_t least = size - std::min(size, bytes);
    std::vector<std::string> blocks;
    std::size_t seen = 0;
    for (std::size_t begin = size; begin > least;) {
        std::string block(std::min(block_bytes, begin - least), '\0');
        begin -= block.size();
        PVC_TRY(const bool whole, read_block(file, begin, block));
        if (!whole) {
            return std::optional<std::string>();
        }
        const auto start = start_in_block(block, blocks.empty(), lines, seen);
        blocks.push_back(start ? block.substr(*start) : std::move(block));
        if (start) {
            break;
        }
    }
    std::string text;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
        text += *block;
    }
    return std::optional(std::move(text));
}

// Looked at before it is opened: opening a pipe or a device has effects.
result<bool> is_there(const std::string& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) {
        return is_missing(errno) ? result<bool>(false) : io_failure(path, errno);
    }
    if (!S_ISREG(found.st_mode)) {
        return failure(errc::io, path, "not a regular file");
    }
    return true;
}

}  // namespace

result<void> ensure_console_blocking(const std::string& path) {
    const file_descriptor made(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, console_mode));
    if (!made.is_open()) {
        return errno == EEXIST ? result<void>() : io_failure(path, errno);
    }
    // Exactly this mode, whatever the umask is.
    return ::fchmod(made.get(), console_mode) == 0 ? result<void>() : io_failure(path, errno);
}

result<std::string> read_console_end_blocking(const std::string& path, std::size_t lines, std::size_t bytes) {
    PVC_TRY(const bool there, is_there(path));
    if (!there || lines == 0) {
        return std::string();
    }
    const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
    if (!file.is_open()) {
        return is_missing(errno) ? result<std::string>(std::string()) : io_failure(path, errno);
    }
    for (int tried = 0; tried < tries_max; ++tried) {
        struct stat found{};
        if (::fstat(file.get(), &found) != 0) {
            return io_failure(path, errno);
        }
        if (!S_ISREG(found.st_mode)) {
            return failure(errc::io, path, "not a regular file");
        }
        auto text = read_end(file.get(), static_cast<std::size_t>(found.st_size), lines, bytes);
        if (!text) {
            return failure(errc::io, path, text.error().cause());
        }
        if (*text) {
            return std::move(**text);
        }
    }
    return failure(errc::io, path, "it is truncated again and again");
}

}  // namespace pvc::services
