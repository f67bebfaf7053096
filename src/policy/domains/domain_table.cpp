#include "pvcnoded/policy/domains/domain_table.hpp"

#include "pvcnoded/base/planted.hpp"

namespace pvc::policy {

namespace {

using model::guest_class;
using model::vm_state;
using enum domain_action;

// Table 4.2: `node` is this node. Columns A, P, I, D, N.
struct table_row {
    domain_action alive;
    domain_action paused;
    domain_action incoming;
    domain_action ending;
    domain_action absent;

    [[nodiscard]] domain_action at(guest_class column) const {
        switch (column) {
            case guest_class::alive: return alive;
            case guest_class::paused: return paused;
            case guest_class::incoming: return incoming;
            case guest_class::ending: return ending;
            case guest_class::absent: return absent;
        }
        return nothing;
    }
};

table_row owner_row(vm_state state) {
    switch (state) {
        case vm_state::start: return {adopt, adopt, resolve_own, wait, start};
        case vm_state::migrate:
        case vm_state::migrate_live:
        case vm_state::unmigrate: return {arrived, arrived, receive, wait, receive};
        case vm_state::restart: return {restart, restart, wait, wait, start};
        case vm_state::shutdown: return {shutdown, shutdown, wait, wait, settle_shutdown};
        case vm_state::stop: return {stop, stop, stop, wait, clean_up};
        case vm_state::disable:
        case vm_state::mirror: return {quiet_shutdown, stop, stop, wait, clean_up};
        case vm_state::deleted: return {destroy, destroy, destroy, wait, forget};
        case vm_state::fail: return {keep, keep, nothing, nothing, clean_up};
        case vm_state::provision:
        case vm_state::import:
        case vm_state::restore:
        case vm_state::unknown: return {nothing, nothing, nothing, nothing, clean_up};
    }
    return {nothing, nothing, nothing, nothing, nothing};
}

// Table 4.3: `node` is another node.
table_row foreign_row(const domain_view& view) {
    // A daemon whose record of it was lost does not know the half for its own, and nobody else will see to it (8.7).
    const domain_action incoming = view.was_sent_by_us ? resolve_sent : resolve_found;
    switch (view.state) {
        case vm_state::migrate:
        case vm_state::migrate_live:
        case vm_state::unmigrate:
            if (is_planted(defect::terminates_migrating)) {
                return {terminate, terminate, incoming, wait, nothing};
            }
            return {send, send, incoming, wait, view.ran_here_before ? hand_over_ended : nothing};
        // As long as a half is left here, the node that shuts it down counts it as running.
        case vm_state::shutdown: return {shutdown, shutdown, drop_incoming, wait, forget};
        case vm_state::fail: return {report_fail, report_fail, nothing, wait, forget};
        case vm_state::start:
            // A half that we sent goes by what its target says (8.7), others by their age.
            return {terminate, terminate, view.was_sent_by_us ? resolve_sent : drop_incoming, wait, forget};
        case vm_state::stop:
        case vm_state::restart:
        case vm_state::disable:
        case vm_state::mirror:
        case vm_state::deleted:
        case vm_state::provision:
        case vm_state::restore:
        case vm_state::import: return {terminate, terminate, drop_incoming, wait, forget};
        case vm_state::unknown: return {report_unknown, report_unknown, nothing, wait, forget};
    }
    return {nothing, nothing, nothing, nothing, nothing};
}

}  // namespace

domain_action decide(const domain_view& view) {
    if (view.state == vm_state::stop && view.is_handed_over && view.guest == guest_class::absent) {
        return view.is_owner ? take_over : see_taken_over;
    }
    if (view.is_owner && is_migration(view.state) && view.guest == guest_class::incoming && view.was_sent_by_us) {
        return resolve_own;  // it was sent back before it had arrived: this half is not one that arrives
    }
    return (view.is_owner ? owner_row(view.state) : foreign_row(view)).at(view.guest);
}

std::optional<duration> ending_limit(const domain_view& view) {
    using namespace std::chrono_literals;
    if (view.guest != guest_class::ending) {
        return std::nullopt;
    }
    switch (view.state) {
        case vm_state::start:
        case vm_state::migrate:
        case vm_state::migrate_live:
        case vm_state::unmigrate: return 60s;
        case vm_state::restart:
        case vm_state::shutdown:
        case vm_state::stop:
        case vm_state::disable:
        case vm_state::mirror:
        case vm_state::deleted: return view.is_owner ? 30s : 60s;
        case vm_state::fail:
        case vm_state::provision:
        case vm_state::import:
        case vm_state::restore: return view.is_owner ? std::nullopt : std::optional<duration>(60s);
        case vm_state::unknown: break;
    }
    return std::nullopt;
}

bool is_migration(vm_state state) {
    return state == vm_state::migrate || state == vm_state::migrate_live || state == vm_state::unmigrate;
}

bool is_to_run(vm_state state) {
    return state == vm_state::start || state == vm_state::restart;
}

bool is_off_state(vm_state state) {
    switch (state) {
        case vm_state::stop:
        case vm_state::disable:
        case vm_state::fail:
        case vm_state::mirror:
        case vm_state::provision:
        case vm_state::import:
        case vm_state::restore: return true;
        default: return false;
    }
}

std::string_view to_text(domain_action action) {
    switch (action) {
        case nothing: return "nothing to do";
        case wait: return "wait";
        case adopt: return "adopt";
        case arrived: return "take over after a migration";
        case start: return "start";
        case restart: return "restart";
        case shutdown: return "shut down";
        case quiet_shutdown: return "shut down, keep the state";
        case stop: return "stop";
        case destroy: return "destroy";
        case settle_shutdown: return "complete the shutdown";
        case clean_up: return "clean up";
        case forget: return "clean up locally";
        case keep: return "keep";
        case terminate: return "terminate";
        case send: return "send";
        case receive: return "receive";
        case resolve_sent: return "resolve a broken migration";
        case resolve_own: return "resolve what was left between two nodes";
        case resolve_found: return "resolve what is found between two nodes";
        case hand_over_ended: return "hand over";
        case take_over: return "take over after a shutdown";
        case see_taken_over: return "see it taken over";
        case drop_incoming: return "drop a half migration";
        case end_hung: return "end what does not go";
        case report_fail: return "keep the copy of a failed domain";
        case report_unknown: return "leave alone";
    }
    return "nothing to do";
}

}  // namespace pvc::policy
