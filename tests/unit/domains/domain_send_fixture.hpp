// What the tests of sending share: hv1 sends to hv2.
#pragma once

#include "domain_migration_fixture.hpp"

namespace pvc::node {

inline const std::string abort_call = "hv1: abort_migration U1";
inline const call_failure refused_by_target{call_error::other, "operation failed: the target refuses"};

class send_fixture : public migration_fixture {
protected:
    // As a flush writes it: without the client's lock.
    void flush_places(const std::string& state = "migrate", const std::string& last = "hv1") {
        forget();
        began = loop.clock().now();
        place(state, "hv2", last);
    }
    // hv1 sends to the reference on hv2 what writes faster than it can be copied.
    void a_busy_guest_is_copied(const std::map<std::string, std::string>& keys = {}) {
        hv1_runs_it(keys);
        add_reference("hv2");
        pass(1s);
        guest().set_kind(guest_kind::dirty);
        flush_places();
        ASSERT_TRUE(until_copying()) << story();
    }
    void refuse(int times, migration_step at = migration_step::copy) {
        for (int i = 0; i < times; ++i) {
            guest().fail_migration(at, refused_by_target);
        }
    }
    [[nodiscard]] std::string placement() const {
        return state() + " " + value(key("/node")) + " " + value(key("/lastnode"));
    }
    time_point began{};
};

}  // namespace pvc::node
