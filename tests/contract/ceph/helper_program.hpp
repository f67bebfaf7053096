// pvcnoded-ceph, started as the daemon starts it and spoken to frame by frame; with the stand-ins of Ceph's libraries
// or with the real ones. Gone with the object.
#pragma once

#include "contract/process_bench.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace pvc::contract {

using said = decltype(protocol::ceph::answer::what);
using asked = decltype(protocol::ceph::request::what);

// What the stand-ins are told (tests/ceph_stub/stub.hpp), and what they noted.
class stub_control {
public:
    void tell(const std::string& lines);
    // The calls of that name, each with what it was about.
    [[nodiscard]] std::vector<std::string> calls(const std::string& name) const;
    [[nodiscard]] std::vector<std::string> log() const;
    [[nodiscard]] std::vector<std::string> environment() const;
    [[nodiscard]] const scratch_folder& folder() const { return folder_; }

private:
    scratch_folder folder_;
};

class helper_program {
public:
    explicit helper_program(const stub_control& stub, std::vector<std::string> arguments = {});
    helper_program(const helper_program&) = delete;
    helper_program& operator=(const helper_program&) = delete;
    ~helper_program();

    // The answer to a question; a failure of the test's own has no code that the helper gives.
    said ask(asked what, std::chrono::milliseconds limit = 5s);
    // Its id.
    std::int64_t send(asked what, std::chrono::milliseconds limit = 5s);
    std::optional<protocol::ceph::answer> next(std::chrono::milliseconds within = 5s);
    void send_bytes(std::string_view bytes) const;
    void close_socket();

    [[nodiscard]] pid_t id() const { return id_; }
    // Its exit status, or the number of a signal and 128; none: it lives on.
    std::optional<int> end_within(std::chrono::milliseconds time);
    [[nodiscard]] std::string errors() const { return folder_.read("errors"); }
    // Of its greeting; waits for it.
    std::string build();

private:
    std::optional<protocol::frame> next_frame(std::chrono::milliseconds within);

    scratch_folder folder_;
    pid_t id_ = -1;
    int socket_ = -1;
    std::int64_t last_id_ = 0;
    bool is_greeted_ = false;
    protocol::frame_reader frames_;
};

}  // namespace pvc::contract
