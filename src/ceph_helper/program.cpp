#include "pvcnoded/ceph_helper/program.hpp"

#include "pvcnoded/ceph_helper/options.hpp"
#include "pvcnoded/ceph_helper/server.hpp"

#include "process_state.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string_view>

namespace pvc::ceph_helper {

namespace {

constexpr int talk_descriptor = 3;
constexpr unsigned first_other_descriptor = 4;

namespace exit_status {
constexpr int good = 0;
constexpr int not_understood = 1;
constexpr int usage = 2;
}  // namespace exit_status

void print(int where, const std::string& text) {
    // Nobody may listen; there is nothing else to say it to.
    [[maybe_unused]] const ssize_t unused = ::write(where, text.data(), text.size());
}

// Nothing is tidied up: a thread may hang in the library for ever.
[[noreturn]] void leave(int status, std::string_view why = {}) {
    if (!why.empty()) {
        print(STDERR_FILENO, "pvcnoded-ceph: " + std::string(why) + "\n");
    }
    ::_exit(status);
}

bool is_stream_socket(int descriptor) {
    int kind = 0;
    socklen_t size = sizeof kind;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_STREAM;
}

// Whoever started this may have died before it was tied to that.
bool is_left_alone() {
    pollfd seen{talk_descriptor, 0, 0};
    return ::poll(&seen, 1, 0) > 0 && (seen.revents & (POLLHUP | POLLERR)) != 0;
}

// Answers may be large, and the threads of the library many: what is freed goes back to the system.
void bound_heap() {
    ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    ::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    ::mallopt(M_ARENA_MAX, 2);
}

}  // namespace

int run_program(int argc, char** argv) {
    die_with_parent();
    const auto options = parse_options({argv + 1, argv + argc});
    if (options.wants_help || options.wants_version) {
        print(STDOUT_FILENO, options.wants_help ? help_text() : "pvcnoded-ceph " PVC_VERSION "\n");
        return exit_status::good;
    }
    if (!options.problem.empty()) {
        leave(exit_status::usage, options.problem);
    }
    if (!is_stream_socket(talk_descriptor)) {
        leave(exit_status::usage, "descriptor 3 is no socket: pvcnoded starts this program, it is of no use by itself");
    }
    ::signal(SIGPIPE, SIG_IGN);
    confine(first_other_descriptor);
    die_with_parent();
    if (is_left_alone()) {
        leave(exit_status::good);
    }
    bound_heap();
    try {
        const auto end = serve(talk_descriptor, {options.config_file, options.keyring}, PVC_VERSION);
        leave(end.what == ending::socket_ended ? exit_status::good : exit_status::not_understood, end.why);
    } catch (const std::exception& error) {
        leave(exit_status::not_understood, error.what());
    }
}

}  // namespace pvc::ceph_helper
