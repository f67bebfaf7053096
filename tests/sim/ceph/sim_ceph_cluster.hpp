// A cluster of Ceph as its monitors and its manager answer for it, with what can befall them; RBD images and their
// locks are in the store beside it (sim_rbd_locks.hpp). One cluster, one port for each machine that asks. Answers have
// the shape of real ones (Ceph 16). It does nothing by itself: actions and tests tell it.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/storage/ceph_cluster.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

class sim_ceph {
public:
    struct pool {
        int id = 0;
        std::uint64_t stored = 0;
        std::uint64_t reads = 0;
        std::uint64_t writes = 0;
    };
    struct osd {
        std::string host;
        bool is_up = true;
        bool is_in = true;
    };

    std::map<std::string, pool> pools;
    std::map<int, osd> osds;
    duration takes = std::chrono::milliseconds(2);  // each answer
    bool hangs = false;                             // nobody answers
    bool has_manager = true;                        // else `osd df`, `osd status`, `osd pool stats` wait for one
    std::optional<failure> refusal;                 // there is no connection to it
    std::deque<std::string> wrong;                  // the next answers, whatever is asked
    std::set<std::string> cut_off;                  // machines that cannot reach it

    // Something of it changed: its texts are others from now on.
    void change() { ++epoch_; }
    // What it answers to a command now; empty: it knows no such command.
    [[nodiscard]] std::optional<std::string> answer(std::string_view command) const;
    // Whether it ever gave that text to a command of this kind ("health", "df plain").
    [[nodiscard]] bool has_said(const std::string& kind, const std::string& text) const;
    // So often was something asked.
    [[nodiscard]] std::uint64_t asked() const { return asked_; }

private:
    friend class sim_ceph_cluster;
    [[nodiscard]] std::string health() const;
    [[nodiscard]] std::string status() const;
    [[nodiscard]] std::string usage() const;
    [[nodiscard]] std::string usage_json() const;
    [[nodiscard]] std::string pool_recovery() const;
    [[nodiscard]] std::string osd_dump() const;
    [[nodiscard]] std::string osd_usage() const;
    [[nodiscard]] std::string osd_status() const;

    std::uint64_t epoch_ = 1;
    std::uint64_t asked_ = 0;
    std::map<std::string, std::set<std::string>> said_;  // by kind
};

// For whoever asks from one machine; helper_view is its client's business.
class sim_ceph_cluster final : public storage::ceph_cluster {
public:
    sim_ceph_cluster(sim_ceph& of, std::string machine, async::timers& clock)
        : of_(of), machine_(std::move(machine)), clock_(clock) {}

    bool cut = false;  // a killed daemon

    async::awaitable<result<std::string>> command(std::string command, time_point deadline) override;
    async::awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                         time_point deadline) override;
    async::awaitable<result<void>> measure(time_point deadline) override;
    [[nodiscard]] storage::helper_view view() const override { return {}; }

private:
    async::awaitable<result<void>> reach(std::string about, bool of_manager, time_point deadline);

    sim_ceph& of_;
    std::string machine_;
    async::timers& clock_;
};

}  // namespace pvc::sim
