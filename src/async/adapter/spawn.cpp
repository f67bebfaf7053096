#include "adapter/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace pvc::async {

namespace {

class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int number) : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    descriptor(descriptor&& other) noexcept : number_(other.release()) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] int get() const { return number_; }
    int release() { return std::exchange(number_, -1); }

private:
    int number_ = -1;
};

struct pipe_ends {
    descriptor read;
    descriptor write;
};

failure os_failure(const command& what, int error) {
    const bool missing = error == ENOENT || error == ENOTDIR;
    // Not through std::system_category(): UBSan checks its virtual call with a pipe, and there may be no descriptor
    // left.
    const char* words = strerrordesc_np(error);
    return failure(missing ? errc::not_found : errc::io, what.arguments.front(), words != nullptr ? words : "error");
}

// Standard descriptors of ours may be closed; a pipe that took their numbers would be overwritten in the child.
int above_standard(descriptor& end) {
    if (end.get() <= STDERR_FILENO) {
        end = descriptor(::fcntl(end.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    }
    return end.get() < 0 ? errno : 0;
}

int make_pipe(pipe_ends& ends) {
    std::array<int, 2> numbers{};
    if (::pipe2(numbers.data(), O_CLOEXEC) != 0) {
        return errno;
    }
    ends = {descriptor(numbers[0]), descriptor(numbers[1])};
    const int error = above_standard(ends.read);
    return error != 0 ? error : above_standard(ends.write);
}

class spawn_attributes {
public:
    spawn_attributes() {
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawnattr_setflags(&attributes_,
                                   POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
    }
    spawn_attributes(const spawn_attributes&) = delete;
    spawn_attributes& operator=(const spawn_attributes&) = delete;
    ~spawn_attributes() { ::posix_spawnattr_destroy(&attributes_); }
    [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

class spawn_actions {
public:
    spawn_actions(int input, int output, int error_output, int socket) {
        ::posix_spawn_file_actions_init(&actions_);
        if (input >= 0) {
            ::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
        } else {
            ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        }
        ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions_, error_output, STDERR_FILENO);
        constexpr int first_free = STDERR_FILENO + 1;
        if (socket >= 0) {  // the last one: whatever had that number was copied before
            ::posix_spawn_file_actions_adddup2(&actions_, socket, first_free);
        }
        // What libraries opened without O_CLOEXEC (glibc 2.34).
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, socket >= 0 ? first_free + 1 : first_free);
    }
    spawn_actions(const spawn_actions&) = delete;
    spawn_actions& operator=(const spawn_actions&) = delete;
    ~spawn_actions() { ::posix_spawn_file_actions_destroy(&actions_); }
    [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

// Null-terminated, as exec takes it. The pointers live as long as `command` and this.
class argument_block {
public:
    explicit argument_block(const command& what) {
        for (const auto& argument : what.arguments) {
            arguments_.push_back(const_cast<char*>(argument.c_str()));  // POSIX: not modified
        }
        arguments_.push_back(nullptr);
        for (const auto& [name, value] : what.environment) {
            own_.push_back(name + '=' + value);
        }
        for (char** entry = environ; *entry != nullptr; ++entry) {
            if (!is_replaced(*entry, what)) {
                environment_.push_back(*entry);
            }
        }
        for (auto& entry : own_) {
            environment_.push_back(entry.data());
        }
        environment_.push_back(nullptr);
    }
    [[nodiscard]] char* const* arguments() const { return arguments_.data(); }
    [[nodiscard]] char* const* environment() const { return environment_.data(); }

private:
    static bool is_replaced(std::string_view entry, const command& what) {
        const std::string_view name = entry.substr(0, entry.find('='));
        for (const auto& [replaced, value] : what.environment) {
            if (replaced == name) {
                return true;
            }
        }
        return false;
    }
    std::vector<char*> arguments_;
    std::vector<std::string> own_;
    std::vector<char*> environment_;
};

// Throws system_error if the reactor does not take the descriptor.
loop_descriptor adopt(const loop_executor& executor, descriptor& end) {
    loop_descriptor adopted(executor);
    if (end.get() >= 0) {
        adopted.assign(end.get());
        static_cast<void>(end.release());
    }
    return adopted;
}

// The daemon is the last that the kernel should end for want of memory (OOMScoreAdjust of its unit); what it starts is
// a process like any other. Nobody is told if that fails: it is a preference.
void reset_oom_score(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/oom_score_adj";
    const descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const ssize_t written = file.get() >= 0 ? ::write(file.get(), "0", 1) : -1;
    static_cast<void>(written);
}

void kill_and_reap(pid_t leader) {
    ::kill(-leader, SIGKILL);
    ::waitpid(leader, nullptr, 0);
}

}  // namespace

result<spawned_process> spawn(const loop_executor& executor, const command& what) {
    if (what.arguments.empty() || what.arguments.front().empty()) {
        return failure(errc::invalid, "command", "no program named");
    }
    pipe_ends input;
    pipe_ends output;
    pipe_ends error_output;
    int error = what.input.empty() ? 0 : make_pipe(input);
    error = error != 0 ? error : make_pipe(output);
    error = error != 0 ? error : make_pipe(error_output);
    if (error != 0) {
        return os_failure(what, error).during("making a pipe");
    }
    const spawn_actions actions(input.read.get(), output.write.get(), error_output.write.get(), what.socket);
    const spawn_attributes attributes;
    const argument_block block(what);
    pid_t pid = -1;
    error = ::posix_spawnp(&pid, what.arguments.front().c_str(), actions.get(), attributes.get(), block.arguments(),
                           block.environment());
    if (error != 0) {
        return os_failure(what, error);
    }
    reset_oom_score(pid);
    // pidfd_open sets close-on-exec by itself; glibc 2.36 does not wrap it.
    descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    descriptor ended(handle.get() < 0 ? -1 : ::fcntl(handle.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (ended.get() < 0) {
        error = errno;
        kill_and_reap(pid);
        return os_failure(what, error).during("watching a process");
    }
    try {
        boost::process::v2::basic_process<loop_executor> leader(executor, pid, handle.get());
        static_cast<void>(handle.release());
        return spawned_process{std::move(leader), adopt(executor, ended), adopt(executor, input.write),
                               adopt(executor, output.read), adopt(executor, error_output.read)};
    } catch (const boost::system::system_error& refused) {
        kill_and_reap(pid);
        return os_failure(what, refused.code().value()).during("watching a process");
    }
}

}  // namespace pvc::async
