// What must never happen (rules), and what must come about once nothing disturbs any more (progress): entries that
// subjects add to the registry. The judge (judge.hpp) calls them.
#pragma once

#include "sim/world/cluster.hpp"

#include <array>
#include <cstdint>
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

// What a rule about one member looks at, about once a simulated second. It is asked on change: once it has found
// nothing wrong, it is not asked again before what it reads has changed.
struct member_rule {
    // Whether anything is demanded of it now. What depends on the time alone is said here, for this is always asked.
    bool (*is_judged)(const judge&, const member&) = nullptr;
    // Versions of all that `wrong` reads: a generation of the machine's kernel, changes below a folder of the tree.
    // Empty: it depends on the time too (something is given time, and that will be over), and is asked this time.
    using versions = std::array<std::uint64_t, 2>;
    std::optional<versions> (*reads)(const judge&, const member&) = nullptr;
    // Empty: nothing.
    std::string (*wrong)(const judge&, const member&) = nullptr;
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
    member_rule of_member{};
};

struct progress {
    std::string_view name;
    std::string_view meaning;
    // Empty: fulfilled.
    std::optional<std::string> (*missing)(const judge&) = nullptr;
};

}  // namespace pvc::sim
