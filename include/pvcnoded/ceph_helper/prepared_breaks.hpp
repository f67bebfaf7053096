// Images that stand open for a lock on them to be broken (storage.md 6.3: opening and listing may take long, a proof
// holds for 2 s). Kept for a minute, and no more than so many. Any thread.
#pragma once

#include "pvcnoded/ceph_helper/connection.hpp"

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace pvc::ceph_helper {

class prepared_breaks {
public:
    static constexpr duration kept = std::chrono::seconds(60);
    static constexpr std::size_t most = 64;

    struct key {
        std::string image;
        std::string id;  // of the lock
        std::string client;
        std::int64_t blocklist_seconds = 0;  // -1: nothing is put there
        friend auto operator<=>(const key&, const key&) = default;
    };

    void put(const key& of, std::shared_ptr<ready_break> one, time_point now);
    [[nodiscard]] std::shared_ptr<ready_break> find(const key& of) const;
    void forget(const key& of);
    void forget_old(time_point now);

private:
    struct entry {
        std::shared_ptr<ready_break> one;
        time_point since;
    };
    mutable std::mutex mutex_;
    std::map<key, entry> all_;
};

}  // namespace pvc::ceph_helper
