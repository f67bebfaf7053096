// Who cannot be asked has not agreed.
#include "pvcnoded/ctl/run.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

namespace pvc::ctl {
namespace {

// The standard input is no terminal as long as it lives.
class no_terminal {
public:
    no_terminal() : before_(::dup(STDIN_FILENO)) {
        const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::dup2(nothing, STDIN_FILENO);
        ::close(nothing);
    }
    no_terminal(const no_terminal&) = delete;
    no_terminal& operator=(const no_terminal&) = delete;
    ~no_terminal() {
        ::dup2(before_, STDIN_FILENO);
        ::close(before_);
    }

private:
    int before_;
};

TEST(ctl_cancel, is_not_done_where_nobody_can_be_asked) {
    const no_terminal here;
    EXPECT_EQ(run(parse_options({"--socket", "/nowhere", "tasks", "cancel", "7"}), {}), exit_status::usage);
    EXPECT_EQ(run(parse_options({"--socket", "/nowhere", "tasks", "cancel", "7", "--yes"}), {}),
              exit_status::no_daemon);
}

TEST(ctl_confirm, is_not_done_where_nobody_can_be_asked) {
    const no_terminal here;
    EXPECT_EQ(run(parse_options({"--socket", "/nowhere", "fence", "confirm", "hv3"}), {}), exit_status::usage);
    EXPECT_EQ(
        run(parse_options({"--socket", "/nowhere", "fence", "confirm", "hv3", "--yes-the-node-is-off", "hv3"}), {}),
        exit_status::no_daemon);
}

}  // namespace
}  // namespace pvc::ctl
