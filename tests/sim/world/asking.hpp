// Whatever the local socket and the metrics port can be asked, asked of the daemons of a cluster at any moment of their
// lives: starting, cut off, stopped, in the middle of a stop or of a kill. Some ask as they should, some send halves,
// garbage, or several requests at once, some leave before the answer, stay for the log, or read slowly. Asking changes
// nothing: a cluster that is asked goes the same way.
#pragma once

#include "pvcnoded/base/random.hpp"
#include "sim/world/asked_servers.hpp"
#include "sim/world/cluster.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

class asker;

class askers {
public:
    // Before the first start of a node. Draws from a stream of its own.
    askers(cluster& of, std::uint64_t seed);
    askers(const askers&) = delete;
    askers& operator=(const askers&) = delete;
    ~askers();

    // After each step of the cluster: its servers do some of what is ready, all of it before time passes, and somebody
    // who asks may do something.
    void step();
    // An answer that is none, or is missing; something that a daemon has left behind.
    [[nodiscard]] const std::optional<std::string>& broken() const { return broken_; }
    // What was asked, and what came of it: "status answered" → how often.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& seen() const { return seen_; }

private:
    struct host {
        explicit host(sim_node& of);
        ~host();
        sim_node& node;
        asked_machine machine;
        asked_servers* servers = nullptr;  // of the present life; owned by the node
        std::vector<std::unique_ptr<asker>> clients;
        bool is_standing = false;  // stopped or asleep
        time_point stood_still{};  // the last time
    };
    void serve(host& one, bool is_last_chance);
    void act(host& one);
    void come(host& one);
    void say(const host& of, const std::string& what);

    cluster& world_;
    random_source random_;
    std::uint64_t clients_max_;
    std::vector<std::unique_ptr<host>> hosts_;
    std::map<std::string, std::uint64_t> seen_;
    std::optional<std::string> broken_;
};

}  // namespace pvc::sim
