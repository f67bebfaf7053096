// What is said of a bridge that a machine names.
#include "pvcnoded/core/host_bridges.hpp"

#include <gtest/gtest.h>

namespace pvc::core {
namespace {

using found = host_bridges::found;

host_bridges::look some_look() {
    return {.there = {"brcluster", "vmbr1", "vmbr4"},
            .knows_networks = true,
            .wanted = {{"vmbr1", ""}, {"vmbr2", ""}, {"vmbr3", "no such device"}, {"vmbr4", ""}},
            .refused = {{"vmbr4", "vlan4 is somebody else's"}}};
}

TEST(host_bridges, what_is_found) {
    host_bridges known;
    std::string_view why;
    EXPECT_EQ(known.find("vmbr9", why), found::there) << "nobody keeps bridges here: libvirt says what is missing";
    EXPECT_FALSE(known.are_coming());
    known.begin();
    EXPECT_TRUE(known.are_coming());
    EXPECT_EQ(known.find("vmbr9", why), found::coming) << "nobody has looked";
    EXPECT_EQ(why, "the links of this node were not seen yet");
    known.set(some_look(), true);
    EXPECT_EQ(known.find("vmbr1", why), found::there);
    EXPECT_EQ(known.find("brcluster", why), found::there);
    EXPECT_EQ(known.find("vmbr2", why), found::coming);
    EXPECT_EQ(why, "");
    EXPECT_EQ(known.find("vmbr3", why), found::coming);
    EXPECT_EQ(why, "no such device");
    EXPECT_EQ(known.find("vmbr4", why), found::refused) << "although a bridge of that name is there";
    EXPECT_EQ(why, "vlan4 is somebody else's");
    EXPECT_EQ(known.find("vmbr9", why), found::unknown);
    for (const auto* other : {"lab0", "vmbr", "vmbr9a", "brupstream"}) {
        EXPECT_EQ(known.find(other, why), found::coming) << other << " is no network's: somebody may make it";
    }
}

TEST(host_bridges, before_the_keys_are_read_no_network_is_missing) {
    host_bridges known;
    known.begin();
    known.set({}, false);
    std::string_view why;
    EXPECT_EQ(known.find("vmbr9", why), found::coming);
}

TEST(host_bridges, they_are_coming_until_all_was_right_once) {
    host_bridges known;
    known.begin();
    known.set(some_look(), false);
    EXPECT_TRUE(known.are_coming());
    known.set(some_look(), true);
    EXPECT_FALSE(known.are_coming());
    known.set({}, false);
    EXPECT_FALSE(known.are_coming()) << "once is enough";
    known.begin();
    EXPECT_TRUE(known.are_coming()) << "another attempt";
}

TEST(host_bridges, a_look_that_began_after_it_was_asked_for) {
    host_bridges known;
    known.begin();
    int wanted = 0;
    known.on_wanted = [&] { ++wanted; };
    known.begin_look();
    const auto asked = known.want_look();
    EXPECT_EQ(wanted, 1);
    known.set(some_look(), true);
    EXPECT_LE(known.last_look().value(), asked) << "it was under way";
    known.begin_look();
    known.set(some_look(), true);
    EXPECT_GT(known.last_look().value(), asked);
}

TEST(host_bridges, those_that_went_are_counted) {
    host_bridges known;
    known.begin();
    known.set(some_look(), true);
    known.set(some_look(), true);
    EXPECT_EQ(known.losses(), 0U);
    auto without = some_look();
    without.there.erase("vmbr1");
    known.set(without, true);
    known.set(some_look(), true);
    EXPECT_EQ(known.losses(), 1U);
}

TEST(host_bridges, only_news_are_told) {
    host_bridges known;
    known.begin();
    known.set(some_look(), true);
    const auto told = known.changes().value();
    known.set(some_look(), true);
    known.set(some_look(), false);
    EXPECT_EQ(known.changes().value(), told);
    known.set({}, true);
    EXPECT_EQ(known.changes().value(), told + 1);
}

}  // namespace
}  // namespace pvc::core
