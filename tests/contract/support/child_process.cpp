#include "contract/support/child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace pvc::contract {

child_process::child_process(const std::vector<std::string>& arguments, const streams& wanted,
                             const std::string& folder) {
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (const auto& one : arguments) {
        words.push_back(const_cast<char*>(one.c_str()));
    }
    words.push_back(nullptr);
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    const bool is_ready =
        (!wanted.has_input || pipe2(in, O_CLOEXEC) == 0) && (!wanted.output_file.empty() || pipe2(out, O_CLOEXEC) == 0);
    if (!is_ready) {
        throw std::runtime_error("no pipe for a child process");
    }
    const pid_t parent = getpid();
    id_ = fork();
    if (id_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || chdir(folder.c_str()) != 0) {
            _exit(126);
        }
        const int null = open("/dev/null", O_RDWR);
        dup2(wanted.has_input ? in[0] : null, 0);
        const int log =
            wanted.output_file.empty() ? -1 : open(wanted.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        dup2(log >= 0 ? log : out[1], 1);
        if (log >= 0) {
            dup2(log, 2);
        }
        closefrom(3);
        execvp(words[0], words.data());
        _exit(127);
    }
    if (in[0] >= 0) {
        close(in[0]);
        input_ = in[1];
    }
    if (out[0] >= 0) {
        close(out[1]);
        output_ = out[0];
        fcntl(output_, F_SETFL, O_NONBLOCK);
    }
    if (id_ < 0) {
        throw std::runtime_error("no child process");
    }
}

child_process::~child_process() {
    end(SIGKILL, 5.0);
    if (input_ >= 0) {
        close(input_);
    }
    if (output_ >= 0) {
        close(output_);
    }
}

void child_process::signal(int number) const {
    if (id_ <= 0) {
        return;
    }
    kill(id_, number);
    if (number == SIGSTOP) {
        // Its threads on other processors run on for a moment: it stands still when the system says that all do.
        siginfo_t info{};
        while (waitid(P_PID, static_cast<id_t>(id_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR) {
        }
    }
}

bool child_process::is_alive() {
    if (id_ > 0 && waitpid(id_, nullptr, WNOHANG) == id_) {
        id_ = -1;
    }
    return id_ > 0;
}

void child_process::end(int number, double seconds) {
    using namespace std::chrono;
    if (!is_alive()) {
        return;
    }
    signal(number);
    signal(SIGCONT);
    const auto limit = steady_clock::now() + std::chrono::duration<double>(seconds);
    while (is_alive() && steady_clock::now() < limit) {
        std::this_thread::sleep_for(milliseconds(2));
    }
    if (is_alive()) {
        signal(SIGKILL);
        waitpid(id_, nullptr, 0);
        id_ = -1;
    }
}

}  // namespace pvc::contract
