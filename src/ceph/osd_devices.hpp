// Brings the keys that say on which device an OSD of this node is up to date, once for each OSD that appears in the
// tree or comes to this node: two at a time, none waited for by anybody. Loop thread only; cancelling run() ends the
// programs. Specification: storage.md 5.
#pragma once

#include "objects.hpp"
#include "pvcnoded/async/process.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/model/ceph_volume_list.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace pvc::ceph {

class osd_devices {
public:
    osd_devices(core::session& s, objects& all, async::process_runner& processes)
        : session_(s), objects_(all), processes_(processes) {}
    osd_devices(const osd_devices&) = delete;
    osd_devices& operator=(const osd_devices&) = delete;

    // Until cancelled.
    async::awaitable<void> run();

private:
    // An OSD as long as it belongs to the same node: its number, and what created the key that says so.
    using identity = std::pair<std::string, std::int64_t>;
    enum class attempt_end : std::uint8_t { over, incomplete };

    void begin_new(async::task_group& jobs);
    [[nodiscard]] bool is_ours(const identity& which) const;
    async::awaitable<void> refresh(identity which);
    async::awaitable<attempt_end> attempt(const identity& which);
    async::awaitable<attempt_end> list(const std::string& id, const std::string& device, std::string& output);
    async::awaitable<attempt_end> write(const std::string& id, const model::listed_osd& listed);

    core::session& session_;
    objects& objects_;
    async::process_runner& processes_;
    async::ordered_semaphore<std::uint64_t> places_{2};
    std::uint64_t next_place_ = 0;
    std::map<std::string, std::int64_t> begun_;  // by number: of which identity
    std::set<std::string> without_device_;       // those of which that was said
};

}  // namespace pvc::ceph
