// A started program: collects what it prints, notices its end, reaps it. Shared by run(), which waits for it, and by
// the handlers of its descriptors; the last of them gives its place back.
#pragma once

#include "adapter/spawn.hpp"
#include "pvcnoded/async/bounded_text.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>

namespace pvc::async {

class child_process : public std::enable_shared_from_this<child_process> {
public:
    // `left` is called when nothing of the child is left here.
    child_process(spawned_process parts, std::size_t output_bytes, std::function<void()> left);
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    // A leader that was not reaped yet is killed with its group and gets a moment to be reaped.
    ~child_process();

    // Starts writing the input, reading the outputs and watching for the end.
    void start(std::string input);

    // To the whole group. From the first call on, what is left of the group is killed when the leader ends.
    void end_group(int signal);
    [[nodiscard]] bool is_reaped() const { return reaped_; }
    [[nodiscard]] bool outputs_closed() const { return !output_.pipe.is_open() && !error_output_.pipe.is_open(); }
    // Stops reading and writing; what was read stays.
    void close_pipes();
    // Drops whoever waits on `changed`, with its frame.
    void abandon() { changed.reset(); }

    // Notified when it was reaped and when an output was closed.
    std::unique_ptr<wakeup> changed = std::make_unique<wakeup>();

    // As waitpid() gives it; empty if somebody else collected it. Once reaped.
    [[nodiscard]] const std::optional<int>& status() const { return status_; }
    [[nodiscard]] std::string take_output() { return output_.text.take(); }
    [[nodiscard]] std::string take_error_output() { return error_output_.text.take(); }
    [[nodiscard]] bool truncated() const { return output_.text.truncated() || error_output_.text.truncated(); }

private:
    struct stream {
        loop_descriptor pipe;
        bounded_text text;
        std::array<char, 4096> part{};
    };
    void write_input();
    void read(stream& from);
    void watch();
    [[nodiscard]] bool has_ended() const;
    void reap();
    void tell();

    boost::process::v2::basic_process<loop_executor> leader_;
    const pid_t group_;
    loop_descriptor ended_;
    loop_descriptor input_pipe_;
    std::string input_;
    stream output_;
    stream error_output_;
    std::function<void()> left_;
    std::optional<int> status_;
    bool ending_ = false;
    bool reaped_ = false;
};

}  // namespace pvc::async
