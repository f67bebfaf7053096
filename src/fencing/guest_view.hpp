// One machine of a dead node and that node, read as one view on this session, with the versions for the write that
// rests on it. Loop thread only. Specification: node-lifecycle.md 10.5; vm-domains.md 7.
#pragma once

#include "pvcnoded/fencing/recovery.hpp"
#include "pvcnoded/policy/fencing/recovery.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pvc::fencing {

// -1: there is no such key.
struct guest_versions {
    std::int32_t state = -1;
    std::int32_t node = -1;
    std::int32_t last_node = -1;
    std::int32_t autostart = -1;
    std::int32_t victim_state = -1;
    std::int32_t victim_heartbeat = -1;
};

struct guest_view {
    policy::recovery_said::read said;
    boot_time sent{};
    guest_versions versions;
    std::string name;
    // What a plan needs.
    std::int64_t memory_mib = 0;
    std::int64_t vcpus = 0;
    std::string node_limit;
    std::string node_selector;
};

class guest_reader {
public:
    // All outlive it.
    guest_reader(core::session& s, const recovery_order& order, const fence_hold& under, uuid id)
        : session_(s), order_(order), under_(under), id_(id) {}

    // All of it, of a machine that shuts down also who lists it. What nobody could be asked for is a view without the
    // dead node.
    async::awaitable<guest_view> read(time_point until) const;
    // Once more what may have changed while something was done: state and node, the dead node, the own lock. The rest,
    // and its versions, is that of `before`.
    async::awaitable<guest_view> read_again(const guest_view& before, time_point until) const;

private:
    async::awaitable<guest_view> read_with_lists(guest_view before, time_point until) const;
    [[nodiscard]] std::string key(std::string_view suffix) const;
    [[nodiscard]] std::string lock_path() const;
    [[nodiscard]] std::vector<zookeeper::read_wish> wishes() const;
    void take_victim(guest_view& into, std::span<const result<zookeeper::read_reply>> answers) const;
    void take_guest(guest_view& into, std::span<const result<zookeeper::read_reply>> answers) const;

    core::session& session_;
    const recovery_order& order_;
    const fence_hold& under_;
    uuid id_;
};

// `/nodes` but that one. Errors: those of a read.
async::awaitable<result<std::vector<std::string>>> nodes_but(core::session& s, std::string one, time_point until);

}  // namespace pvc::fencing
