// Which bridges this machine has, and which ones its networks are to make: said by the networks with each look at the
// links, heard by whoever starts virtual machines on them. Without the networking function nobody says anything, and
// nobody waits. Loop thread only. Specification: README ruling 77.
#pragma once

#include "pvcnoded/async/latest.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace pvc::core {

class host_bridges {
public:
    struct look {
        std::set<std::string> there;                 // links that are bridges
        bool knows_networks = false;                 // the keys of client networks were read
        std::map<std::string, std::string> wanted;   // of client networks; why it is not made, empty: it is on its way
        std::map<std::string, std::string> refused;  // of those: why, also where a bridge of that name is there

        friend bool operator==(const look&, const look&) = default;
    };

    // An attempt to start begins, in which somebody keeps bridges.
    void begin() {
        is_kept_ = true;
        has_looked_ = has_converged_ = false;
        last_ = {};
    }
    // `is_right`: nothing was left to be done, or what is left waits for its next try.
    void set(look now, bool is_right) {
        const bool is_news = !has_looked_ || now != last_ || (is_right && !has_converged_);
        has_looked_ = true;
        has_converged_ = has_converged_ || is_right;
        last_ = std::move(now);
        if (is_news) {
            changes_.set(changes_.value() + 1);
        }
    }
    // They have not been as they shall be for once in this attempt.
    [[nodiscard]] bool are_coming() const { return is_kept_ && !has_converged_; }

    enum class found : std::uint8_t {
        there,    // or nobody knows
        coming,   // not there: somebody may make it yet
        refused,  // its network is; `why`
        unknown,  // not there, its name is one of a client network, and no key has that
    };
    // `why`: what its network says, if anything; valid until the next look.
    [[nodiscard]] found find(const std::string& name, std::string_view& why) const;

    // Counts the looks that showed something else.
    [[nodiscard]] async::latest<std::uint64_t>& changes() { return changes_; }

private:
    bool is_kept_ = false;
    bool has_looked_ = false;
    bool has_converged_ = false;
    look last_;
    async::latest<std::uint64_t> changes_{0};
};

}  // namespace pvc::core
