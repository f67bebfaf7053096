#include "adapter/child_process.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <sys/wait.h>
#include <csignal>
#include <ctime>

namespace pvc::async {

child_process::child_process(spawned_process parts, std::size_t output_bytes, std::function<void()> left)
    : leader_(std::move(parts.leader)),
      group_(leader_.id()),
      ended_(std::move(parts.ended)),
      input_pipe_(std::move(parts.input)),
      output_{std::move(parts.output), bounded_text(output_bytes)},
      error_output_{std::move(parts.error_output), bounded_text(output_bytes)},
      left_(std::move(left)) {}

child_process::~child_process() {
    if (!reaped_) {
        // Boost's handle would wait without a limit. Only when the loop goes before the program.
        ::kill(-group_, SIGKILL);
        for (int attempt = 0; attempt < 200 && ::waitpid(group_, nullptr, WNOHANG) == 0; ++attempt) {
            const timespec pause{0, 5'000'000};
            ::nanosleep(&pause, nullptr);
        }
        leader_.detach();
    }
    left_();
}

void child_process::start(std::string input) {
    input_ = std::move(input);
    if (input_pipe_.is_open()) {
        write_input();
    }
    read(output_);
    read(error_output_);
    watch();
}

void child_process::write_input() {
    boost::asio::async_write(input_pipe_, boost::asio::buffer(input_),
                             [self = shared_from_this()](const error_code& code, std::size_t /*size*/) {
                                 if (code != boost::asio::error::operation_aborted) {
                                     self->input_pipe_.close();
                                 }
                             });
}

void child_process::read(stream& from) {
    from.pipe.async_read_some(boost::asio::buffer(from.part),
                              [self = shared_from_this(), &from](const error_code& code, std::size_t size) {
                                  from.text.add({from.part.data(), size});
                                  if (!code) {
                                      self->read(from);
                                  } else if (from.pipe.is_open()) {
                                      from.pipe.close();
                                      self->tell();
                                  }
                              });
}

void child_process::watch() {
    ended_.async_wait(loop_descriptor::wait_read, [self = shared_from_this()](const error_code& code) {
        if (code) {
            return;
        }
        if (self->has_ended()) {
            self->reap();
        } else {
            self->watch();
        }
    });
}

// Asio 1.26 may report readiness by mistake: a descriptor that is made while the event of a closed one is still queued
// inherits that event (seen with two descriptors that became ready together). A read finds nothing then; a wait
// believes it, and Boost's async_wait() would go on to block in waitpid().
bool child_process::has_ended() const {
    siginfo_t found{};
    const int failed = ::waitid(P_PID, static_cast<id_t>(group_), &found, WEXITED | WNOHANG | WNOWAIT);
    return failed != 0 || found.si_pid != 0;
}

void child_process::reap() {
    // The zombie keeps the number of the group: this cannot reach anybody else.
    if (ending_) {
        ::kill(-group_, SIGKILL);
    }
    error_code code;
    const bool running = leader_.running(code);
    if (!code && !running) {
        status_ = leader_.native_exit_code();
    }
    reaped_ = true;
    // From here on the process number is not ours any more.
    leader_.detach();
    ended_.close();
    tell();
}

void child_process::end_group(int signal) {
    ending_ = true;
    if (!reaped_ && ::kill(-group_, signal) != 0) {
        ::kill(group_, signal);  // the leader moved to another group
    }
}

void child_process::close_pipes() {
    error_code ignored;
    input_pipe_.close(ignored);
    output_.pipe.close(ignored);
    error_output_.pipe.close(ignored);
}

void child_process::tell() {
    if (changed) {
        changed->notify();
    }
}

}  // namespace pvc::async
