// Carries the fence of one node out: resumes policy::fence_attempt with what is seen, and does what it asks for. No
// decision of its own. Specification: node-lifecycle.md 10.2 to 10.5, 10.7; README rulings 37 to 46, 76.
#pragma once

#include "lock_keeper.hpp"
#include "pvcnoded/fencing/boards.hpp"
#include "pvcnoded/fencing/fence_ledger.hpp"
#include "pvcnoded/fencing/recovery.hpp"
#include "pvcnoded/policy/fencing/attempt.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::fencing {

// Another coordinator, as the read before a power-off shows it.
struct coordinator_read {
    std::string name;
    std::optional<model::daemon_state> state;
    std::optional<std::int64_t> heartbeat_id;
};

// What all fences of a session have in common. It outlives them.
class fence_ground {
public:
    [[nodiscard]] virtual bool has_turn(const std::string& node) const = 0;
    [[nodiscard]] virtual bool has_word(const std::string& node) const = 0;
    // Somebody stands behind this coordinator in the line for the fence lock.
    [[nodiscard]] virtual bool is_lock_wanted() const = 0;
    // Its board said so in the last answer, which is at most 10 s old, since its last heartbeat.
    [[nodiscard]] virtual bool has_heard_on(const std::string& node) const = 0;
    // Since it was probed, its board was asked for its power, and was silent to the last question.
    [[nodiscard]] virtual bool was_silent_to_question(const std::string& node) const = 0;
    // Who counts for the majority (ruling 31) besides this node, and whether there is one by what was read of them.
    [[nodiscard]] virtual std::vector<std::string> other_coordinators(const std::string& without) const = 0;
    [[nodiscard]] virtual bool majority_stays_without(const std::string& node,
                                                      const std::vector<coordinator_read>& read, time_point asked) = 0;
    // A machine wants something else, or is over.
    virtual void look_again() = 0;
    // That this coordinator can write no record is said once an hour; true: now.
    [[nodiscard]] virtual bool is_disk_to_be_told() = 0;
    // What was said of it is to be said each hour.
    virtual void keeps_off(const std::string& node, const std::string& why) = 0;
    [[nodiscard]] virtual async::latest<std::uint64_t>& changes() = 0;

protected:
    ~fence_ground() = default;
};

struct fence_tools {
    core::session& session;
    fence_ground& ground;
    lock_keeper& lock;
    boards& all_boards;
    fence_ledgers& ledgers;
    session_recovery& recovery;
};

class fence_run final : public fence_hold {
public:
    // `machine`: given, and its record with a name that is still free.
    fence_run(fence_tools tools, policy::fence_attempt machine, std::shared_ptr<fence_ledger> ledger);

    // To the end of the machine. Cancelled, it is abandoned.
    async::awaitable<void> run();
    [[nodiscard]] const policy::fence_attempt& machine() const { return machine_; }
    [[nodiscard]] const policy::fence_step& step() const { return step_; }
    [[nodiscard]] const fence_ledger& ledger() const { return *ledger_; }
    [[nodiscard]] bool has_had_lock() const { return has_had_lock_; }
    // What its board said of its power when it was last asked for that; unknown: it did not say, or was silent to an
    // order since. Empty: not asked yet.
    [[nodiscard]] std::optional<policy::board_power> last_look() const { return last_look_; }
    // By the last of what this fence told or asked it, else by what it was asked before.
    [[nodiscard]] bool is_board_unheard() const;
    [[nodiscard]] time_point begun() const { return begun_; }
    // By an operator, whose word this is to rest on.
    void take_word(bool although_on, std::string by);

    [[nodiscard]] bool holds() const override;
    [[nodiscard]] std::string child() const override;
    void add_check(zookeeper::transaction& what) const override;
    async::awaitable<bool> record(policy::fence_entry::any entry) override;
    void note(policy::fence_entry::any entry) override;
    void name_machine(const uuid& id, std::string name) override;
    async::awaitable<std::map<uuid, policy::clients_before>> clients_before() override;

private:
    // The last guarded read.
    struct keys {
        std::int32_t state_version = 0;
        std::int32_t heartbeat_version = 0;
        std::int32_t domain_state_version = 0;
        std::int32_t proof_version = -1;   // -1: there is none
        std::int32_t router_version = -1;  // likewise
        std::int32_t primary_version = -1;
        std::int32_t power_version = -1;
        bool is_named_primary = false;
        bool is_flushing = false;
    };

    [[nodiscard]] std::string path(std::string_view suffix) const { return model::node_path(machine_.node, suffix); }
    [[nodiscard]] policy::fence_seen look() const;
    policy::fence_step resume(const policy::fence_said::any& said, std::uint32_t number);
    void act(const policy::fence_act::any& what);
    void say(policy::fence_news what, const std::string& text) const;
    void end_now();

    async::awaitable<void> go_on(async::task_group& scope);
    async::awaitable<void> load_history();
    async::awaitable<policy::fence_said::any> answer(policy::fence_step step);
    async::awaitable<policy::fence_said::any> read(bool counts_coordinators);
    async::awaitable<policy::fence_said::any> write(policy::fence_ask::write what);
    async::awaitable<policy::fence_said::any> write_mark();
    async::awaitable<policy::fence_said::any> commit(zookeeper::transaction what);
    async::awaitable<result<zookeeper::transaction>> figures(std::vector<uuid> left);
    void add_guards(zookeeper::transaction& what, bool sets_state) const;
    void put_proof(zookeeper::transaction& what, policy::fence_proof which) const;
    async::awaitable<policy::fence_said::any> command(policy::fence_ask::power what);
    // That it is ordered on, where an operator's word would be noted.
    async::awaitable<bool> claim_power_on();
    async::awaitable<result<power::board_access>> reach();
    [[nodiscard]] std::string why_not_asked() const;

    fence_tools tools_;
    core::node_context& node_;
    policy::fence_attempt machine_;
    std::shared_ptr<fence_ledger> ledger_;
    boards::claim claim_;
    policy::fence_step step_;
    keys keys_;
    std::optional<lock_keeper::wish> wish_;
    std::optional<power::board_access> access_;
    time_point reached_;  // when that was found
    bool is_off_sent_ = false;
    async::mutex reaching_;
    async::wakeup changed_;
    std::optional<std::uint8_t> fences_in_an_hour_;
    std::string history_trouble_;  // why the records that tell could not be read
    bool has_had_lock_ = false;
    std::optional<policy::board_power> last_look_;
    std::optional<bool> went_unheard_;  // the last command of which that is known
    time_point begun_;
};

}  // namespace pvc::fencing
