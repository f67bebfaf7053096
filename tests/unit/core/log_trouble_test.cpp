// Log shipping when a write's outcome is unknown, and when somebody deletes its keys (zookeeper-schema.md 11).
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::node {
namespace {

const std::string log_key = "/logs/hv1/messages";

class log_trouble : public node_test {
protected:
    sim_node& add_shipping(int schema) {
        sim::initialise(ensemble, schema);
        auto& node = add_running({.zookeeper_logging = true});
        loop.run_for(5s);
        return node;
    }
    static logger& log_of(sim_node& node) { return node.daemon().context().log; }
    [[nodiscard]] std::size_t shipped_with(std::string_view text) const {
        const std::string all = value(log_key);
        const auto lines = split(all, '\n');
        return static_cast<std::size_t>(std::ranges::count_if(
            lines, [text](const auto line) { return line.find(text) != std::string_view::npos; }));
    }
};

TEST_F(log_trouble, each_line_is_there_once_whatever_becomes_of_a_write) {
    for (const int schema : {10, 11}) {
        for (const auto fate : {sim::verdict::drop_before, sim::verdict::drop_after}) {
            auto& hv1 = add_shipping(schema);
            const std::string line = "written into the dark " + std::to_string(schema) + std::to_string(int(fate));
            int struck = 0;
            hv1.connector.link().on_request = [&](const zookeeper::request& request) {
                const bool is_write = std::ranges::any_of(request.operations, [](const auto& one) {
                    return one.path == log_key && one.what == zookeeper::operation::kind::set;
                });
                return is_write && ++struck <= 3 ? fate : sim::verdict::answer;
            };
            log_of(hv1).info(line);
            loop.run_for(30s);
            EXPECT_GE(struck, 1);
            EXPECT_EQ(shipped_with(line), 1U) << schema;
            hv1.connector.link().on_request = nullptr;
            log_of(hv1).info(line + ", and then");
            loop.run_for(3s);
            EXPECT_EQ(shipped_with(line + ", and then"), 1U) << schema;
            hv1.stop();
            ensemble.remove_tree("/nodes/hv1");
            ensemble.put("/config/primary_node", "none");
        }
    }
}

TEST_F(log_trouble, its_keys_are_deleted) {
    for (const int schema : {10, 11}) {
        auto& hv1 = add_shipping(schema);
        for (const auto* gone : {"/logs/hv1/messages", "/logs/hv1", "/logs"}) {
            ensemble.remove_tree(gone);
            const std::string line = "after the end of " + std::string(gone);
            log_of(hv1).info(line);
            loop.run_for(10s);
            EXPECT_EQ(shipped_with(line), 1U) << gone << " " << schema;
            EXPECT_FALSE(hv1.logged("session lost"));
        }
        hv1.stop();
        ensemble.remove_tree("/nodes/hv1");
        ensemble.put("/config/primary_node", "none");
    }
}

TEST_F(log_trouble, a_tree_that_is_gone_is_not_made_again) {
    auto& hv1 = add_shipping(10);
    for (const auto* gone : {"/logs", "/schema"}) {
        ensemble.remove_tree(gone);
    }
    log_of(hv1).info("nobody hears it");
    loop.run_for(10s);
    EXPECT_FALSE(ensemble.exists("/logs"));
}

}  // namespace
}  // namespace pvc::node
