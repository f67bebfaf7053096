// The node's running list, `runningdomains`: what a fencer restarts elsewhere if this node dies. In order of arrival;
// written at once on a change, and again by the tick if somebody else changed it. Specification: vm-domains.md 11.3.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/session.hpp"

#include <functional>
#include <string>
#include <vector>

namespace pvc::domains {

class running_list {
public:
    // What the list begins with: the stored order, filtered by what runs, then what is new.
    void begin(std::string_view stored, const std::vector<uuid>& active);
    [[nodiscard]] bool has_begun() const { return begun_; }

    void set(const uuid& id, bool runs);
    [[nodiscard]] bool contains(const uuid& id) const;
    [[nodiscard]] const std::vector<uuid>& all() const { return all_; }
    [[nodiscard]] std::string text() const;

    // Writes what changed, until cancelled: a child of the session scope.
    async::awaitable<void> publish(core::session& s);
    // Suspends until the list as it is now was written, or the deadline. False: not in time.
    async::awaitable<bool> settled(async::timers& clock, time_point deadline);
    // The version that was written last.
    [[nodiscard]] async::latest<std::uint64_t>& published() { return published_; }

private:
    void changed();

    std::vector<uuid> all_;
    bool begun_ = false;
    std::uint64_t version_ = 0;
    async::latest<std::uint64_t> published_;
    async::wakeup work_;
};

}  // namespace pvc::domains
