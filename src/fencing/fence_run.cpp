#include "fence_run.hpp"

#include "pvcnoded/async/child.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/policy/fencing/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;
namespace ask = policy::fence_ask;
namespace said = policy::fence_said;

namespace {
constexpr duration an_hour = 60min;
constexpr duration history_again = 10s;
constexpr duration a_day = 24h;         // so long clients stay on the blocklist
constexpr duration reached_for = 1min;  // until the first `off`: names may lead elsewhere since
}  // namespace

fence_run::fence_run(fence_tools tools, policy::fence_attempt machine, std::shared_ptr<fence_ledger> ledger)
    : tools_(tools),
      node_(tools.session.node),
      machine_(std::move(machine)),
      ledger_(std::move(ledger)),
      claim_(tools.all_boards, machine_.node),
      begun_(tools.session.node.clock().now()) {
    machine_.record = ledger_->now().id;
}

void fence_run::take_word(bool although_on, std::string by) {
    ledger_->against_board(although_on);
    machine_.proof_words = std::move(by);
}

// ---- what is seen ---------------------------------------------------------------------------------------------------

std::string fence_run::why_not_asked() const {
    const auto& all = tools_.all_boards;
    const auto own = all.known_of(node_.self());
    const auto other =
        policy::who_shares_board(machine_.node, all.known(), node_.self(), node_.config->ipmi.host, own.address);
    if (!other.empty()) {
        return "its board is the same as that of node " + other;
    }
    return all.known_of(machine_.node).is_distrusted ? "its board said off while the node checked in" : std::string();
}

bool fence_run::is_board_unheard() const {
    return went_unheard_ ? *went_unheard_ : tools_.ground.was_silent_to_question(machine_.node);
}

policy::fence_seen fence_run::look() const {
    const auto board = tools_.all_boards.known_of(machine_.node);
    policy::fence_seen seen;
    seen.session_lives = tools_.session.zk.state().value().now != zookeeper::link::lost;
    seen.has_lock = tools_.lock.held() != nullptr;
    // A word that was withdrawn before it was on the disk (its limit, a heartbeat) is none.
    const bool is_word_gone =
        machine_.has_word && !machine_.is_proof_recorded && !tools_.ground.has_word(machine_.node);
    seen.must_end = node_.stopping.value();
    seen.is_word_withdrawn = is_word_gone;
    seen.is_lock_wanted = tools_.ground.is_lock_wanted();
    seen.has_turn = tools_.ground.has_turn(machine_.node);
    seen.is_board_silent = (board.probed && board.power == policy::board_power::unknown) || !why_not_asked().empty();
    seen.is_board_unheard = is_board_unheard();
    seen.has_board_said_on = tools_.ground.has_heard_on(machine_.node);
    seen.is_confirmed = tools_.ground.has_word(machine_.node);
    seen.fences_in_an_hour = fences_in_an_hour_;
    return seen;
}

policy::fence_step fence_run::resume(const said::any& what, std::uint32_t number) {
    std::vector<policy::fence_act::any> acts;
    const auto seen = look();
    has_had_lock_ = has_had_lock_ || seen.has_lock;
    const bool wanted_turn = machine_.wants_turn;
    const bool was_recorded = machine_.is_proof_recorded;
    step_ = machine_.resume({seen, what, number, node_.clock().now()}, acts);
    for (const auto& one : acts) {
        act(one);
    }
    if (machine_.wants_lock != wish_.has_value()) {
        machine_.wants_lock ? static_cast<void>(wish_.emplace(tools_.lock)) : wish_.reset();
    }
    if (machine_.wants_turn != wanted_turn || machine_.is_proof_recorded != was_recorded || step_.is_over()) {
        tools_.ground.look_again();
    }
    return step_;
}

// Nobody carries anything out any more.
void fence_run::end_now() {
    if (machine_.where == policy::fence_attempt::at::over) {
        return;
    }
    std::vector<policy::fence_act::any> acts;
    auto seen = look();
    seen.must_end = seen.session_lives;
    if (machine_.where == policy::fence_attempt::at::begin) {
        return;
    }
    step_ = machine_.resume({seen, said::woken{}, 0, node_.clock().now()}, acts);
    for (const auto& one : acts) {
        act(one);
    }
}

void fence_run::act(const policy::fence_act::any& what) {
    if (const auto* entry = std::get_if<policy::fence_act::note>(&what)) {
        ledger_->note(entry->entry);
        return;
    }
    const auto& news = std::get<policy::fence_act::say>(what);
    say(news.what, news.text);
}

// ---- the hold of its recovery ---------------------------------------------------------------------------------------

bool fence_run::holds() const {
    return tools_.lock.held() != nullptr && tools_.session.zk.state().value().now != zookeeper::link::lost;
}

std::string fence_run::child() const {
    return tools_.lock.held() != nullptr ? tools_.lock.held()->child() : std::string();
}

void fence_run::add_check(zookeeper::transaction& what) const {
    if (const auto* held = tools_.lock.held()) {
        held->add_check(what);
    } else {
        // Lost since it was asked: nothing may be written.
        what.check(std::string(model::key_path::fence_lock) + "/lost", zookeeper::any_version);
    }
}

async::awaitable<bool> fence_run::record(policy::fence_entry::any entry) {
    co_return co_await ledger_->record(std::move(entry));
}

void fence_run::note(policy::fence_entry::any entry) {
    ledger_->note(entry);
}

void fence_run::name_machine(const uuid& id, std::string name) {
    ledger_->name_machine(id, std::move(name));
}

async::awaitable<std::map<uuid, policy::clients_before>> fence_run::clients_before() {
    std::map<uuid, policy::clients_before> out;
    const auto all = co_await tools_.ledgers.records().about(machine_.node, node_.clock().wall_now() - a_day);
    if (!all) {
        co_return out;
    }
    for (const auto& record : *all) {
        for (const auto& machine : record.machines) {
            const auto id = parse_uuid(machine.id);
            if (record.keepalive_id != machine_.heartbeat_id || !id || machine.volumes.empty()) {
                continue;
            }
            auto& its = out[*id];
            its.volumes.insert(its.volumes.end(), machine.volumes.begin(), machine.volumes.end());
            its.addresses.insert(its.addresses.end(), machine.clients.begin(), machine.clients.end());
        }
    }
    co_return out;
}

// ---- carrying out ---------------------------------------------------------------------------------------------------

async::awaitable<void> fence_run::run() {
    struct ending {
        fence_run& of;
        ~ending() { of.end_now(); }
    };
    const ending guard{*this};
    const async::latest<std::uint64_t>::observer changes(tools_.ground.changes(), changed_);
    const async::latest<zookeeper::session_state>::observer link(tools_.session.zk.state(), changed_);
    const async::latest<bool>::observer stopping(node_.stopping, changed_);
    co_await async::with_task_group("fence of " + machine_.node,
                                    [this](async::task_group& scope) -> async::awaitable<void> {
                                        scope.spawn("history", [this] { return load_history(); });
                                        // A name server that is gone takes its time.
                                        scope.spawn("address", [this]() -> async::awaitable<void> {
                                            const auto found = co_await reach();
                                            ignore(found, "who needs it asks again");
                                        });
                                        co_await go_on(scope);
                                        scope.cancel();
                                    });
}

async::awaitable<void> fence_run::load_history() {
    const auto since = node_.clock().wall_now() - an_hour;
    auto all = co_await tools_.ledgers.records().about(machine_.node, since);
    while (!all) {
        history_trouble_ = all.error().text();
        // What was not read is not "never".
        co_await async::sleep_for(node_.clock(), history_again, "another attempt to read the records of fences");
        all = co_await tools_.ledgers.records().about(machine_.node, since);
    }
    const bool goes_on = machine_.origin == policy::fence_origin::recovering;
    fences_in_an_hour_ = policy::fences_within_hour(*all, node_.clock().wall_now(), goes_on ? machine_.mark_id : 0);
    changed_.notify();
}

async::awaitable<void> fence_run::go_on(async::task_group& /*scope*/) {
    auto step = resume(said::woken{}, 0);
    while (!step.is_over()) {
        if (std::holds_alternative<ask::change>(step.what)) {
            if (step.until == time_point::max()) {
                co_await changed_.wait(async::wait_note::work(step.reason));
            } else {
                const bool notified = co_await changed_.wait_until(node_.clock(), step.until, step.reason);
                ignore(result<bool>(notified), "the machine looks at the clock");
            }
            step = resume(said::woken{}, 0);
            continue;
        }
        co_await async::with_task_group("fence step", [&](async::task_group& question) -> async::awaitable<void> {
            async::child<said::any> call(
                question, policy::to_text(step.what), [this, step] { return answer(step); }, changed_);
            const auto number = step.number;
            for (;;) {
                if (call.has_ended()) {
                    step = resume(call.value(), number);
                    break;
                }
                step = resume(said::woken{}, 0);
                if (step.number != number) {
                    break;
                }
                if (step.until == time_point::max()) {
                    co_await changed_.wait(async::wait_note::work(step.reason));
                } else {
                    co_await changed_.wait_until(node_.clock(), step.until, step.reason);
                }
            }
            question.cancel();
        });
    }
}

async::awaitable<said::any> fence_run::answer(policy::fence_step step) {
    if (const auto* what = std::get_if<ask::guarded_read>(&step.what)) {
        co_return co_await read(what->counts_coordinators);
    }
    if (const auto* what = std::get_if<ask::write>(&step.what)) {
        co_return co_await write(*what);
    }
    if (const auto* what = std::get_if<ask::power>(&step.what)) {
        co_return co_await command(*what);
    }
    if (const auto* what = std::get_if<ask::record>(&step.what)) {
        const bool is_synced = co_await ledger_->record(what->entry);
        co_return said::synced{is_synced};
    }
    if (const auto* what = std::get_if<ask::recover>(&step.what)) {
        co_return co_await tools_.recovery.recover({machine_.node, what->proof, what->mark_id, what->heartbeat_id},
                                                   *this);
    }
    co_return said::woken{};
}

// ---- the board ------------------------------------------------------------------------------------------------------

async::awaitable<result<power::board_access>> fence_run::reach() {
    const auto turn = co_await reaching_.lock("the address of a board");
    if (access_) {
        co_return *access_;
    }
    PVC_CO_TRY(auto keys, co_await read_board_keys(tools_.session, machine_.node));
    ledger_->hide(keys.entry.password);
    PVC_CO_TRY(auto found, co_await reach_board_of(tools_.session, tools_.all_boards, machine_.node, std::move(keys)));
    access_ = found;
    reached_ = node_.clock().now();
    co_return found;
}

async::awaitable<said::any> fence_run::command(ask::power what) {
    ledger_->command_begins();
    if (const auto why = why_not_asked(); !why.empty()) {
        co_return said::board{.is_no_board = true, .status = {}, .output = {}, .errors = "not asked: " + why};
    }
    if (!is_off_sent_ && access_ && node_.clock().now() - reached_ > reached_for) {
        access_.reset();
    }
    const auto to = co_await reach();
    if (!to) {
        co_return said::board{
            .is_no_board = true, .status = {}, .output = {}, .errors = "not asked: " + to.error().text()};
    }
    const auto which = what.what == policy::board_command::off  ? power::board_command::off
                       : what.what == policy::board_command::on ? power::board_command::on
                                                                : power::board_command::status;
    if (what.what == policy::board_command::on) {
        const bool is_claimed = co_await claim_power_on();
        if (!is_claimed) {
            co_return said::board{
                .status = {}, .output = {}, .errors = "not asked: that it is ordered on could not be written"};
        }
    }
    is_off_sent_ = is_off_sent_ || what.what == policy::board_command::off;
    // What it said before an order says nothing of what comes of that; that it was silent does.
    if (what.what != policy::board_command::status && last_look_ != policy::board_power::unknown) {
        last_look_.reset();
    }
    // A program that does not even end by a signal is still waited for when the fence has long gone on.
    // One that was given up before that says nothing of its board.
    struct silence {
        std::optional<policy::board_power>& look;
        std::optional<bool>& went_unheard;
        async::timers& clock;
        time_point since;
        bool is_heard = false;
        ~silence() {
            if (!is_heard && clock.now() - since >= policy::board_probe::silence) {
                look = policy::board_power::unknown;
                went_unheard = true;
            }
        }
    } silent{last_look_, went_unheard_, node_.clock(), node_.clock().now()};
    const auto heard =
        co_await tools_.all_boards.command(*to, which, guarded_until(what.sent + zookeeper::guard_validity));
    silent.is_heard = true;
    const auto is_unheard = went_unanswered(heard);
    went_unheard_ = is_unheard ? is_unheard : went_unheard_;
    if (what.what == policy::board_command::status) {
        last_look_ = heard ? policy::read_power(heard->status, heard->output, heard->errors).power
                           : policy::board_power::unknown;
    } else if (is_unheard.value_or(false)) {
        last_look_ = policy::board_power::unknown;  // who does not take an order would not tell either
    }
    tools_.ground.look_again();  // an operator's word may wait for it
    if (!heard) {
        const bool is_unsure = heard.error().code() == errc::io;
        co_return said::board{.is_begun = is_unsure, .status = {}, .output = {}, .errors = heard.error().text()};
    }
    co_return said::board{.is_begun = true, .status = heard->status, .output = heard->output, .errors = heard->errors};
}

}  // namespace pvc::fencing
