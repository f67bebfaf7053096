// The recorded traces of the reference (docs/spec/traces), and what a simulated cluster wrote in the same form, so
// that the two can be compared event by event.
//
// Compared: who wrote, which operation on which key with which value, what shares a transaction, the order of each
// writer, and the time. By form only: the time stamp of a tick, figures of memory and load, names and data of lock
// children. Not compared: sessions, refused writes, what is below /logs.
#pragma once

#include "sim/zookeeper/memory_ensemble.hpp"

#include <map>
#include <string>
#include <vector>

namespace pvc::sim {

struct trace_event {
    double seconds = 0;  // since the start of the scenario
    std::int64_t zxid = 0;
    bool is_grouped = false;
    std::string by;
    std::string what;  // create, set, delete
    std::string path;
    std::string value;       // in a recording cut at 160 characters
    std::size_t length = 0;  // of the whole value
    bool is_ephemeral = false;
};

// The ZooKeeper operations of a recording. Throws std::runtime_error if the file cannot be read.
[[nodiscard]] std::vector<trace_event> read_trace(const std::string& file);

// The writes since `start` of the named sessions; 0 = the test itself.
[[nodiscard]] std::vector<trace_event> written_since(const memory_ensemble& ensemble, time_point start,
                                                     const std::map<std::int64_t, std::string>& writers);

struct trace_comparison {
    std::string difference;    // empty: equal
    double largest_delay = 0;  // seconds between an event and its recording, the largest
    std::string largest_at;
    std::size_t events = 0;
};

// `tolerance`: how far the times of an event may be apart.
[[nodiscard]] trace_comparison compare_traces(const std::vector<trace_event>& recorded,
                                              const std::vector<trace_event>& simulated, double tolerance);

}  // namespace pvc::sim
