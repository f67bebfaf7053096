// The outcome of a scenario as text: every node's writes in order, one transaction after the other, and what became of
// the tree. What is different in every run (lock names, times) is written by its form.
#pragma once

#include "sim/world/cluster.hpp"

#include <map>
#include <string>
#include <vector>

namespace pvc::sim {

class outcome_text {
public:
    // Watches from now on. The cluster must outlive it.
    explicit outcome_text(cluster& world);
    // Nodes that have not joined yet (first in `run`) show their whole outcome: what befalls them meanwhile counts. All
    // others begin when they have joined: up to there it is the same every time.
    void keep_joining();
    // What happened until now.
    [[nodiscard]] std::vector<std::string> lines();
    // Writes of the node with this number, or calls to its libvirtd, that begin with `text`, named as in the outcome.
    [[nodiscard]] std::size_t times_written(std::uint64_t member, std::string_view text) const;
    [[nodiscard]] std::size_t times_called(std::uint64_t member, std::string_view text) const;

private:
    struct written {
        std::vector<std::string> lines;
        std::vector<std::string> operations;  // each, also those that `lines` counts or leaves out
        std::vector<std::string> calls;
        std::vector<std::string> open;  // operations of the transaction that is being recorded
        std::int64_t open_zxid = 0;
        std::string repeated;  // "tick", "ship": so many in a row are one line
        int times = 0;
        bool has_joined = false;
        bool is_whole = false;
        bool is_left_out = false;  // until the end of this transaction
    };
    void join(written& of, const std::string& root);
    void on_change(const recorded_change& change);
    void close(written& of);
    static void end_repetition(written& of);

    cluster& world_;
    std::map<std::string, std::string> tree_before_;
    std::map<std::string, std::string> joined_with_;  // of the records of nodes that joined: what is not told again
    std::vector<written> written_;
};

}  // namespace pvc::sim
