// Which bridges this machine has, and which ones its networks are to make: said by the networks with each look at the
// links, heard by whoever starts virtual machines on them. Without the networking function nobody says anything, and
// nobody waits. Loop thread only. Specification: README ruling 77.
#pragma once

#include "pvcnoded/async/latest.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
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
    // Before each look, also one that fails.
    void begin_look() { ++looks_begun_; }
    // Of the look that began last. `is_right`: nothing was left to be done, or what is left waits for its next try.
    void set(look now, bool is_right) {
        losses_ += std::ranges::includes(now.there, last_.there) ? 0 : 1;
        const bool is_news = !has_looked_ || now != last_ || (is_right && !has_converged_);
        has_looked_ = true;
        has_converged_ = has_converged_ || is_right;
        last_ = std::move(now);
        if (is_news) {
            changes_.set(changes_.value() + 1);
        }
        last_look_.set(looks_begun_);
    }
    // They have not been as they shall be for once in this attempt.
    [[nodiscard]] bool are_coming() const { return is_kept_ && !has_converged_; }

    // Somebody says which there are.
    [[nodiscard]] bool are_kept() const { return is_kept_; }
    // What is there now is asked for: the look that shows it has a higher number than this. See last_look().
    [[nodiscard]] std::uint64_t want_look() const {
        if (on_wanted) {
            on_wanted();
        }
        return looks_begun_;
    }
    std::function<void()> on_wanted;
    // How many looks showed that a bridge is not there any more.
    [[nodiscard]] std::uint64_t losses() const { return losses_; }

    enum class found : std::uint8_t {
        there,    // or nobody keeps bridges
        coming,   // not there, or nobody has looked: somebody may make it yet
        refused,  // its network is; `why`
        unknown,  // not there, its name is one of a client network, and no key has that
    };
    // `why`: what its network says, if anything; valid until the next look.
    [[nodiscard]] found find(const std::string& name, std::string_view& why) const;

    // Counts the looks that showed something else.
    [[nodiscard]] async::latest<std::uint64_t>& changes() { return changes_; }
    // The number of the look that is told of now; set with each of them.
    [[nodiscard]] async::latest<std::uint64_t>& last_look() { return last_look_; }

private:
    bool is_kept_ = false;
    bool has_looked_ = false;
    bool has_converged_ = false;
    look last_;
    async::latest<std::uint64_t> changes_{0};
    std::uint64_t looks_begun_ = 0;
    std::uint64_t losses_ = 0;
    async::latest<std::uint64_t> last_look_{0};
};

}  // namespace pvc::core
