// What a differential run does: steps drawn from a seed, the same for every world they are executed in. Nothing here
// depends on a result.
#pragma once

#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/zookeeper/client.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pvc::contract::differential {

using zookeeper::request;

// Clients 0 and 1 send requests of their own; 2 and 3 have a watch set and locks, as a node has.
inline constexpr std::size_t requesters = 2;
inline constexpr std::size_t clients = 4;

enum class step_kind : std::uint8_t {
    single,        // in the port's own words: checked, sent, waited for
    pipeline,      // all sent before the first is answered
    together,      // both requesters at once, each a pipeline below a node of its own
    drop,          // an idle connection breaks
    lost_answers,  // a pipeline is executed, then the connection breaks before the answers
    late_answers,  // the deadline passes while the answer waits
    no_way,        // no server can be reached: a request waits in vain, the other client goes on
    reopen,        // the session is closed and another opened
    expire,        // the server ends the session
    watch,         // the watch set gets another key
    unwatch,       // and one less
    look_at_watched,
    contend,  // the two nodes want the same lock
    dump,     // the whole tree
};

struct step {
    step_kind what = step_kind::single;
    std::size_t client = 0;
    std::vector<request> requests;  // of `client`
    std::vector<request> others;    // of the other requester (together, no_way)
    std::string path;               // watch, contend
    zookeeper::watch_kind watch = zookeeper::watch_kind::data;
    std::size_t number = 0;  // unwatch: which of them
    model::lock_kind first = model::lock_kind::exclusive;
    model::lock_kind second = model::lock_kind::exclusive;
};

struct scenario {
    std::uint64_t seed = 0;
    bool is_chrooted = false;
    std::vector<step> steps;
};

[[nodiscard]] scenario generate(std::uint64_t seed, std::size_t steps);

// "@3/x": below the node that the fourth sequential create made (counted round). Known only while it runs.
[[nodiscard]] bool is_reference(const std::string& path);

[[nodiscard]] std::string_view to_text(step_kind what);
[[nodiscard]] std::string_view to_text(request::kind what);
[[nodiscard]] std::string text_of(const request& what);
[[nodiscard]] std::string text_of(const step& what);
// A value in a few characters.
[[nodiscard]] std::string short_text(const std::string& value);

}  // namespace pvc::contract::differential
