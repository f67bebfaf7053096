// Virtual functions that nobody uses any more and whose keys say otherwise: clients free them, but not where a machine
// was removed or was moved by a daemon. A value: what is stored goes in, what is to be freed now comes out.
//
// The user must be proved absent: by a list of all machines that was read, and by a time in which neither the list nor
// the keys said anything else, as a client may write the keys of a function before those of the machine that gets it.
// Specification: networking.md 4.4 (case 21).
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

struct function_use {
    std::string name;
    bool is_used = false;  // its key says exactly True
    std::string used_by;
    std::int64_t written = 0;  // when its keys were written last, as ZooKeeper counts
};

class function_releases {
public:
    // A user is absent for so long before his function is freed; and so long after a failure it is tried again.
    static constexpr duration patience = std::chrono::seconds(10);

    // All functions of this node, and all names below /domains; null: these could not be read, and say nothing.
    void see(time_point now, const std::vector<function_use>& all, const std::vector<std::string>* domains);
    // Those to be freed.
    [[nodiscard]] std::vector<std::string> due(time_point now) const;
    void failed(const std::string& name, time_point now);
    // When the next one is due, or the list of machines, which could not be read, is to be looked at again. Empty: none
    // is waiting.
    [[nodiscard]] std::optional<time_point> next() const;

private:
    struct absence {
        std::string used_by;
        std::int64_t written = 0;
        time_point due;
    };
    std::map<std::string, absence> absent_;
    std::optional<time_point> again_;
};

}  // namespace pvc::policy
