// Which bridges of client networks are this daemon's own, in files of the dynamic directory, which live as long as the
// links do: `client-bridges`, and `client-bridges.2` and so on where one does not hold them all. What it says decides
// whose a bridge is that has lost its base while no daemon ran (policy/networks/own_bridges.hpp). A record that cannot
// be read or written is said and costs nothing but that. Loop thread only.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"

#include <functional>
#include <string>
#include <vector>

namespace pvc::networks {

class bridge_record {
public:
    // The context outlives it.
    explicit bridge_record(core::node_context& node) : node_(node) {}

    // What a daemon before this one left; once, before anything is decided.
    void read();
    [[nodiscard]] const policy::own_bridges& known() const { return known_; }
    // As it is after a look; written if it has changed.
    void update(policy::own_bridges now);
    // The files say what is known, or could not be written: whoever waits for that need not wait any more.
    [[nodiscard]] bool is_noted() const { return (known_ == written_ && is_whole_) || has_failed_; }
    // Called when that has become so.
    std::function<void()> on_noted;
    // Writes, until cancelled.
    async::awaitable<void> run();

private:
    async::awaitable<result<void>> write(std::vector<std::string> texts);
    [[nodiscard]] std::string path_of(std::size_t part) const;
    void tell(std::string text);

    core::node_context& node_;
    policy::own_bridges known_;
    policy::own_bridges written_;
    bool has_failed_ = false;  // the last try
    bool is_whole_ = true;     // the files say what was written last, and nothing else
    std::size_t parts_ = 0;    // files that are there
    std::string told_;
    async::wakeup changed_;
};

}  // namespace pvc::networks
