// Keeps table `inet filter` of this machine as the client networks want it, from S3 to the end of the attempt, over all
// sessions. It looks when networks change and when the kernel says that a table may have changed; one batch brings it
// right, and counts only for what was looked at (its generation). A table that is there when the daemon starts stays
// until the networks are known: filtering less for a moment would be worse than filtering what was wanted before.
// Looks are at least 100 ms apart, and take at most a tenth of the time, but one a second.
// Specification: networking.md 7 (cases 41 to 54); README rulings 34 and 35.
#pragma once

#include "firewall_copies.hpp"
#include "firewall_files.hpp"
#include "link_work.hpp"
#include "nft_loader.hpp"
#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/netlink/packet_filter.hpp"
#include "pvcnoded/policy/networks/filter_plan.hpp"
#include "pvcnoded/policy/networks/nft_changes.hpp"
#include "told_remarks.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::networks {

class firewall_keeper {
public:
    // All outlive it.
    firewall_keeper(core::node_context& node, netlink::packet_filter& filter, async::process_runner& processes,
                    network_counts& counts);

    // The client networks whose links this daemon makes, as they are now.
    void want(std::vector<model::client_network> networks);
    // Until cancelled: the kernel's table, and the files that say the same.
    async::awaitable<void> run();
    async::awaitable<void> keep_files() { return files_.run(); }

    // What was wanted last is there, or could not be made.
    [[nodiscard]] bool is_settled() const { return networks_.has_value() && settled_ == wants_; }
    std::function<void()> on_settled;
    // Counts what ends so.
    [[nodiscard]] async::latest<std::uint64_t>& settles() { return settles_; }

    [[nodiscard]] std::string_view state() const;  // in a word
    [[nodiscard]] const std::string& trouble() const {
        return trouble_.empty() ? loader_.knowledge().unusable : trouble_;
    }
    [[nodiscard]] const policy::wanted_filter& wanted() const { return wanted_; }
    [[nodiscard]] std::size_t rule_count() const;

private:
    static constexpr duration filter_look_limit = std::chrono::seconds(5);
    static constexpr int most_conflicts = 3;

    // The table as it was left.
    struct last_table {
        std::string signature;                   // what a load would have said
        std::vector<policy::static_file> files;  // that are in it
        std::uint64_t number = 0;                // the handles of one that is made anew are the same
        std::vector<model::seen_chain> chains;
        std::optional<policy::nft_marks> marks;  // empty: what nft made is not known rule by rule
    };

    async::awaitable<void> settle();
    // One look, and one batch if it is needed. True: to be looked at again at once.
    async::awaitable<bool> converge();
    async::awaitable<bool> commit(const policy::filter_plan& plan, std::uint32_t generation);
    bool take_refusal(const policy::filter_plan& plan, const netlink::batch_refusal& refusal);
    void is_right(std::uint64_t wants, std::uint64_t table);
    // firewall_by_nft.cpp
    async::awaitable<bool> converge_by_nft(const model::filter_state& seen, std::uint64_t wants);
    void remember(last_table table);
    void forget_last();
    // What nft made is in the table, and this daemon plans beside it while nft cannot be asked.
    [[nodiscard]] bool is_held(const model::filter_state& seen) const;
    async::awaitable<bool> load_all(const model::filter_state& seen, std::string signature);
    // Empty: all of it is to be loaded.
    [[nodiscard]] std::optional<policy::filter_plan> local_plan(const model::filter_state& seen) const;
    async::awaitable<bool> change_by_nft(const policy::filter_plan& plan, const model::filter_state& seen,
                                         std::string signature);
    void tell_nft();

    // The host's own rules in the table go: that is said, and they are kept aside, before it is done. What somebody
    // does to the daemon's own table is damage, and nothing of it is kept.
    std::string others_in(const model::filter_state& seen);
    async::awaitable<void> keep_others(const model::filter_state& seen);
    void tell_owner(const model::filter_state& seen);
    async::awaitable<void> refresh();
    void tell_damage(const model::filter_state& seen);
    void leave_out(std::string tag, std::string cause);
    void failed(std::string why);
    void goes_well();
    void settled(std::uint64_t wants);
    void tell_acls(bool are_others_in_force);

    core::node_context& node_;
    netlink::packet_filter& filter_;
    network_counts& counts_;
    told_remarks remarks_;
    firewall_files files_;
    nft_loader loader_;
    firewall_copies copies_;
    std::optional<last_table> last_;
    std::optional<std::vector<model::client_network>> networks_;  // empty: not known yet
    policy::wanted_filter wanted_;
    policy::refused_rules refused_;       // by the kernel
    std::size_t refused_until_look_ = 0;  // so many, and those whose texts are gone are forgotten
    std::set<std::string> told_acls_;
    std::set<std::string> told_files_;
    struct told_others {
        std::uint64_t table = 0;  // the last one of that content
        time_point until{};       // as long it is not told again
        bool is_kept = false;
        int again = 0;  // so often it came until then
    };
    std::map<std::uint64_t, told_others> told_others_;  // by content of the table
    std::optional<std::uint64_t> own_table_;            // its number, as the last look found all right
    bool is_stale_ = true;                              // wanted_ is to be made anew
    bool must_look_ = true;
    bool are_files_stale_ = false;
    bool must_rebuild_ = false;
    bool must_load_ = false;       // all of it, once nft can be asked
    bool may_hold_files_ = false;  // sets and the like of static files may be in the table
    bool was_right_ = false;       // the last look found it so, and nothing else was wished since
    bool was_right_once_ = false;  // with the networks known
    int conflicts_ = 0;
    std::uint64_t untold_damage_ = 0;
    time_point tell_damage_again_{};
    std::string trouble_;
    retry_pause pause_;
    duration look_time_{};
    std::uint64_t wants_ = 0;
    std::uint64_t settled_ = 0;
    async::wakeup changed_;
    async::latest<std::uint64_t> settles_;
};

}  // namespace pvc::networks
