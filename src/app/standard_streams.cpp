#include "standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

namespace pvc::app {

void repair_standard_streams() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            const int opened = open("/dev/null", descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY);
            if (opened >= 0 && opened != descriptor) {
                dup2(opened, descriptor);
                close(opened);
            }
        }
    }
}

void say(int descriptor, std::string_view line) {
    pollfd state{descriptor, POLLOUT, 0};
    if (poll(&state, 1, 0) != 1 || (state.revents & POLLOUT) == 0) {
        return;
    }
    // A pipe that is ready takes PIPE_BUF bytes at once.
    std::string text(line.substr(0, PIPE_BUF - 1));
    text += '\n';
    const auto written = write(descriptor, text.data(), text.size());
    static_cast<void>(written);
}

void print(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const auto written = write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

bool is_journal(int descriptor, const char* journal_stream) {
    struct stat identity{};
    if (journal_stream == nullptr || fstat(descriptor, &identity) != 0) {
        return false;
    }
    return std::string(journal_stream) == std::to_string(identity.st_dev) + ":" + std::to_string(identity.st_ino);
}

}  // namespace pvc::app
