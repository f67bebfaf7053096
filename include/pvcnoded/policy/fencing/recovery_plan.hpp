// Where the machines of a dead node go (README ruling 44; node-lifecycle.md 9, 10.5 c): planned one after the other on
// published figures less what was planned before, so that they do not all go to one node, and nowhere where memory
// would run out. A value: what it has placed it takes off what it plans with for a minute, whatever attempt that was
// for; and what machines that were started on a node of late have not touched is not free there (assigned_memory.hpp).
// Figures are texts as nodes publish them; one that cannot be read takes its node out of the choice.
//
// The shell makes one planner a session, gives it the nodes' figures, at most 5 s old, and who was started there, at
// most 30 s old (what is placed meanwhile it remembers itself), before each plan, and carries plans out side by side.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/policy/fencing/assigned_memory.hpp"
#include "pvcnoded/policy/placement/target_selection.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

struct node_room {
    node_offer offer;
    std::string memtotal;  // MiB, as all memory here
    std::string cpucount;
    duration silent_for{};  // since its heartbeat moved, as seen by the planning node (of which it is 0)
    // A daemon of ours wrote its last heartbeat: such a node is not `ready` without the hypervisor function (ruling
    // 13).
    bool is_ours = false;
    // Its libvirtd was asked just now, and gave no answer: what starts there would wait for it.
    bool is_libvirtd_silent = false;
};

struct guest_to_place {
    uuid id;
    target_request request;   // `current`: the dead node
    std::int64_t memory = 0;  // its full memory
    std::int64_t vcpus = 0;
    // The target of its migration (vm-domains.md 15); taken if it takes machines at all, and its libvirtd is not
    // silent.
    std::string preferred;
};

struct planned_guest {
    enum class kind : std::uint8_t {
        placed,
        nobody,      // no allowed node in `run` and `ready`: 10.5 d
        no_room,     // such nodes, without the memory
        no_figures,  // such nodes, without figures that can be compared
        silent,      // such nodes, all without a heartbeat of late: soon dead, or back
    } what = kind::nobody;
    std::string node;
    std::string reason;  // why that one, or what is missing
    friend bool operator==(const planned_guest&, const planned_guest&) = default;
};

class recovery_planner {
public:
    static constexpr duration remembered = std::chrono::seconds(60);
    static constexpr duration shortest_silence = std::chrono::seconds(10);

    // Percent (configuration.fencing.overcommit): 100 leaves nothing below 0, 150 half of `memtotal` beyond that.
    // A node that was silent for more than two intervals of heartbeats, and 10 s, takes nothing: it may be off.
    explicit recovery_planner(std::int64_t overcommit = 100, duration keepalive = std::chrono::seconds(5))
        : overcommit_(overcommit), silent_after_(std::max<duration>(2 * keepalive, shortest_silence)) {}

    // Figures of all nodes but the dead one, and what was started on them of late; what was placed before
    // `now - remembered` counts no more by itself.
    void begin(std::vector<node_room> nodes, time_point now, const std::vector<assigned_machine>& assigned = {});
    // The next one; what is placed is taken off at once.
    [[nodiscard]] planned_guest place(const guest_to_place& guest, time_point now);
    // It did not go there after all.
    void take_back(const uuid& id);
    // Those that are remembered.
    [[nodiscard]] std::vector<uuid> placed_machines() const;

private:
    struct placed {
        uuid id;
        std::string node;
        std::int64_t memory = 0;
        std::int64_t vcpus = 0;
        time_point at{};
    };
    void take_off(const placed& one);
    // What others than this one may still take there, but for those that were placed: these are taken off.
    [[nodiscard]] std::int64_t owed_to_others(const uuid& but, const std::string& node) const;
    void put(const guest_to_place& guest, const std::string& node, time_point now);
    [[nodiscard]] std::optional<std::int64_t> missing_in(const node_room& node, const uuid& guest,
                                                         std::int64_t memory) const;

    std::int64_t overcommit_;
    duration silent_after_;
    std::vector<node_room> published_;
    std::vector<node_room> left_;  // published, less what was placed
    std::vector<placed> placed_;
    assigned_memory assigned_;
};

}  // namespace pvc::policy
