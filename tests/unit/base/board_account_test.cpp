// What may be wrong with the access to a management controller.
#include "pvcnoded/base/board_account.hpp"

#include <gtest/gtest.h>

namespace pvc {

TEST(board_account, hosts) {
    for (const char* good : {"hv1-lom", "hv1-lom.example.org", "10.0.0.1", "fe80::1", "fe80::1%eth0", "a_b"}) {
        EXPECT_EQ(trouble_with_board_host(good), "") << good;
    }
    EXPECT_EQ(trouble_with_board_host(""), "is empty");
    EXPECT_EQ(trouble_with_board_host(" \t\n"), "is blank");
    EXPECT_EQ(trouble_with_board_host("hv1 lom"), "is neither a host name nor an address: hv1 lom");
    EXPECT_EQ(trouble_with_board_host("\"hv1\""), "is neither a host name nor an address: \"hv1\"");
    EXPECT_EQ(trouble_with_board_host("hv1\n"), "is neither a host name nor an address: hv1?");
    EXPECT_EQ(trouble_with_board_host("-v"), "is neither a host name nor an address: -v");
    EXPECT_EQ(trouble_with_board_host(std::string("a\0b", 3)), "is neither a host name nor an address: a?b");
    EXPECT_EQ(trouble_with_board_host(std::string(10240, 'a')), "has 10240 bytes, more than the 253 that are possible");
}

TEST(board_account, users_and_passwords) {
    EXPECT_EQ(trouble_with_board_user(""), "");  // some boards have a user without a name
    EXPECT_EQ(trouble_with_board_user("two words '\""), "");
    EXPECT_EQ(trouble_with_board_user("a\nb"), "holds a control character: a?b");
    EXPECT_EQ(trouble_with_board_user(std::string(16, 'a')), "");
    EXPECT_EQ(trouble_with_board_user(std::string(17, 'a')), "has 17 bytes, more than the 16 that are possible");
    EXPECT_EQ(trouble_with_board_password("\"p w'"), "");
    EXPECT_EQ(trouble_with_board_password("pass\nword"), "holds a control character");
    EXPECT_EQ(trouble_with_board_password(std::string(20, 'a')), "");
    EXPECT_EQ(trouble_with_board_password(std::string(10240, 'a')),
              "has 10240 bytes, more than the 20 that are possible");
}

}  // namespace pvc
