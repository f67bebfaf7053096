// What a guest can cause as often as it likes is told once, then counted.
#include "pvcnoded/policy/domains/guest_noise.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using noise = guest_noise_kind;

const uuid loud_guest = *parse_uuid("00000001-aaaa-4bbb-8ccc-000000000001");
const uuid other_guest = *parse_uuid("00000002-aaaa-4bbb-8ccc-000000000002");
constexpr time_point noise_begins{100s};

std::vector<std::string> told_by(guest_noise& all, time_point now) {
    std::vector<std::string> out;
    for (const auto& one : all.take_due(now)) {
        out.push_back((one.guest == loud_guest ? "loud: " : "other: ") + to_text(one));
    }
    return out;
}
using texts = std::vector<std::string>;

TEST(guest_noise, the_first_then_a_count_a_minute) {
    policy::guest_noise all;
    EXPECT_FALSE(all.next_due());
    EXPECT_TRUE(all.is_first(loud_guest, noise::reboot, {}, noise_begins));
    int told = 0;
    for (int i = 1; i < 600; ++i) {
        told += all.is_first(loud_guest, noise::reboot, {}, noise_begins + i * 100ms) ? 1 : 0;
    }
    EXPECT_EQ(told, 0);
    EXPECT_EQ(all.next_due(), noise_begins + 1min);
    EXPECT_EQ(told_by(all, noise_begins + 59s), texts());
    EXPECT_EQ(told_by(all, noise_begins + 1min), texts{"loud: the guest rebooted 599 more time(s) in the last minute"});
    EXPECT_EQ(all.next_due(), noise_begins + 2min);
    EXPECT_FALSE(all.is_first(loud_guest, noise::reboot, {}, noise_begins + 90s)) << "it goes on";
    EXPECT_EQ(told_by(all, noise_begins + 2min), texts{"loud: the guest rebooted 1 more time(s) in the last minute"});
}

TEST(guest_noise, each_kind_and_each_guest_by_itself) {
    policy::guest_noise all;
    for (const auto what : {noise::reboot, noise::io_error, noise::watchdog, noise::sleep}) {
        for (const auto& id : {loud_guest, other_guest}) {
            EXPECT_TRUE(all.is_first(id, what, "first", noise_begins));
            EXPECT_FALSE(all.is_first(id, what, "vda", noise_begins + 1s));
            EXPECT_FALSE(all.is_first(id, what, "vdb", noise_begins + 2s));
        }
    }
    EXPECT_EQ(told_by(all, noise_begins + 1min),
              (texts{"loud: the guest rebooted 2 more time(s) in the last minute",
                     "loud: 2 more I/O error(s) of its disks in the last minute, the last one of vdb",
                     "loud: its watchdog fired 2 more time(s) in the last minute, the last time: vdb",
                     "loud: the guest fell asleep 2 more time(s) in the last minute",
                     "other: the guest rebooted 2 more time(s) in the last minute",
                     "other: 2 more I/O error(s) of its disks in the last minute, the last one of vdb",
                     "other: its watchdog fired 2 more time(s) in the last minute, the last time: vdb",
                     "other: the guest fell asleep 2 more time(s) in the last minute"}));
}

TEST(guest_noise, who_was_quiet_for_a_minute_is_told_at_once_again) {
    policy::guest_noise all;
    EXPECT_TRUE(all.is_first(loud_guest, noise::io_error, "vda", noise_begins));
    EXPECT_EQ(told_by(all, noise_begins + 1min), texts());
    EXPECT_FALSE(all.next_due()) << "nothing is kept of it";
    EXPECT_TRUE(all.is_first(loud_guest, noise::io_error, "vda", noise_begins + 61s));
}

}  // namespace
}  // namespace pvc::policy
