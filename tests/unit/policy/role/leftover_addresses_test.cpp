// networking.md 6 "Stale addresses": what a daemon that starts does with addresses of the primary that it finds.
#include "pvcnoded/policy/role/leftover_addresses.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

struct leftover_case {
    const char* what;
    std::optional<named_primary> primary;
    bool was_primary;
    std::optional<duration> age;
    bool must_go;
    std::optional<duration> again;
};

TEST(leftover_addresses, table) {
    const named_primary self{"hv1"};
    const named_primary other{"hv2"};
    const named_primary nobody{};
    // KI 5, FI 6: the isolation limit is 55 s.
    const leftover_case cases[] = {
        {"case 39: another is primary", other, true, 1s, true, {}},
        {"case 39: nobody is", nobody, true, 1s, true, {}},
        {"case 39: this node is named", self, true, 1s, false, {}},
        {"it is named: the record does not matter", self, false, {}, false, {}},
        {"it is named, and the record is old", self, true, 100s, false, {}},
        {"case 95: a record of 20 s", {}, true, 20s, false, 35s},
        {"case 95: 35 s later", {}, true, 55s, true, {}},
        {"right before", {}, true, 55s - 1ns, false, 1ns},
        {"case 95: no record", {}, false, {}, true, {}},
        {"a record that says another role", {}, false, 1s, true, {}},
        {"a record without a heartbeat", {}, true, {}, true, {}},
    };
    for (const auto& row : cases) {
        leftover_view view;
        view.self = "hv1";
        view.primary = row.primary;
        view.was_primary = row.was_primary;
        view.heartbeat_age = row.age;
        const auto decision = decide_leftovers(view);
        EXPECT_EQ(decision.must_go, row.must_go) << row.what;
        EXPECT_EQ(decision.decide_again_in, row.again) << row.what;
        EXPECT_FALSE(decision.reason.empty()) << row.what;
    }
}

// Nobody can take over by fencing then.
TEST(leftover_addresses, without_fencing_a_record_does_not_grow_old) {
    leftover_view view;
    view.self = "hv1";
    view.was_primary = true;
    view.heartbeat_age = 24h;
    view.times.fence = 0;
    EXPECT_FALSE(decide_leftovers(view).must_go);
    view.was_primary = false;
    EXPECT_TRUE(decide_leftovers(view).must_go);
}

}  // namespace
}  // namespace pvc::policy
