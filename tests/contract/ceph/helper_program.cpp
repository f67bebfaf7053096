#include "contract/ceph/helper_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

namespace pvc::contract {

namespace {

std::chrono::milliseconds left_until(std::chrono::steady_clock::time_point end) {
    return std::max(0ms, std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()));
}

std::vector<char*> words_of(std::vector<std::string>& all) {
    std::vector<char*> out;
    for (auto& one : all) {
        out.push_back(one.data());
    }
    out.push_back(nullptr);
    return out;
}

}  // namespace

void stub_control::tell(const std::string& lines) {
    folder_.write("control.new", lines);
    std::filesystem::rename(folder_ / "control.new", folder_ / "control");
}

std::vector<std::string> stub_control::log() const {
    std::istringstream text(folder_.read("control.log"));
    std::vector<std::string> out;
    for (std::string line; std::getline(text, line);) {
        out.push_back(line);
    }
    return out;
}

std::vector<std::string> stub_control::calls(const std::string& name) const {
    std::vector<std::string> out;
    for (const auto& line : log()) {
        if (line == name || line.starts_with(name + " ")) {
            out.push_back(line == name ? "" : line.substr(name.size() + 1));
        }
    }
    return out;
}

std::vector<std::string> stub_control::environment() const {
    std::vector<std::string> all{"LD_LIBRARY_PATH=" PVC_CEPH_STUB, "CEPH_STUB=" + (folder_ / "control")};
    for (const auto* name : {"PVC_GUARD_LEFT_OUT", "PVC_GUARDS_SEEN"}) {  // tests/long/guards
        if (const char* value = std::getenv(name)) {
            all.push_back(std::string(name) + "=" + value);
        }
    }
    return all;
}

helper_program::helper_program(const stub_control& stub, std::vector<std::string> arguments) {
    if (arguments.empty()) {
        arguments = {"--config", stub.folder() / "ceph.conf", "--keyring", stub.folder() / "keyring"};
    }
    arguments.insert(arguments.begin(), PVC_CEPH_HELPER);
    auto variables = stub.environment();
    const auto words = words_of(arguments);
    const auto environment = words_of(variables);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return;
    }
    const std::string errors_file = folder_ / "errors";
    id_ = ::fork();
    if (id_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(::open(errors_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), STDERR_FILENO);
        ::dup2(ends[1], 3);
        ::execve(words[0], words.data(), environment.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    socket_ = ends[0];
}

helper_program::~helper_program() {
    close_socket();
    if (id_ > 0) {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
    }
}

void helper_program::close_socket() {
    if (socket_ >= 0) {
        ::close(socket_);
        socket_ = -1;
    }
}

void helper_program::send_bytes(std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size <= 0) {
            return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
}

std::int64_t helper_program::send(asked what, std::chrono::milliseconds limit) {
    send_bytes(*encode(protocol::ceph::request{++last_id_, limit, std::move(what)}));
    return last_id_;
}

std::optional<protocol::frame> helper_program::next_frame(std::chrono::milliseconds within) {
    const auto end = std::chrono::steady_clock::now() + within;
    for (;;) {
        if (auto next = frames_.take(); next && *next) {
            return *std::move(next);
        }
        pollfd seen{socket_, POLLIN, 0};
        if (::poll(&seen, 1, static_cast<int>(left_until(end).count())) <= 0) {
            return std::nullopt;
        }
        const auto room = frames_.room();
        const ssize_t size = ::recv(socket_, room.data(), room.size(), 0);
        if (size <= 0) {
            return std::nullopt;
        }
        frames_.filled(static_cast<std::size_t>(size));
    }
}

std::string helper_program::build() {
    const auto frame = next_frame(5s);
    const auto greeting = frame ? protocol::ceph::parse_greeting(*frame) : result<protocol::ceph::greeting>(failure());
    is_greeted_ = true;
    return greeting && greeting->version == protocol::ceph::version ? greeting->build : "";
}

std::optional<protocol::ceph::answer> helper_program::next(std::chrono::milliseconds within) {
    if (!is_greeted_) {
        build();
    }
    auto frame = next_frame(within);
    if (!frame) {
        return std::nullopt;
    }
    auto answer = protocol::ceph::parse_answer(*std::move(frame));
    return answer ? std::optional(*std::move(answer)) : std::nullopt;
}

said helper_program::ask(asked what, std::chrono::milliseconds limit) {
    const auto id = send(std::move(what), limit);
    auto answer = next(limit + 10s);
    if (!answer || answer->id != id) {
        return protocol::ceph::say::failed{errc::unspecified, "the helper did not answer"};
    }
    return std::move(answer->what);
}

std::optional<int> helper_program::end_within(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    do {
        int status = 0;
        if (id_ > 0 && ::waitpid(id_, &status, WNOHANG) == id_) {
            id_ = -1;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        std::this_thread::sleep_for(2ms);
    } while (std::chrono::steady_clock::now() < end);
    return std::nullopt;
}

}  // namespace pvc::contract
