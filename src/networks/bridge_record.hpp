// Which links of client networks are this daemon's own, which ports of the host's bridges it looks after, and which
// routes of others hang on addresses of the primary, in files of the dynamic directory, which live as long as the links
// do: `client-bridges`, and `client-bridges.2` and so on where one does not hold them all. What it says decides whose a
// bridge is that has lost its base while no daemon ran (policy/networks/own_bridges.hpp). A record that cannot be read
// or written is said and costs nothing but that. Loop thread only.
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"

#include <functional>
#include <optional>
#include <set>
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
    [[nodiscard]] const policy::own_bases& bases() const { return bases_; }
    [[nodiscard]] const policy::host_ports& ports() const { return ports_; }
    [[nodiscard]] const std::set<std::string>& made() const { return further_.made; }
    [[nodiscard]] const policy::bound_routes& routes() const { return further_.routes; }
    // With the first look: what a record that could not be read may have said of bases.
    void note_unknown(const model::network_state& seen);
    // What tells whose a link is; null until all names of the host's own links could be read once.
    [[nodiscard]] const policy::whose_links* whose() const { return whose_ ? &*whose_ : nullptr; }
    // By files of the host itself, with all that they named before where not all of it can be read.
    void set_named(const policy::named_links& names, bool is_whole);
    // As it is after a look; written if it has changed.
    void update(policy::own_bridges now, policy::own_bases bases);
    void update_ports(policy::host_ports ports);
    void update_made(std::set<std::string> made);
    void update_routes(policy::bound_routes routes);
    // The files say what is known, or could not be written: whoever waits for that need not wait any more.
    [[nodiscard]] bool is_noted() const { return is_written() || has_failed_; }
    // The files say of this base what is known of it.
    [[nodiscard]] bool has_written(const std::string& base) const;
    // The files name the routes that are known; whether these wait they may say later.
    [[nodiscard]] bool has_written_routes() const {
        return is_whole_ && policy::is_same_but_for_waiting(further_.routes, written_further_.routes);
    }
    // Returns when is_noted() is so, or at this time. Several may wait.
    async::awaitable<void> noted_by(time_point until);
    // Likewise when the files name the routes that are known, whatever else is to be written.
    async::awaitable<void> routes_noted_by(time_point until);
    // Called when that has become so.
    std::function<void()> on_noted;
    // Writes, until cancelled.
    async::awaitable<void> run();

private:
    async::awaitable<result<void>> write(std::vector<std::string> texts);
    [[nodiscard]] std::string path_of(std::size_t part) const;
    void tell(std::string text);
    [[nodiscard]] bool is_written() const {
        return known_ == written_ && bases_ == written_bases_ && ports_ == written_ports_ &&
               further_ == written_further_ && is_whole_ && !is_incomplete_;
    }

    core::node_context& node_;
    policy::own_bridges known_;
    policy::own_bridges written_;
    policy::own_bases bases_;
    policy::own_bases written_bases_;
    policy::host_ports ports_;
    policy::host_ports written_ports_;
    policy::further_notes further_;
    policy::further_notes written_further_;
    std::optional<policy::whose_links> whose_;
    bool has_failed_ = false;     // the last try
    bool is_incomplete_ = false;  // what was read, until note_unknown
    bool is_whole_ = true;        // the files say what was written last, and nothing else
    std::size_t parts_ = 0;       // files that are there
    std::string told_;
    async::wakeup changed_;
    async::condition written_now_;  // or could not be
};

}  // namespace pvc::networks
