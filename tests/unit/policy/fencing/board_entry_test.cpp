// The board of a node as its keys name it (README rulings 41, 42).
#include "pvcnoded/policy/fencing/board_entry.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

std::string entry_trouble_of(const std::optional<std::string>& host, const std::optional<std::string>& user,
                             const std::optional<std::string>& password) {
    return board_entry_of(host, user, password).trouble;
}

TEST(board_entry, of_keys) {
    const auto good = board_entry_of("hv3-lom", "admin", "Passw0rd");
    EXPECT_EQ(good.trouble, "");
    EXPECT_EQ(good.entry, (board_entry{"hv3-lom", "admin", secret("Passw0rd")}));
    EXPECT_EQ(entry_trouble_of("hv3-lom", "", ""), "");

    EXPECT_EQ(entry_trouble_of(std::nullopt, "admin", "x"), "its key ipmihostname is missing");
    EXPECT_EQ(entry_trouble_of("", "admin", "x"), "its key ipmihostname is empty");
    EXPECT_EQ(entry_trouble_of("  ", "admin", "x"), "its key ipmihostname is blank");
    EXPECT_EQ(entry_trouble_of("'hv3'", "admin", "x"),
              "its key ipmihostname is neither a host name nor an address: 'hv3'");
    EXPECT_EQ(entry_trouble_of("hv3\n", "admin", "x"),
              "its key ipmihostname is neither a host name nor an address: hv3?");
    EXPECT_EQ(entry_trouble_of("hv3", std::nullopt, "x"), "its key ipmiusername is missing");
    EXPECT_EQ(entry_trouble_of("hv3", std::string(10240, 'u'), "x"),
              "its key ipmiusername has 10240 bytes, more than the 16 that are possible");
    EXPECT_EQ(entry_trouble_of("hv3", "admin", std::nullopt), "its key ipmipassword is missing");
    EXPECT_EQ(entry_trouble_of("hv3", "admin", "hunter2\n"), "its key ipmipassword holds a control character");
    EXPECT_EQ(entry_trouble_of("hv3", "null", "null"), "user and password of its board are not configured");
}

TEST(board_entry, guids) {
    const std::string guid = "31303043-534d-2500-90d8-7a1600000000";
    EXPECT_EQ(read_board_guid(0, "System GUID  : " + guid + "\nTimestamp    : 01/02/1996\n"), guid);
    EXPECT_EQ(read_board_guid(0, "\nSystem GUID   : 31303043-534D-2500-90D8-7A1600000000 \r\n"), guid);
    EXPECT_EQ(read_board_guid(1, "System GUID  : " + guid + "\n"), "");
    EXPECT_EQ(read_board_guid(std::nullopt, "System GUID  : " + guid + "\n"), "");
    for (const char* none : {"", "System GUID", "System GUID  : \n", "System GUID  : garbage\n",
                             "System GUID  : 00000000-0000-0000-0000-000000000000\n",
                             "System GUID  : ffffffff-ffff-ffff-ffff-ffffffffffff\n"}) {
        EXPECT_EQ(read_board_guid(0, none), "") << none;
    }
    EXPECT_EQ(read_board_guid(0, std::string(100'000, 'x') + "\n" + std::string("System GUID  : \0\xff", 17)), "");
}

}  // namespace
}  // namespace pvc::policy
