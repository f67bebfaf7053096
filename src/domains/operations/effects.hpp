// What machines ask for, carried out through the ports: one function for each question, and no decision in any of them.
// What a question, its limit and its answer mean is said with the question (pvcnoded/policy/domains/requests.hpp).
#pragma once

#include "operations/migration.hpp"
#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/machine.hpp"

#include <string>
#include <vector>

namespace pvc::domains {

class effects {
public:
    explicit effects(operation& op) : op_(op) {}
    effects(const effects&) = delete;
    effects& operator=(const effects&) = delete;

    // `change` is a wait on `changed`.
    async::awaitable<policy::answer> carry_out(const policy::step& what, async::wakeup& changed);
    // Their texts are taken.
    void carry_out(std::vector<policy::act::any>& acts);
    // Whoever has the locks of a reference sender is looked at from here on.
    void follow_sender();
    [[nodiscard]] bool follows_sender() const { return sender_.has_value(); }
    async::awaitable<void> look_at_sender();

private:
    using answered = async::awaitable<policy::answer>;
    answered wait(async::wakeup& changed, time_point until, std::string_view what);
    answered pass_time(time_point until, std::string_view what);
    answered perform(policy::ask::nothing what, time_point until);
    answered perform(policy::ask::change what, time_point until);  // of carry_out itself, as the next
    answered perform(policy::ask::time what, time_point until);
    answered perform(policy::ask::monitors what, time_point until);
    answered perform(policy::ask::write_reason what, time_point until);
    answered perform(policy::ask::bridges_look what, time_point until);
    answered perform(policy::ask::network_is_gone what, time_point until);
    answered perform(policy::ask::row what, time_point until);
    answered perform(policy::ask::write_state what, time_point until);
    answered perform(policy::ask::write_placement what, time_point until);
    answered perform(policy::ask::write_last_node what, time_point until);
    answered perform(policy::ask::clear_own what, time_point until);
    answered perform(policy::ask::offer_to_receive what, time_point until);
    answered perform(policy::ask::connection what, time_point until);
    answered perform(policy::ask::sending_keys what, time_point until);
    answered perform(policy::ask::set_listed what, time_point until);
    answered perform(policy::ask::others what, time_point until);
    answered perform(policy::ask::daemon_runs what, time_point until);
    answered perform(policy::ask::node_exists what, time_point until);
    answered perform(policy::ask::whose_stop what, time_point until);
    answered perform(policy::ask::target what, time_point until);
    answered perform(policy::ask::nodes what, time_point until);
    answered perform(policy::ask::own_guest what, time_point until);
    answered perform(policy::ask::destroy what, time_point until);
    answered perform(policy::ask::resume_guest what, time_point until);
    answered perform(policy::ask::set_downtime what, time_point until);
    answered perform(policy::ask::progress what, time_point until);
    answered perform(policy::ask::abort_call what, time_point until);
    async::awaitable<result<bool>> has_fallen(std::string target);
    answered perform(policy::ask::rbd_verdict what, time_point until);
    answered perform(policy::ask::list_rbd_locks what, time_point until);
    answered perform(policy::ask::prepare_rbd_break what, time_point until);
    answered perform(policy::ask::disk_users what, time_point until);
    answered perform(policy::ask::break_rbd_lock what, time_point until);
    answered perform(policy::ask::contenders what, time_point until);
    answered perform(policy::ask::make_sync_key what, time_point until);
    answered perform(policy::ask::stranded_keys what, time_point until);
    answered perform(policy::ask::take_back what, time_point until);
    answered perform(policy::ask::definition what, time_point until);
    answered perform(policy::ask::create what, time_point until);
    answered perform(policy::ask::end_crashed what, time_point until);
    answered perform(policy::ask::write_started what, time_point until);
    answered perform(policy::ask::write_failed what, time_point until);
    answered perform(policy::ask::publish_vnc what, time_point until);
    answered perform(policy::ask::live_xml what, time_point until);
    answered perform(policy::ask::end_console what, time_point until);
    answered perform(policy::ask::clear_reason what, time_point until);

    void perform(policy::act::line what);
    void perform(policy::act::write_record what);
    void perform(const policy::act::drop_record& what);
    void perform(const policy::act::pause& what);
    void perform(const policy::act::note_arrival& what);
    void perform(policy::act::note_stay what);
    void perform(const policy::act::follow_console& what);
    void perform(const policy::act::arrived_home& what);
    void perform(const policy::act::tell_pause& what);
    void perform(const policy::act::created& what);
    void perform(const policy::act::tell_vnc_problem& what);
    void perform(const policy::act::forget_live& what);

    operation& op_;
    std::optional<reference_sender> sender_;
    // What was read last to be created.
    std::string xml_;
};

}  // namespace pvc::domains
