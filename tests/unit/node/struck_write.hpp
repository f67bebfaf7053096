// Strikes once: right before a transaction of a node that writes this key, to this value, something that the write
// rests on is changed. It must not be made then; what the node does afterwards, on another look, is its own business.
#pragma once

#include "unit/node/node_fixture.hpp"

#include <functional>
#include <string>
#include <utility>

namespace pvc::node {

class struck_write {
public:
    struck_write(sim_node& by, const memory_ensemble& ensemble, sim_loop& loop, std::string path, std::string data,
                 std::function<void()> change)
        : by_(by), ensemble_(ensemble), path_(std::move(path)), data_(std::move(data)) {
        by_.connector.link().on_request = [this, &loop, change = std::move(change)](const zookeeper::request& asked) {
            const bool is_it = std::ranges::any_of(asked.operations, [this](const zookeeper::operation& one) {
                return one.path == path_ && one.data == data_;
            });
            if (is_it && !struck_at_) {
                struck_at_ = loop.clock().now();
                change();
            }
            return sim::verdict::answer;
        };
    }
    ~struck_write() { by_.connector.link().on_request = nullptr; }
    struck_write(const struck_write&) = delete;
    struck_write& operator=(const struck_write&) = delete;

    [[nodiscard]] bool has_struck() const { return struck_at_.has_value(); }
    // No time passes between the change and the transaction, and any answer takes some.
    [[nodiscard]] bool is_made() const {
        return std::ranges::any_of(ensemble_.trace(), [this](const recorded_change& one) {
            return one.session != 0 && one.when == struck_at_ && one.path == path_ && one.data == data_;
        });
    }

private:
    sim_node& by_;
    const memory_ensemble& ensemble_;
    std::string path_;
    std::string data_;
    std::optional<time_point> struck_at_;
};

}  // namespace pvc::node
