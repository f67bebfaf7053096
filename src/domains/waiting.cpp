// What machines wait for that are to run and cannot be started now: who waits is woken when it is seen to be over, and
// a line a minute tells of all of them. Specification: README ruling 77.
#include "manager.hpp"
#include "pvcnoded/policy/domains/start_outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using policy::start_cause;

namespace {
constexpr duration networks_limit = 60s;
constexpr duration tell_every = 60s;
}  // namespace

// Whether it is to run here, and something that lies outside of it keeps it from being started.
start_cause waits_for(const domain_row& row) {
    const bool is_to_run = row.here && row.is_present && row.is_owner &&
                           (row.state == model::vm_state::start || row.state == model::vm_state::restart);
    return is_to_run ? row.here->waits.cause : start_cause::none;
}

void manager::follow_causes() {
    parts.is_awaited = [this](const uuid& id) {
        return std::ranges::find(turns_, id, [](const command_turn* one) { return one->id; }) != turns_.end();
    };
    parts.networks_are_coming = [this] {
        return node.bridges.are_coming() && (!networks_until_ || node.clock().now() < *networks_until_);
    };
    ceph.on_answer = [this](const std::string& pool) {
        for (const auto& [id, row] : table.rows()) {
            if (waits_for(row) == start_cause::ceph &&
                std::ranges::find(row.here->pools, pool) != row.here->pools.end()) {
                row.here->changed.notify();
            }
        }
    };
}

async::awaitable<void> manager::follow_networks() {
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer watch(node.bridges.changes(), changed);
    networks_until_ = networks_until_.value_or(node.clock().now() + networks_limit);
    for (;;) {
        for (const auto& [id, row] : table.rows()) {
            const start_cause cause = waits_for(row);
            if (cause == start_cause::networks || cause == start_cause::bridge ||
                cause == start_cause::refused_network) {
                row.here->changed.notify();
            }
        }
        if (node.bridges.are_coming() && node.clock().now() < *networks_until_) {
            const time_point until = *networks_until_;
            co_await changed.wait_until(node.clock(), until, "the networks of this node");
        } else {
            co_await changed.wait(async::wait_note::work("a change of bridges"));
        }
    }
}

async::awaitable<void> manager::tell_waiting() {
    for (;;) {
        co_await async::sleep_for(node.clock(), tell_every, "the next line about machines that wait");
        std::map<start_cause, std::size_t> all;
        for (const auto& [id, row] : table.rows()) {
            // In its first moment nobody is told of it.
            if (waits_for(row) != start_cause::none && !row.here->waits.text.empty()) {
                ++all[row.here->waits.cause];
            }
        }
        std::string text;
        for (const auto& [cause, count] : all) {
            text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", count, policy::in_words(cause));
        }
        if (!text.empty()) {
            node.log.warning(message::domains_wait, "virtual machines wait to be started: " + text);
        }
    }
}

}  // namespace pvc::domains
