// The data tree of a ZooKeeper server: nodes with their stats, transactions all or nothing. No time, no sessions, no
// watches; the same code serves the leader and a server that lags behind.
//
// As a real server has it: one sequence counter per parent, shared by everything ever created below it; `cversion`
// counts creations and removals; an ephemeral node has no children; `/zookeeper` is there from the start.
#pragma once

#include "pvcnoded/zookeeper/types.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pvc::sim {

// One write as a server executes it.
struct tree_write {
    zookeeper::operation::kind what = zookeeper::operation::kind::check;
    std::string path;
    std::string data;
    std::int32_t version = zookeeper::any_version;
    bool is_sequential = false;
    std::int64_t ephemeral_owner = 0;
};

// A change that was made, as it is told to watches and to the record of changes. `path` is final (with its sequence).
struct tree_change {
    zookeeper::operation::kind what = zookeeper::operation::kind::check;
    std::string path;
    std::string data;
    std::int64_t ephemeral_owner = 0;
    zookeeper::node_stat stat;  // afterwards; of a removed node: before
};

class memory_tree {
public:
    struct node {
        std::string data;
        std::set<std::string, std::less<>> children;
        std::int64_t czxid = 0;
        std::int64_t mzxid = 0;
        std::int64_t pzxid = 0;
        std::int64_t ephemeral_owner = 0;
        std::int32_t version = 0;
        std::int32_t creations = 0;  // the sequence counter

        [[nodiscard]] zookeeper::node_stat stat() const;
    };

    memory_tree();

    [[nodiscard]] const node* find(std::string_view path) const;
    // All or nothing. Failure: the code and path of the first write that cannot be done.
    result<std::vector<tree_change>> apply(std::int64_t zxid, const std::vector<tree_write>& writes);
    // The newest transaction that reached this tree.
    [[nodiscard]] std::int64_t zxid() const { return zxid_; }
    void advance(std::int64_t zxid) { zxid_ = zxid; }
    // Everything outside /zookeeper, by path.
    [[nodiscard]] std::map<std::string, std::string> dump() const;

private:
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    // How to take one change back.
    struct undo_step {
        zookeeper::operation::kind what = zookeeper::operation::kind::check;
        std::string path;
        node was;                       // set, remove
        std::int64_t parent_pzxid = 0;  // create, remove
    };
    node* find_mutable(std::string_view path);
    result<tree_change> apply_one(std::int64_t zxid, const tree_write& one, std::vector<undo_step>& undo);
    result<tree_change> create(std::int64_t zxid, const tree_write& one, std::vector<undo_step>& undo);
    result<tree_change> remove(std::int64_t zxid, const tree_write& one, std::vector<undo_step>& undo);
    void take_back(const undo_step& step);

    std::unordered_map<std::string, node, hash, std::equal_to<>> nodes_;
    std::int64_t zxid_ = 0;
};

// "/a/b" -> "/a"; "/a" -> "/".
[[nodiscard]] std::string_view parent_of(std::string_view path);
[[nodiscard]] std::string_view last_part_of(std::string_view path);

}  // namespace pvc::sim
