// The fences of one session: who is judged dead, whose board is asked, which attempts run, who has the turn.
#pragma once

#include "fence_run.hpp"
#include "pvcnoded/fencing/fencer.hpp"
#include "pvcnoded/policy/fencing/confirm.hpp"
#include "pvcnoded/policy/fencing/detection.hpp"
#include "pvcnoded/policy/fencing/order.hpp"
#include "word_note.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::fencing {

class fencer_part final : public core::session_part, private fence_ground, private fence_holds {
public:
    fencer_part(core::session& s, fencer& owner);
    fencer_part(const fencer_part&) = delete;
    fencer_part& operator=(const fencer_part&) = delete;
    ~fencer_part() override;

    async::awaitable<void> run() override;
    void open() override;
    void close() override { is_open_ = false; }

    using asked = std::shared_ptr<core::awaited_explanation>;
    void confirm(core::fence_word word, time_point until, asked answer);
    [[nodiscard]] result<core::explanation> retry(const std::string& node, const std::string& by);
    void report(std::vector<std::string>& lines) const;
    [[nodiscard]] core::explanation explain() const;
    [[nodiscard]] std::size_t attempts_under_way() const { return runs_.size(); }
    // How long the node that is dead for longest has been so; empty: none is.
    [[nodiscard]] std::optional<duration> oldest_dead() const;
    [[nodiscard]] std::size_t dead() const;

private:
    // What the board of a silent node said (ruling 76). That it is off counts until it writes its state or heartbeat.
    struct asked_power {
        std::int64_t heartbeat_id = 0;
        std::int64_t state_id = 0;  // when it was asked first
        policy::off_watch heard{};
        policy::board_power last = policy::board_power::unknown;
        std::optional<time_point> asked{};
        std::optional<time_point> answered{};
        bool is_under_way = false;
        bool is_unheard = false;  // the last question of which that is known went unanswered
    };
    // Of a node that is silent, dead or fenced.
    struct closer_look {
        std::unique_ptr<zookeeper::watched> domain_state{};
        std::unique_ptr<zookeeper::watched> proof{};
        std::unique_ptr<zookeeper::watched> power{};  // model/fence_power.hpp
        std::unique_ptr<zookeeper::watched> lease{};
        // What own records say, of the state that was written by this transaction.
        std::int64_t records_of = -1;
        std::int64_t records_of_beat = -1;  // and of this heartbeat
        bool is_reading_records = false;
        bool are_records_read = false;
        bool are_records_unread = false;  // the disk did not answer: what they say is not known
        std::optional<time_point> read_again{};
        policy::own_record record = policy::own_record::none;
        std::optional<model::fence_record> found{};
        std::optional<time_point> owed{};  // policy::proof_of_owed_power_on: when that was given
        std::string left_off{};            // why it is not switched on again; empty: that is not so, by own records
        std::optional<time_point> dead_since{};
        bool was_seen_to_die = false;  // it was neither dead nor fenced when this session looked first
    };
    struct machines_of {
        std::size_t running = 0;
        std::uint64_t hash = 0;
    };
    // An operator's, about the node as it was then.
    struct given_word {
        core::fence_word word;
        policy::node_of_word then;
        std::uint64_t number = 0;
        // It was not taken in time, as who gave it was told: it proves nothing, but a node that is proven to be off
        // is not switched on against it.
        bool is_late = false;
    };
    // A try at what a recovery left.
    struct tending;

    // fence_ground
    [[nodiscard]] bool has_turn(const std::string& node) const override { return turn_ == node; }
    [[nodiscard]] bool has_word(const std::string& node) const override;
    [[nodiscard]] bool is_lock_wanted() const override;
    [[nodiscard]] bool has_heard_on(const std::string& node) const override;
    [[nodiscard]] bool was_silent_to_question(const std::string& node) const override;
    [[nodiscard]] std::vector<std::string> other_coordinators(const std::string& without) const override;
    [[nodiscard]] bool majority_stays_without(const std::string& node, const std::vector<coordinator_read>& read,
                                              time_point asked) override;
    void look_again() override;
    [[nodiscard]] bool is_disk_to_be_told() override { return is_to_be_told("/records"); }  // no name of a node
    void keeps_off(const std::string& node, const std::string& why) override;
    [[nodiscard]] async::latest<std::uint64_t>& changes() override { return changes_; }

    // fence_holds
    async::awaitable<result<void>> with_hold(std::string dead_node,
                                             std::function<async::awaitable<result<void>>(fence_hold&)> body) override;

    void follow_connection();
    [[nodiscard]] policy::observer_seen observer() const;
    // Whether to stand in line for the fence lock now; says once who has it.
    bool may_stand_in_line();
    void tell_who_has_lock();
    // Who else has it, as far as that is known; empty: nobody.
    [[nodiscard]] std::string other_holder() const;
    async::awaitable<void> read_holder(std::string child);
    // By what is known now; of those that were read just now by that.
    [[nodiscard]] bool majority_stays_by(const std::string& node, const std::vector<coordinator_read>& read) const;
    [[nodiscard]] policy::node_seen seen_of(const core::other_node& one) const;
    [[nodiscard]] std::vector<policy::node_seen> all_seen() const;
    void look_closer(const std::vector<policy::node_seen>& all);
    void judge();
    void tell(const policy::verdict_on_node& verdict, const policy::node_seen& one);
    [[nodiscard]] bool has_begun_in_tick(const std::string& node) const;
    void tell_forgotten(const policy::node_seen& one);
    [[nodiscard]] bool is_hour_over(const std::string& node) const;
    // Once an hour for each node, whatever it is.
    [[nodiscard]] bool is_to_be_told(const std::string& node);
    void ask_boards(const policy::observer_seen& self, const std::vector<policy::node_seen>& all);
    async::awaitable<void> ask_board(std::string node, std::int64_t heartbeat_id);
    void take_up_left_over(const policy::node_seen& one, bool may_detect);
    void learn_records(const std::string& node, closer_look& look, const policy::victim_seen& victim);
    // When the proof was given after which this coordinator still has to switch it on; empty: it has not.
    [[nodiscard]] std::optional<time_point> owed_power_on(const std::string& node) const;
    // The same of the proof on which it is recovered.
    [[nodiscard]] time_point proven_at(const std::string& node) const;
    [[nodiscard]] bool has_recorded_word(const policy::node_seen& one) const;
    [[nodiscard]] std::optional<policy::victim_seen> victim_of(const policy::node_seen& one) const;
    async::awaitable<void> read_records(std::string node, std::int64_t state_id, std::int64_t heartbeat_id);
    void begin(const policy::node_seen& one, policy::fence_origin why);
    async::awaitable<void> carry_out(std::shared_ptr<fence_run> which);
    async::awaitable<void> await_disk();
    async::awaitable<void> take_word(core::fence_word word, time_point until, asked answer);
    // What the board says of a node that somebody says is off, or tells a fence that has it. Empty: nothing by then.
    async::awaitable<std::optional<policy::board_power>> power_for_word(core::fence_word word, time_point until);
    // It was seen off, as a proof in the store says.
    [[nodiscard]] bool is_proven_off(const std::string& node) const;
    // `note`: null while it is not noted yet.
    [[nodiscard]] std::string why_not_confirmed(const core::fence_word& word, policy::board_power board,
                                                const word_note* note) const;
    // By a fence of this coordinator that has proven it to be off, and goes on.
    [[nodiscard]] bool is_recovered_here(const std::string& node) const;
    void want_machines(duration no_older_than);
    async::awaitable<void> count_machines();
    void give_turn();
    void forget_removed(const std::vector<policy::node_seen>& all);
    void drop_old_words(const std::vector<policy::node_seen>& all);
    [[nodiscard]] bool is_turn_wanted() const;

    core::session& session_;
    core::node_context& node_;
    fencer& owner_;
    boards& boards_;
    async::wakeup changed_;
    async::latest<std::uint64_t> changes_;
    lock_keeper lock_;
    std::unique_ptr<zookeeper::watched> in_line_;  // the children of the fence lock, while anybody is silent or down
    policy::lock_wait lock_wait_;
    bool may_queue_ = false;
    std::set<std::string> waiting_;  // nodes for whose fence it is waited
    std::string holder_child_;       // what is read of it
    std::string holder_;             // its data: who has it, and why
    std::unique_ptr<session_recovery> recovery_;
    async::task_group* scope_ = nullptr;
    bool is_open_ = false;
    std::vector<std::string> coordinators_;
    time_point connected_since_;
    std::uint64_t connections_ = 0;
    std::map<std::string, std::uint64_t> begun_in_;  // in which tick the last attempt at each began

    std::map<std::string, policy::state_watch> states_;
    std::map<std::string, asked_power> powers_;
    std::size_t questions_ = 0;  // to boards, under way
    std::optional<time_point> next_question_;
    std::map<std::string, closer_look> closer_;
    std::map<std::string, policy::fence_memory> memories_;
    std::map<std::string, std::shared_ptr<fence_run>> runs_;
    std::vector<tending*> tended_;
    std::map<std::string, std::shared_ptr<fence_ledger>> tries_;  // of leftovers: a record a node and session
    std::optional<std::string> turn_;
    std::map<std::string, given_word> words_;  // for nodes whose fence is to rest on them
    std::uint64_t words_given_ = 0;
    bool is_disk_awaited_ = false;
    std::vector<asked> asked_;  // about words, not answered yet

    std::map<std::string, machines_of> machines_;
    std::optional<time_point> machines_read_;
    bool are_machines_wanted_ = false;
};

}  // namespace pvc::fencing
