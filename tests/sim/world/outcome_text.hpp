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
    };
    void on_change(const recorded_change& change);
    void close(written& of);
    static void end_repetition(written& of);

    cluster& world_;
    std::map<std::string, std::string> tree_before_;
    std::vector<written> written_;
};

}  // namespace pvc::sim
