// What this daemon cannot load by itself, through the nft program: files that the administrator put into `nft/static`,
// and ACLs with words that only nft knows. The program runs with a deadline and holds nobody up. Files and ACLs are
// first tried by dry runs; then all of it, or what has changed, is loaded as one text, which is one batch of the
// kernel's too. What nft says of a line of its text is its verdict; anything else that it says or does is its own
// trouble, and it is asked again later. Specification: networking.md 7.2, 7.4 (case 53); README ruling 35.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::networks {

class nft_loader {
public:
    // Both outlive it. `folder`: where `static` is.
    nft_loader(core::node_context& node, async::process_runner& processes, std::string folder);

    // Reads `static` again, if the last time is long enough ago. True: it is not as it was, or nft may be asked again.
    async::awaitable<bool> look_at_files();
    [[nodiscard]] time_point next_look() const { return next_look_; }
    // Some table was changed, by whomever: the next look finds out whether those of static files are still there.
    void tables_changed() { must_check_tables_ = true; }
    // Those that the last load made and the last look missed; told once.
    [[nodiscard]] std::vector<std::string> take_lost_tables() { return std::exchange(lost_tables_, {}); }
    // There are some that nft takes.
    [[nodiscard]] bool has_files() const { return !accepted_.empty(); }
    // Which of them are to be loaded has changed since this was asked last.
    [[nodiscard]] bool take_files_changed() { return std::exchange(are_files_others_, false); }
    [[nodiscard]] bool can_load_files() const { return has_files() && is_usable(); }
    [[nodiscard]] bool is_usable() const { return knowledge_.unusable.empty(); }
    // In this boot, be it by a daemon before.
    [[nodiscard]] bool has_loaded_files();
    // There are some, whatever nft says of them.
    [[nodiscard]] bool has_any_files() const { return !files_.empty(); }
    // Whether it is one of the files over which a load fails is not known yet: one without files tells.
    [[nodiscard]] bool is_load_due() const { return is_usable() && is_without_files_; }
    [[nodiscard]] const policy::nft_knowledge& knowledge() const { return knowledge_; }
    // Why files are left out, by their names: "line 3: syntax error …".
    [[nodiscard]] const std::map<std::string, std::string>& file_problems() const { return file_problems_; }
    // Why they cannot be listed; empty: they can.
    [[nodiscard]] const std::string& unlisted() const { return unlisted_; }
    // Another wish: what nft said against all of the last one is no more. Its trouble lasts.
    void forget_refusal(bool are_networks_others);

    // Which rules of ACLs nft has made, by their tags: they stay in force while it cannot be asked.
    void note_in_force(std::set<std::string, std::less<>> tags) { knowledge_.in_force = std::move(tags); }
    void drop_in_force(const std::string& tag) { knowledge_.in_force.erase(tag); }

    // Asks nft about each file that was not asked about yet; and about each of these ACLs, until it is time. False:
    // some are left.
    async::awaitable<void> judge_files();
    async::awaitable<bool> judge(std::vector<std::string> acls, time_point until);
    // All of it in one batch. False: it is not done, and more is known: one ACL less of those that nft took alone, or
    // why nft can load nothing (`unusable`).
    async::awaitable<bool> load(const policy::wanted_filter& wanted);
    // A part of it in one batch, beside what is there.
    struct change_end {
        bool is_done = false;
        std::optional<std::string> guilty{};  // the rule of an ACL that is refused
        bool is_trouble = false;              // of the program
        std::string reason{};
    };
    async::awaitable<change_end> change(std::string text);
    // Where it is known that nothing was done, and that this was nobody else's doing.
    void take_failure(change_end end);
    // It ended well, and has done nothing.
    void did_nothing();
    // Tables of static files that were there before: their rules come again with each load.
    [[nodiscard]] const std::vector<std::string>& shared_tables() const { return shared_tables_; }
    // Those that a load would load.
    [[nodiscard]] const std::vector<policy::static_file>& files() const { return accepted_; }
    // What a load would say.
    [[nodiscard]] std::string text_of(const policy::wanted_filter& wanted) const;
    // Table `inet filter` as it is, in words that make it again. Errors: not_found (there is no nft), io, timed_out,
    // too_large.
    async::awaitable<result<std::string>> list_table();
    // Tables that static files made go, once there are no such files. False: some may be left.
    async::awaitable<bool> remove_tables();

private:
    struct file {
        policy::static_file is;
        std::string unreadable;
        friend bool operator==(const file&, const file&) = default;
    };
    // What it printed, and what it said if it refused.
    struct answer {
        bool is_taken = false;
        bool was_killed = false;
        bool is_cut = false;
        std::optional<std::size_t> line;  // that it refuses
        std::string output;
        std::string said;
    };
    struct tables {
        std::vector<std::string> all;  // of this machine
        std::vector<std::string> own;  // that static files made
    };
    // Errors: not_found (there is no nft), io, timed_out.
    async::awaitable<result<answer>> run(std::vector<std::string> arguments, std::string input,
                                         async::process_limits limits);
    async::awaitable<result<answer>> load_file(std::string_view name, const std::string& text);
    struct included_text {
        std::string is;
        bool has_answers = true;  // no disk hung
    };
    // With those of the files that it includes. One that cannot be read is an objection.
    async::awaitable<policy::static_names> names_of(std::string text, included_text* included = nullptr,
                                                    int depth = 0) const;
    async::awaitable<void> note_chains();
    void leave_out_rule(std::string guilty, std::string reason);
    void leave_out_file(const policy::static_file& one, std::string why);
    bool is_hanging(const policy::static_file& one) const;
    void cannot_ask(const std::string& doing, const std::string& why);
    void forget_doubts();
    void forget_refused_texts();
    // The accepted ones of these, and what is said against the others.
    async::awaitable<void> try_files(std::vector<policy::static_file> readable);
    async::awaitable<result<tables>> look_at_tables();
    async::awaitable<void> take_loaded(std::vector<std::string> own);
    async::awaitable<bool> find_lost_tables();
    async::awaitable<void> note_refusal(const answer& said, const std::string& text, std::span<const std::string> own);
    async::awaitable<void> suspect_files(std::string why, bool is_hang);
    void add_pending();
    async::awaitable<void> record(std::vector<std::string> tables);

    core::node_context& node_;
    async::process_runner& processes_;
    std::string folder_;
    std::vector<file> files_;
    bool are_files_judged_ = true;
    std::vector<policy::static_file> accepted_;  // to be loaded, as far as dry runs say
    // What nft takes in dry runs and cannot load is found by adding one file after the other to those that it has
    // loaded before.
    std::vector<policy::static_file> proven_;
    std::vector<policy::static_file> pending_;
    std::vector<policy::static_file> blamed_;  // since the last load that went well
    bool is_without_files_ = false;            // the next load is one without any
    bool are_files_others_ = false;
    std::map<std::string, std::pair<std::string, time_point>> hanging_files_;  // text, and when it is tried again
    std::map<std::string, std::string> file_problems_;
    std::string unlisted_;
    policy::nft_knowledge knowledge_;
    bool is_in_trouble_ = false;  // `unusable` is of the program, not of what it was given
    bool must_forget_texts_ = false;
    duration trial_limit_{};                      // of a slow program, longer than usual
    std::set<std::string> suspects_;              // the last group that was refused
    std::map<std::string, time_point> doubtful_;  // texts over which the program died or hung: when to ask again
    std::optional<std::vector<std::string>> own_tables_;  // of static files; empty: the record was not read yet
    bool is_recorded_ = true;
    bool has_record_ = false;  // on disk
    std::vector<std::string> shared_tables_;
    std::vector<std::string> made_tables_;  // that were there behind the last load
    std::vector<std::string> lost_tables_;
    bool must_check_tables_ = false;
    time_point next_look_{};
    time_point may_forget_rules_{};
    std::optional<time_point> ask_again_;  // what is unusable now may not be then
};

}  // namespace pvc::networks
