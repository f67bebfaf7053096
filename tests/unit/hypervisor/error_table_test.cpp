#include "pvcnoded/hypervisor/error_table.hpp"

#include <gtest/gtest.h>

namespace pvc::hypervisor {
namespace {

uuid id_of(std::string_view text) {
    return *parse_uuid(text);
}
const uuid ours = id_of("4af9ac4c-2c2c-4a58-9f7f-1d2c3b4a5968");

TEST(error_table, numbers_that_mean_the_same_on_any_connection) {
    for (const auto link : {link_state::alive, link_state::dead}) {
        EXPECT_EQ(classify(42, link), call_error::no_domain);
        EXPECT_EQ(classify(55, link), call_error::wrong_state);
        EXPECT_EQ(classify(3, link), call_error::unsupported);
        EXPECT_EQ(classify(84, link), call_error::unsupported);
        EXPECT_EQ(classify(81, link), call_error::unsafe);
        EXPECT_EQ(classify(78, link), call_error::aborted);
        EXPECT_EQ(classify(39, link), call_error::unavailable);
        EXPECT_EQ(classify(5, link), call_error::unavailable);
    }
}

TEST(error_table, an_error_on_a_dead_connection_is_no_answer) {
    for (const int number : {0, 1, 9, 38, 68}) {
        EXPECT_EQ(classify(number, link_state::alive), call_error::other) << number;
        EXPECT_EQ(classify(number, link_state::dead), call_error::unavailable) << number;
    }
}

TEST(error_table, create_while_the_old_instance_goes) {
    const library_error said{9, "operation failed: domain 'web' is already being removed"};
    EXPECT_EQ(classify_create(said, link_state::alive, ours, false), call_error::being_removed);
    const library_error unclear{9, "operation failed: something"};
    EXPECT_EQ(classify_create(unclear, link_state::alive, ours, true), call_error::being_removed);
    EXPECT_EQ(classify_create(unclear, link_state::alive, ours, false), call_error::other);
    EXPECT_EQ(classify_create(unclear, link_state::dead, ours, true), call_error::unavailable);
}

TEST(error_table, create_with_a_name_that_another_guest_has) {
    const library_error other{
        9, "operation failed: domain 'web' already exists with uuid 00000000-1111-2222-3333-444444444444"};
    EXPECT_EQ(classify_create(other, link_state::alive, ours, true), call_error::other);
    const library_error own{9, "operation failed: domain 'web' already exists with uuid " + to_text(ours)};
    EXPECT_EQ(classify_create(own, link_state::alive, ours, true), call_error::being_removed);
    const library_error cut{9, "domain 'web' already exists with uuid "};
    EXPECT_EQ(classify_create(cut, link_state::alive, ours, true), call_error::other);
}

TEST(error_table, other_create_errors) {
    EXPECT_EQ(classify_create({55, "domain is already active as 'web'"}, link_state::alive, ours, true),
              call_error::wrong_state);
    EXPECT_EQ(classify_create({38, "Cannot access storage file"}, link_state::alive, ours, false), call_error::other);
    EXPECT_EQ(classify_create({38, "Cannot recv data"}, link_state::dead, ours, false), call_error::unavailable);
}

}  // namespace
}  // namespace pvc::hypervisor
