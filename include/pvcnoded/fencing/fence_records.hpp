// The records of this node's fences on its disk: `/var/lib/pvc/fences/<id>.json` (README rulings 36, 46). A fencer that
// cannot write sends no power-off and draws no consequence: every failure here means just that. What was saved outlives
// a crash; what was refused may be on the disk all the same. Loop thread only.
#pragma once

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/model/fence_record.hpp"
#include "pvcnoded/services/host.hpp"

#include <set>
#include <string>
#include <vector>

namespace pvc::fencing {

class fence_records {
public:
    static constexpr std::size_t most_records = 500;
    static constexpr std::size_t reserved_bytes = model::fence_record_bytes;

    // `host` must outlive it.
    explicit fence_records(services::host& host, std::string folder = "/var/lib/pvc/fences")
        : host_(host), folder_(std::move(folder)) {}
    fence_records(const fence_records&) = delete;
    fence_records& operator=(const fence_records&) = delete;

    // Makes the folder and keeps room for one record; may be called at the start of the daemon, so that a disk that
    // cannot be written is known then. Errors: io, timed_out (5 s), unavailable.
    async::awaitable<result<void>> make_ready();
    // Whether one could be written now. Errors: likewise.
    async::awaitable<result<void>> try_write();
    // A new record, written, synced and renamed; before it returns the oldest ones go, so that there are at most 500.
    // Errors: as above, already_exists, invalid (its id), too_large.
    async::awaitable<result<void>> open(const model::fence_record& what);
    // The record as it is now, likewise. When there is no room what was kept for that is used. After timed_out, or
    // a call that was cancelled, what it was to write may still come to the disk, at any later time: that record is
    // refused from then on (`refused`), and whoever goes on opens another that follows it.
    async::awaitable<result<void>> save(const model::fence_record& what);

    // The ids of all records, the youngest first. Errors: io (also: a file is where the folder should be),
    // timed_out, unavailable; no folder is no error.
    async::awaitable<result<std::vector<std::string>>> list();
    // Errors: not_found, invalid (cut, or somebody else's), too_large, refused (of a later version); as above.
    async::awaitable<result<model::fence_record>> read(std::string id);
    // Those about that node that began at `since` or later, the youngest first; what is no record of ours is left out.
    // For a fencer that goes on, and for who asks how often that node was fenced (ruling 45). Errors: as of list(),
    // also when one of them could not be read.
    async::awaitable<result<std::vector<model::fence_record>>> about(std::string node, wall_time since);

private:
    [[nodiscard]] std::string path_of(const std::string& id) const { return folder_ + '/' + id + ".json"; }
    [[nodiscard]] std::string reserve_path() const { return folder_ + "/reserve"; }
    async::awaitable<result<void>> keep_room();
    async::awaitable<result<void>> look_for_file() const;
    async::awaitable<result<void>> write(std::string id, std::string text);
    async::awaitable<void> remove_oldest(std::size_t left);

    services::host& host_;
    std::string folder_;
    async::mutex order_;               // one writes at a time
    bool has_room_ = false;            // the reserve is there
    std::set<std::string> uncertain_;  // records that may still be written by a call that nobody waits for
};

}  // namespace pvc::fencing
