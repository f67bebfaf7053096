#include "pvcnoded/ctl/program.hpp"

#include "descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

namespace pvc::ctl {

namespace {

constexpr std::size_t output_bytes_max = 1UL << 20U;
constexpr int signal_status = 128;  // as shells have it

failure program_failure(errc code, const std::string& program, int number) {
    return failure(code, program, std::generic_category().message(number));
}

struct pipe_ends {
    descriptor read;
    descriptor write;
};

bool open_pipe(pipe_ends& into) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return false;
    }
    into.read = descriptor(ends[0]);
    into.write = descriptor(ends[1]);
    return true;
}

class spawn_actions {
public:
    spawn_actions() {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    spawn_actions(const spawn_actions&) = delete;
    spawn_actions& operator=(const spawn_actions&) = delete;
    ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    void connect(const descriptor& from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from.number(), to); }
    [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const auto& text : texts) {
        all.push_back(const_cast<char*>(text.c_str()));
    }
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
    std::vector<std::string> all = variables;
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view here = *one;
        const std::string_view name = here.substr(0, here.find('=') + 1);
        bool is_replaced = false;
        for (const auto& given : variables) {
            is_replaced = is_replaced || given.starts_with(name);
        }
        if (!is_replaced) {
            all.emplace_back(here);
        }
    }
    return all;
}

// What is there to read. False: the other side has closed it.
bool drain(const descriptor& from, std::string& into) {
    std::array<char, 65536> room{};
    const ssize_t size = ::read(from.number(), room.data(), room.size());
    if (size > 0) {
        into.append(room.data(), static_cast<std::size_t>(size));
    }
    return size > 0 || (size < 0 && errno == EINTR);
}

// Until both are closed. Errors: timed_out, too_large.
result<void> read_both(const std::string& program, descriptor& out, descriptor& err, const descriptor& timer,
                       program_output& into) {
    while (out.number() >= 0 || err.number() >= 0) {
        std::array<pollfd, 3> all{{{out.number(), POLLIN, 0}, {err.number(), POLLIN, 0}, {timer.number(), POLLIN, 0}}};
        ::poll(all.data(), all.size(), -1);
        if (all[0].revents != 0 && !drain(out, into.out)) {
            out.close();
        }
        if (all[1].revents != 0 && !drain(err, into.err)) {
            err.close();
        }
        if (into.out.size() + into.err.size() > output_bytes_max) {
            return failure(errc::too_large, program, "it writes without end");
        }
        if (all[2].revents != 0) {
            return failure(errc::timed_out, program, "it does not end");
        }
    }
    return {};
}

// Who has closed both may live on.
result<void> wait_for_end(const std::string& program, pid_t child, const descriptor& timer) {
    const descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    std::array<pollfd, 2> both{{{end.number(), POLLIN, 0}, {timer.number(), POLLIN, 0}}};
    ::poll(both.data(), both.size(), -1);
    return both[0].revents != 0 ? result<void>() : failure(errc::timed_out, program, "it does not end");
}

}  // namespace

descriptor timer_of(std::chrono::milliseconds time) {
    descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    itimerspec when{};
    when.it_value.tv_sec = time.count() / 1000;
    when.it_value.tv_nsec = time.count() % 1000 * 1'000'000;
    ::timerfd_settime(timer.number(), 0, &when, nullptr);
    return timer;
}

result<program_output> run_program(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                                   const std::vector<std::string>& variables) {
    const std::string& program = arguments.front();
    pipe_ends out;
    pipe_ends err;
    if (!open_pipe(out) || !open_pipe(err)) {
        return program_failure(errc::io, program, errno);
    }
    spawn_actions actions;
    actions.connect(out.write, STDOUT_FILENO);
    actions.connect(err.write, STDERR_FILENO);
    const auto environment = environment_with(variables);
    const descriptor timer = timer_of(limit);
    pid_t child = -1;
    const int code = ::posix_spawnp(&child, program.c_str(), actions.get(), nullptr, pointers_of(arguments).data(),
                                    pointers_of(environment).data());
    if (code != 0) {
        return program_failure(code == ENOENT ? errc::not_found : errc::io, program, code);
    }
    out.write.close();
    err.write.close();
    program_output got;
    auto ended = read_both(program, out.read, err.read, timer, got);
    ended = ended ? wait_for_end(program, child, timer) : ended;
    if (!ended) {
        ::kill(child, SIGKILL);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!ended) {
        return ended.error();
    }
    got.status = WIFEXITED(status) ? WEXITSTATUS(status) : signal_status + WTERMSIG(status);
    return got;
}

}  // namespace pvc::ctl
