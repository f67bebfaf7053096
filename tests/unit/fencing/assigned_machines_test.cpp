// What nodes owe to the machines that belong to them is no room for those of a dead node (README ruling 44).
#include "recovery_fixture.hpp"

namespace pvc::node {
namespace {

class assigned_machines_test : public recovery_test {
protected:
    // hv3's machine needs 64 MiB: hv2 has 100 free and one of 64 of its own, hv4 has too little.
    assigned_machines_test() {
        offer("hv2", "100");
        offer("hv4", "50");
        put_machine(1);
        put_machine(7, "start", "hv2");
    }
    void say_statistics(int kib) {
        ensemble.put(model::domain_path(to_text(number(7)), "/stats"),
                     fmt::format(R"({{"state": "RUNNING", "mem_stats": {{"actual": 65536, "rss": {}}}}})", kib));
    }
};

TEST_F(assigned_machines_test, R44_what_it_has_not_touched_is_no_room) {
    say_statistics(1024);
    ensemble.put(model::domain_path(to_text(number(7)), "/state"), "start");
    say_statistics(1024);
    recover();
    EXPECT_EQ(end(1), guest_end::kept);
    EXPECT_EQ(why(1), "it needs 64 MiB, and the node with the most room lacks 14 MiB of that") << "hv4, by now";
}

TEST_F(assigned_machines_test, R44_what_it_has_touched_is_not_counted_twice) {
    say_statistics(65536);
    recover();
    EXPECT_EQ(where(1), "start hv2 hv3 False");
}

TEST_F(assigned_machines_test, R44_statistics_of_where_it_was_before_say_nothing) {
    say_statistics(65536);
    ensemble.put(model::domain_path(to_text(number(7)), "/state"), "start");
    recover();
    EXPECT_EQ(end(1), guest_end::kept);
}

TEST_F(assigned_machines_test, R44_one_that_migrates_is_still_elsewhere) {
    ensemble.put(model::domain_path(to_text(number(7)), "/state"), "migrate-live");
    say_statistics(65536);
    recover();
    EXPECT_EQ(end(1), guest_end::kept);
}

TEST_F(assigned_machines_test, R44_huge_pages_are_off_from_the_beginning) {
    auto xml = key_of(7, "/xml");
    xml.insert(xml.find("<devices>"), "<memoryBacking><hugepages/></memoryBacking>");
    ensemble.put(model::domain_path(to_text(number(7)), "/xml"), xml);
    say_statistics(1024);
    recover();
    EXPECT_EQ(where(1), "start hv2 hv3 False");
}

// What a machine has not used by then is its node's to promise again, as the free memory says.
TEST_F(assigned_machines_test, R44_one_that_was_started_long_ago_has_touched_what_it_uses) {
    say_statistics(1024);
    loop.run_for(10min);
    recover();
    EXPECT_EQ(where(1), "start hv2 hv3 False");
}

TEST_F(assigned_machines_test, R44_one_that_was_started_of_late_has_not) {
    loop.run_for(10min);
    ensemble.put(model::domain_path(to_text(number(7)), "/state"), "start");
    say_statistics(1024);
    loop.run_for(9min);
    recover();
    EXPECT_EQ(end(1), guest_end::kept);
}

TEST_F(assigned_machines_test, R44_one_that_migrates_for_long_is_still_elsewhere) {
    ensemble.put(model::domain_path(to_text(number(7)), "/state"), "migrate-live");
    say_statistics(65536);
    loop.run_for(11min);
    recover();
    EXPECT_EQ(end(1), guest_end::kept);
}

TEST_F(assigned_machines_test, R44_what_is_not_to_run_needs_nothing) {
    ensemble.put(model::domain_path(to_text(number(7)), "/state"), "stop");
    recover();
    EXPECT_EQ(where(1), "start hv2 hv3 False");
}

}  // namespace
}  // namespace pvc::node
