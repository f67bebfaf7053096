// The data tree of a ZooKeeper server: nodes with their stats, transactions all or nothing. No clock, no sessions, no
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

// One write as a server executes it; once it is done, the change that was made, as it is told to watches and to the
// record of changes. One object for both: a copy of every path and value for each would be most of the work.
struct tree_change {
    zookeeper::operation::kind what = zookeeper::operation::kind::check;
    std::string path;  // done: with its sequence
    std::string data;
    std::int32_t version = zookeeper::any_version;  // the one that the writer demands
    bool is_sequential = false;
    std::int64_t ephemeral_owner = 0;  // done: of the node, whatever was done to it
    zookeeper::node_stat stat{};       // done: afterwards; of a removed node: before
};

struct path_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class memory_tree {
public:
    struct node {
        std::string data;
        std::set<std::string, std::less<>> children;
        std::int64_t czxid = 0;
        std::int64_t mzxid = 0;
        std::int64_t pzxid = 0;
        std::chrono::milliseconds ctime{};
        std::chrono::milliseconds mtime{};
        std::int64_t ephemeral_owner = 0;
        std::int32_t version = 0;
        std::int32_t creations = 0;  // the sequence counter

        [[nodiscard]] zookeeper::node_stat stat() const;
    };

    memory_tree();

    [[nodiscard]] const node* find(std::string_view path) const;
    // All or nothing; what was done is noted in `writes`. Failure: the code and path of the first write that cannot be
    // done.
    result<void> apply(std::int64_t zxid, std::chrono::milliseconds when, std::vector<tree_change>& writes);
    // The newest transaction that reached this tree.
    [[nodiscard]] std::int64_t zxid() const { return zxid_; }
    void advance(std::int64_t zxid) { zxid_ = zxid; }
    // Everything outside /zookeeper, by path.
    [[nodiscard]] std::map<std::string, std::string> dump() const;

private:
    // How to take one change back: what the node of the write at this place was before.
    struct undo_step {
        std::size_t place = 0;
        std::string data{};                 // set
        std::int32_t version = 0;           // set
        std::int64_t mzxid = 0;             // set
        std::chrono::milliseconds mtime{};  // set
        std::int64_t parent_pzxid = 0;      // create, remove
        std::optional<node> removed{};
    };
    node* find_mutable(std::string_view path);
    result<void> apply_one(std::int64_t zxid, tree_change& one, std::size_t place);
    result<void> create(std::int64_t zxid, tree_change& one, std::size_t place);
    result<void> remove(std::int64_t zxid, tree_change& one, std::size_t place);
    void take_back(undo_step& step, const tree_change& change);

    std::unordered_map<std::string, node, path_hash, std::equal_to<>> nodes_;
    std::vector<undo_step> undo_;  // of the transaction under way
    std::int64_t zxid_ = 0;
    std::chrono::milliseconds when_{};  // of that transaction
};

// "/a/b" -> "/a"; "/a" -> "/".
[[nodiscard]] std::string_view parent_of(std::string_view path);
[[nodiscard]] std::string_view last_part_of(std::string_view path);

}  // namespace pvc::sim
