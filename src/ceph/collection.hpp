// Collects Ceph's figures and publishes them below /ceph, while this node is primary: one round of questions in each
// tick (policy/ceph/round.hpp), then a write for each value that changed. Lives as long as a session; what it must know
// beyond that is in `ceph_knowledge`. Loop thread only. Specification: storage.md 4.
#pragma once

#include "objects.hpp"
#include "pvcnoded/policy/ceph/figures.hpp"
#include "pvcnoded/policy/ceph/reachability.hpp"
#include "pvcnoded/storage/ceph_cluster.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::ceph {

// What is known of Ceph over all sessions.
struct ceph_knowledge {
    policy::ceph_conditions conditions;  // what is the matter, in this term as primary
    std::string status;                  // Ceph's word in the newest health; empty: none yet
    std::optional<time_point> heard{};   // when that was
    bool is_collecting = false;          // this node is primary
    std::uint64_t rounds = 0;            // that were begun
    std::uint64_t unanswered = 0;        // questions that nobody answered in time, or could not be asked
    std::uint64_t unusable = 0;          // questions whose answer was of no use
};

class collection {
public:
    // All must outlive it.
    collection(core::session& s, const objects& present, storage::ceph_cluster& cluster, ceph_knowledge& known);
    collection(const collection&) = delete;
    collection& operator=(const collection&) = delete;
    ~collection();

    // One tick's. Returns within some seconds whatever Ceph and ZooKeeper do; at once where this node is not primary.
    async::awaitable<void> collect();

private:
    struct term;

    void follow_role();
    [[nodiscard]] bool may_write() const;
    [[nodiscard]] policy::ceph_tree tree() const;
    [[nodiscard]] std::optional<std::string> path_of(policy::ceph_key key, const std::string& name) const;

    async::awaitable<void> round(policy::ceph_tree tree);
    async::awaitable<void> ask(policy::ceph_round& asking, const std::vector<std::string>& pools);
    void take_up(const policy::ceph_round& asked);
    void say(const policy::ceph_line& line);

    async::awaitable<void> publish(std::vector<policy::ceph_write> wanted);
    async::awaitable<void> notice_others();
    bool compare(const std::string& path, const result<zookeeper::read_reply>& found,
                 std::vector<std::string>& foreign);
    async::awaitable<void> write(std::string path, std::string value, bool may_create, time_point deadline);
    void tell_unwritten();
    void take_refusal(const std::string& path, bool is_of_an_object, const failure& why);
    void tell_tick(const policy::ceph_tree& tree) const;

    core::session& session_;
    const objects& present_;
    storage::ceph_cluster& cluster_;
    ceph_knowledge& known_;
    async::wakeup unheard_;  // of the key below: it is looked at when something is written
    std::unique_ptr<zookeeper::watched> primary_node_;
    bool is_loaded_ = false;          // what is below /ceph was read once
    std::unique_ptr<term> term_;      // while this node is primary
    policy::ceph_answers answers_{};  // of this term
};

}  // namespace pvc::ceph
