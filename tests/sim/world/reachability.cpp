#include "sim/world/reachability.hpp"

#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string_view>

namespace pvc::sim {

namespace {

// Of the results `not_empty`, `too_large` and `invalid` cannot come about yet: nobody removes a key with children,
// writes what does not fit, or asks for a path that is none. `refused` and what follows it are no answers of ZooKeeper.
constexpr std::array<std::string_view, 28> expected{
    "daemonstate - init",
    "daemonstate init run",
    "daemonstate run shutdown",
    "daemonstate shutdown stop",
    "daemonstate stop init",
    "daemonstate run init",
    "daemonstate init init",
    "daemonstate dead run",
    "daemonstate fenced run",
    "daemonstate dead init",
    "daemonstate shutdown init",
    "daemonstate init shutdown",
    "routerstate secondary primary",
    "routerstate primary secondary",
    "result ok",
    "result not found",
    "result already exists",
    "result version conflict",
    "result outcome unknown",
    "result no connection",
    "result timed out",
    "result session lost",
    "exit 0",
    "exit 1",
    "link connected",
    "link suspended",
    "link lost",
    "schema raised",
};

// Operations on virtual machines, the ends of live migrations, and what becomes of a broken one, by what the log says
// of each. What is done without a word is seen by its effects ("libvirt create", "machine migrate start").
constexpr std::array<std::pair<std::string_view, std::string_view>, 28> marks{{
    {"start", " - started"},
    {"restart", "restarting"},
    {"shutdown", "shutting down"},
    {"quiet shutdown", "shutting down: its state is"},
    {"stop", "stopping"},
    {"destroy", "destroying: it is being deleted"},
    {"terminate", "terminating: it belongs to node"},
    {"send", "migrating to node"},
    {"send offline", "through a shutdown"},
    {"receive", "receiving it"},
    {"receive, cold", "it runs nowhere and nobody sends it: starting it here"},
    {"receive, still off", "it was off before it was moved"},
    {"receive, handed over", "it was shut down to be moved here"},
    {"arrived", "it runs here now"},
    {"hand over", "it ended on its way"},
    {"restart by itself", "it ended by itself, starting it again"},
    {"migration moved", "moved to node"},
    {"migration rolled back", "and stays here"},
    {"migration, daemon stops", "and stays here: the daemon stops"},
    {"migration, somebody waits", "it did not converge, and somebody waits"},
    {"migration, no progress", "made no progress for 300 s"},
    {"migration tried again", "live migration: "},
    {"migration, no receiver", "did not prepare to receive it within 30 s"},
    {"migration, receiver gone", "did not take over within 10 s"},
    {"resolved: copy here destroyed", ": destroying the copy here"},
    {"asked: silent", "which does not answer: nothing is done until it does"},
    {"refused: foreign lock", "is held by"},
    {"disk lock broken", "broke the RBD lock"},
}};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> log_marks() {
    return marks;
}

void reachability::add(const run_outcome& outcome) {
    for (const auto& [what, count] : outcome.seen) {
        seen_[what] += count;
    }
    for (const auto& info : all_actions()) {
        seen_["action " + std::string(info.name)] += outcome.performed[static_cast<std::size_t>(info.kind)];
    }
}

bool reachability::report(std::ostream& out) const {
    bool is_complete = true;
    for (const auto& [what, count] : seen_) {
        out << fmt::format("  {:36} {}\n", what, count);
    }
    const auto demand = [&](const std::string& what) {
        const auto found = seen_.find(what);
        if (found == seen_.end() || found->second == 0) {
            is_complete = false;
            out << "never seen: " << what << '\n';
        }
    };
    for (const auto what : expected) {
        demand(std::string(what));
    }
    for (const auto& [what, text] : marks) {
        demand("did " + std::string(what));
    }
    for (const auto& info : all_actions()) {
        // The opposites are parts of what lasts.
        const bool is_opposite = info.kind == action_kind::resume || info.kind == action_kind::mend ||
                                 info.kind == action_kind::end_silence || info.kind == action_kind::release_answers ||
                                 info.kind == action_kind::start_servers || info.kind == action_kind::thaw_servers;
        if (!is_opposite) {
            demand("action " + std::string(info.name));
        }
    }
    return is_complete;
}

}  // namespace pvc::sim
