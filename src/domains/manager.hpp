// The one that looks at every domain that changed, asks the tables, and starts operations.
#pragma once

#include "operations/disk_users.hpp"
#include "operations/operation.hpp"
#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/domains/domain_subject.hpp"
#include "pvcnoded/policy/domains/guest_noise.hpp"
#include "pvcnoded/policy/domains/oversight.hpp"

#include <set>

namespace pvc::domains {

// Figures of the tick (node-lifecycle.md 6.4).
struct domain_figures {
    std::int64_t allocated_mib = 0;
    std::int64_t provisioned_mib = 0;
    std::int64_t vcpus = 0;
    std::size_t active = 0;
};

class manager {
public:
    manager(core::node_context& node, domain_ports outside, domain_counts& counted);

    // The connection to the hypervisor, over all sessions: a child of the attempt.
    async::awaitable<void> run_hypervisor();
    // The domains, for one session.
    async::awaitable<void> run(core::session& s);
    async::awaitable<bool> wait_loaded(time_point deadline);
    async::awaitable<void> stop(time_point deadline);
    async::awaitable<void> survey(core::session& s, time_point deadline);
    async::awaitable<void> clean_up_after_fence(core::session& s, std::function<bool()> goes_on);
    // Commands of clients (command.cpp).
    [[nodiscard]] bool owns(const uuid& id) const;
    async::awaitable<result<void>> execute(model::domain_command what, command_guard guard, time_point deadline);
    // A task of the session, if one is open. False: none is.
    bool spawn_reading(std::string name, std::function<async::awaitable<void>(core::session&)> body);

    core::node_context& node;
    hypervisor::hypervisor& hv;
    guests observed;
    domain_table table;
    running_list list;
    creation_turns creations{8};  // vm-domains.md 5.3
    turns migrations{4};          // README ruling 25
    migration_calls calls;
    disk_records migration_records;
    disk_records creation_records;
    arrivals arrived_here;
    stays stayed_here;
    domain_counts& counts;
    ceph_news ceph;
    policy::console_pace pace;
    disk_looks looks;
    domain_parts parts;
    std::optional<domain_figures> figures;
    async::latest<bool> opened{false};  // is_open_, for whoever waits for it

private:
    void obey_settings();
    // What machines wait for that are to run (waiting.cpp).
    void follow_causes();
    async::awaitable<void> follow_networks();
    async::awaitable<void> tell_waiting();
    void look_at(const uuid& id);
    void look_at_all();
    void on_event(const hypervisor::guest_event& event);
    // Counted if it is not the first: see policy/domains/guest_noise.hpp.
    void tell_noise(const domain_row& row, policy::guest_noise_kind kind, const std::string& said);
    void tell_counted_noise(time_point now);
    // A command that waits for the operation of its domain to end.
    struct command_turn {
        uuid id;
        async::wakeup ready;
    };
    // What the end of an operation, or of a command, leaves behind.
    struct slot_end {
        manager& owner;
        domain_row& row;
        // It has not come to its end, and is looked at anew by force if it never does.
        bool is_unfinished = false;
        ~slot_end();
    };
    [[nodiscard]] domain_row* free_row(const uuid& id);
    // True if a command has the next turn on this domain.
    bool gives_turn(domain_row& row);
    // Evaluates one domain now.
    void evaluate(domain_row& row);
    bool prepare_evaluation(domain_row& row);
    void tell_unknown_word(const domain_row& row) const;
    void decide(domain_row& row, model::guest_class guest);
    void evaluate_gone(domain_row& row, const std::optional<model::guest_class>& guest);
    void note_placement(domain_row& row);
    void end_mark(const domain_row& row, std::optional<model::guest_class> guest);
    void note_journal(domain_row& row);
    bool is_done_already(domain_row& row, policy::domain_action action);
    void begin(domain_row& row, policy::domain_action action);
    bool is_in_vain(domain_row& row, policy::domain_action action);
    async::awaitable<void> perform(policy::domain_action action, std::shared_ptr<slot_end> slot);
    void let_go(domain_row& row);
    static void look_anew(local_domain& here);
    void tell_pause(local_domain& here, model::guest_class guest);
    void unlist_gone(domain_row& row);
    [[nodiscard]] std::vector<uuid> take_lost_creations();
    void settle_lost_creation(domain_row& row, model::guest_class guest);
    void tell_strangers();
    async::awaitable<void> begin_list(core::session& s);
    async::awaitable<void> dispatch(core::session& s);
    async::awaitable<void> follow_hold(core::session& s);
    async::awaitable<void> hold_starts(core::session& s, const zookeeper::watched& key, async::wakeup& changed);
    async::awaitable<result<std::vector<uuid>>> read_forfeited(core::session& s, bool& is_recovered);
    [[nodiscard]] bool creates_forfeited(bool is_recovered) const;
    async::awaitable<void> write_statistics(core::session& s, const std::vector<model::guest_figures>& all,
                                            time_point deadline);
    async::awaitable<void> refresh_stored_memory(core::session& s, time_point deadline);
    void compute_figures(const std::vector<model::guest_figures>& all);
    [[nodiscard]] time_point next_due();

    core::session* session_ = nullptr;
    async::task_group* operations_ = nullptr;
    std::set<uuid> todo_;
    std::vector<command_turn*> turns_;
    std::set<uuid> paused_;                  // those whose last operation left a pause_until
    std::map<uuid, time_point> look_later_;  // those that are not to stay as they are for ever
    std::set<uuid> told_strangers_;
    std::map<uuid, time_point> told_fail_;
    policy::guest_noise noise_;
    async::wakeup work_;
    async::condition idle_;  // an operation has ended, or all that was due has been looked at
    bool is_open_ = false;   // everything was read once: evaluation may begin
    bool is_stopping_ = false;
    bool holds_starts_ = false;  // after a fence: somebody is still moving the domains of this node
    bool is_cleaning_ = false;   // after a fence: what others took over is being ended
    bool told_silent_ = false;
    std::optional<time_point> networks_until_;  // machines are started then, however the networks are
    std::size_t running_operations_ = 0;
    std::uint64_t evaluations_ = 0;
    uuid last_checked_{};
};

}  // namespace pvc::domains
