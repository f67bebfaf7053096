// What other programs say: the words of systemctl, the address in NOTIFY_SOCKET (config.md 7.2).
#include "pvcnoded/services/notify_address.hpp"
#include "pvcnoded/services/systemctl_reply.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace pvc::services {
namespace {

async::process_outcome ended(int code, std::string output, std::string error_output = {}) {
    async::process_outcome outcome;
    outcome.how = async::exited{code};
    outcome.output = std::move(output);
    outcome.error_output = std::move(error_output);
    return outcome;
}

TEST(systemctl_reply, the_exit_status_decides_whether_a_unit_is_active) {
    EXPECT_EQ(activity_reply("a.service", ended(0, "active\n")).value(), true);
    EXPECT_EQ(activity_reply("a.service", ended(3, "active\n")).value(), false);
    EXPECT_EQ(activity_reply("a.service", ended(4, "")).value(), false);
    EXPECT_EQ(activity_reply("a.service", ended(1, "active\n")).error().code(), errc::refused);
}

TEST(systemctl_reply, how_it_ended_tells_refusals_from_absence) {
    EXPECT_TRUE(request_reply("a.service", ended(0, "", "warning")));
    EXPECT_EQ(request_reply("a.service", ended(5, "", "no such unit")).error().text(),
              "a.service: refused: no such unit");
    EXPECT_EQ(request_reply("a.service", ended(1, "", "Failed to connect to bus: x")).error().code(),
              errc::unavailable);
    auto outcome = ended(0, "", "half a");
    outcome.how = async::signalled{9};
    EXPECT_EQ(request_reply("a.service", outcome).error().code(), errc::unavailable);
    outcome.how = async::timed_out{};
    EXPECT_EQ(activity_reply("a.service", outcome).error().code(), errc::timed_out);
}

TEST(systemctl_reply, its_words_are_one_short_ascii_line) {
    const auto said = "\n\xe2\x97\x8f\x1b[2Jx\r\n" + std::string(1000, 'y');
    EXPECT_EQ(request_reply("a.service", ended(1, "out", said)).error().cause(), "????[2Jx?");
    const auto cause = request_reply("a.service", ended(1, std::string(1000, 'y'), " \n")).error().cause();
    EXPECT_EQ(cause, std::string(longest_systemctl_cause, 'y'));
    EXPECT_EQ(request_reply("a.service", ended(6, "", " \n\t")).error().cause(), "exit status 6");
}

TEST(notify_address, fits_or_is_none) {
    constexpr std::size_t room = sizeof(sockaddr_un::sun_path);
    const auto path = parse_notify_address("/" + std::string(room - 2, 'p'));
    ASSERT_TRUE(path);
    EXPECT_EQ(path->size, sizeof(sockaddr_un));
    EXPECT_EQ(path->address.sun_path[room - 1], '\0');
    const auto name = parse_notify_address("@" + std::string(room - 1, 'n'));
    ASSERT_TRUE(name);
    EXPECT_EQ(name->size, sizeof(sockaddr_un));
    EXPECT_EQ(name->address.sun_path[0], '\0');
    EXPECT_EQ(name->address.sun_path[room - 1], 'n');
    EXPECT_FALSE(parse_notify_address("/" + std::string(room - 1, 'p')));
    EXPECT_FALSE(parse_notify_address("@" + std::string(room, 'n')));
    for (const char* none : {"", "/", "@", "run/notify", "vsock:2:1"}) {
        EXPECT_FALSE(parse_notify_address(none)) << none;
    }
}

}  // namespace
}  // namespace pvc::services
