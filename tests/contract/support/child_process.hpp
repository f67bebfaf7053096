// A child process of a test: started, signalled, and gone when the object goes, or when the test program dies.
#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

namespace pvc::contract {

class child_process {
public:
    struct streams {
        std::string output_file;  // appended to; "" = a pipe, see output()
        bool has_input = false;   // a pipe, see input()
    };
    child_process(const std::vector<std::string>& arguments, const streams& wanted, const std::string& folder = ".");
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process();

    // A stopped process is continued first unless the signal is one that works on it.
    void signal(int number) const;
    [[nodiscard]] bool is_alive();
    // SIGTERM, and SIGKILL after `seconds`.
    void end(int number, double seconds);
    [[nodiscard]] int input() const { return input_; }
    [[nodiscard]] int output() const { return output_; }
    [[nodiscard]] pid_t id() const { return id_; }

private:
    pid_t id_ = -1;
    int input_ = -1;
    int output_ = -1;
};

}  // namespace pvc::contract
