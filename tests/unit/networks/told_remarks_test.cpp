// When a remark is told, and when it is told that it is over.
#include "../src/networks/told_remarks.hpp"
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class told_remarks_test : public network_fixture {
protected:
    using texts = std::vector<std::string>;

    void tell(const texts& mtus, const texts& failures = {}) {
        std::vector<policy::network_remark> all;
        for (const auto& one : mtus) {
            all.push_back({message::network_mtu, false, one});
        }
        for (const auto& one : failures) {
            all.push_back({message::network_failed, true, one});
        }
        remarks.tell("network 7", std::move(all));
        loop.run_for(100ms);
    }
    [[nodiscard]] std::size_t told(const std::string& text) const {
        return hv1.times_logged(": " + text + " [network-");
    }
    [[nodiscard]] std::size_t over(const std::string& text) const { return hv1.times_logged("this is over: " + text); }

    sim_node& hv1 = stage();
    networks::told_remarks remarks{hv1.daemon().context().log};
};

TEST_F(told_remarks_test, one_of_several_that_ends_is_said_to_be_over) {
    tell({"first", "second"}, {"third"});
    tell({"first", "second"}, {"third"});
    EXPECT_EQ(told("first") + told("second") + told("third"), 3U) << hv1.log();
    EXPECT_FALSE(hv1.logged("this is over"));
    tell({"second"}, {"third"});
    EXPECT_EQ(over("first"), 1U) << hv1.log();
    tell({}, {"third"});
    EXPECT_EQ(over("second"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("this is over"), 2U) << hv1.log();
    tell({});
    EXPECT_EQ(over("third"), 1U) << hv1.log();
    EXPECT_EQ(told("first") + told("second") + told("third"), 3U) << hv1.log();
    EXPECT_EQ(remarks.size(), 0U);
}

TEST_F(told_remarks_test, a_text_in_the_place_of_another_is_the_word_about_it) {
    tell({"first", "second"}, {"third"});
    tell({"first", "other"}, {"third"});
    EXPECT_EQ(told("other"), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("this is over")) << hv1.log();
    // One more of another kind is in nobody's place.
    tell({"first"}, {"third", "fourth"});
    EXPECT_EQ(over("other"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("this is over"), 1U) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
