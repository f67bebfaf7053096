// What must never happen (rules), and what must come about once nothing disturbs any more (progress): entries that
// subjects add to the registry. The judge (judge.hpp) calls them.
#pragma once

#include "sim/world/cluster.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pvc::sim {

class judge;

// A committed change with what every rule wants to know about it.
struct seen_change {
    const recorded_change& what;
    member* writer = nullptr;   // null: a client
    member* subject = nullptr;  // whose record it is in, /nodes/<name>...
    std::string_view suffix{};  // below the record: "/keepalive"
};

// One without a name only follows what others ask about.
struct rule {
    std::string_view name{};
    std::string_view meaning{};
    void (*on_begin)(judge&) = nullptr;  // the judge was just made: listen to the cluster
    // Every part of every transaction, also what it only checks.
    void (*on_record)(judge&, const recorded_change&, member* writer) = nullptr;
    void (*on_change)(judge&, const seen_change&) = nullptr;
    void (*on_quiet)(judge&) = nullptr;          // nothing is ready, time is about to pass
    void (*on_second)(judge&) = nullptr;         // about once a simulated second
    void (*on_tenth_second)(judge&) = nullptr;   // the same, for what is dear
    void (*on_exit)(judge&, member&) = nullptr;  // a daemon ended by itself
};

struct progress {
    std::string_view name;
    std::string_view meaning;
    // Empty: fulfilled.
    std::optional<std::string> (*missing)(const judge&) = nullptr;
};

}  // namespace pvc::sim
