// From what the tables say to an operation: whether it was done already, whether it would be in vain, and the one place
// that starts it. Specification: vm-domains.md 5.2, 6.1.
#include "manager.hpp"

#include "console.hpp"
#include "operations/shell.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using policy::domain_action;

namespace {
constexpr duration tell_fail_every = 60s;
}

// A guest that stops executing while it runs here is left as it is, and said once. I/O errors and watchdogs have events
// of their own.
void manager::tell_pause(local_domain& here, guest_class guest) {
    here.told.pause = here.told.pause && guest == guest_class::paused;
    const auto status = observed.status_of(here.row.id);
    if (guest != guest_class::paused || here.told.pause || !here.adoption.is_adopted || !status ||
        status->cause == model::pause_cause::io_error || status->cause == model::pause_cause::watchdog) {
        return;
    }
    here.told.pause = true;
    if (status->state == model::run_state::suspended) {
        tell_noise(here.row, policy::guest_noise_kind::sleep, {});  // as often as the guest likes
        return;
    }
    node.log.warning(message::domain_paused,
                     "it is paused (" + std::string(to_text(status->cause)) + ") and left as it is", shown(here.name));
}

// Whether what the tables say has been done for this very guest and state, or is only to be told.
bool manager::is_done_already(domain_row& row, domain_action action) {
    local_domain& here = *row.here;
    const time_point now = node.clock().now();
    const policy::domain_seen seen = seen_of(parts, row);
    if (action == domain_action::report_fail) {
        time_point& told = told_fail_[row.id];
        if (told == time_point{} || now - told >= tell_fail_every) {
            told = now;
            node.log.error(message::domain_failed_elsewhere,
                           "node " + (row.node != nullptr ? *row.node : std::string("?")) +
                               " failed to start it, and it runs here: it is left running",
                           shown(here.name));
        }
    }
    if (action == domain_action::report_unknown &&
        std::exchange(here.told.state, row.state_changed) != row.state_changed) {
        const bool has_node = row.node != nullptr && !row.node->empty();
        node.log.error(message::domain_word_running,
                       has_node ? "its state is `" + ascii_only(here.word) +
                                      "`, which is none, and it runs here although it belongs to another " +
                                      "node: left alone"
                                : std::string("it runs here and its key `node` is missing or empty: left alone"),
                       shown(here.name));
    }
    const bool is_done = policy::is_done_already(action, seen, here, now);
    if (is_done && action == domain_action::terminate) {
        look_later_[row.id] = here.told.nowhere_until;
    }
    if (!is_done && action == domain_action::start && policy::note_start(seen, here, now)) {
        node.log.warning(message::domain_ended, "it ended by itself, starting it again", shown(here.name));
    }
    return is_done;
}

// An operation that ends and is begun again for the same state, over and over, waits a while.
bool manager::is_in_vain(domain_row& row, domain_action action) {
    constexpr unsigned most = 10;
    constexpr duration window = 1s;
    auto& last = row.here->repeated;
    const time_point now = node.clock().now();
    if (last.action != to_text(action) || last.state_changed != row.state_changed || now - last.since > window) {
        last = {to_text(action), row.state_changed, now, 0};
    }
    if (++last.times <= most) {
        return false;
    }
    row.here->pause_until = now + window;
    paused_.insert(row.id);
    work_.notify();
    return true;
}

void manager::begin(domain_row& row, domain_action action) {
    if (operations_ == nullptr || operations_->cancelled()) {
        return;
    }
    local_domain& here = *row.here;
    here.operation = to_text(action);
    here.doing = action;
    if (action != domain_action::clean_up && action != domain_action::forget) {
        here.adoption.untidy();
    }
    here.changed.try_consume();
    ++running_operations_;
    ++counts.operations;
    const std::string name = here.name.empty() ? to_text(row.id) : shown(here.name);
    // The child may be cancelled before its first step: the slot is given back with the callable then.
    auto slot = std::make_shared<slot_end>(*this, row, true);
    operations_->spawn_cancellable(std::string(here.operation) + " " + name,
                                   [this, action, slot]() mutable { return perform(action, std::move(slot)); });
}

// What an operator ended is looked at as at the beginning of a session: the guest is adopted anew, the keys are read
// again, and what was sent last gets a moment to take effect.
void manager::let_go(domain_row& row) {
    constexpr duration moment = 1s;
    look_anew(*row.here);
    row.here->pause_until = node.clock().now() + moment;
    table.mark(row);
}

async::awaitable<void> manager::perform(domain_action action, std::shared_ptr<slot_end> slot) {
    domain_row& row = slot->row;  // rows with an operation are not erased
    operation op(parts, *session_, row);
    row.here->must_end = is_stopping_;
    co_await run_machine(op, action);
    slot->is_unfinished = false;
    row.here->adoption.is_clean = row.here->adoption.is_clean || action == domain_action::clean_up;
    row.here->adoption.is_forgotten = row.here->adoption.is_forgotten || action == domain_action::forget;
}

}  // namespace pvc::domains
