#include "pvcnoded/policy/role/hand_over.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::policy {

using model::router_state;

std::string_view to_text(role_lock which) {
    return which == role_lock::primary ? "the lock of the role" : "the lock of the phases";
}

namespace {

struct in_words {
    std::string operator()(const role_ask::nothing& /*what*/) const { return "nothing"; }
    std::string operator()(const role_ask::change& /*what*/) const { return "wait"; }
    std::string operator()(const role_ask::write_role& what) const {
        return "write " + std::string(model::to_text(what.to));
    }
    std::string operator()(const role_ask::have_lock& what) const {
        return "take " + std::string(to_text(what.which)) + " to " +
               (what.kind == model::lock_kind::read ? "read" : "write");
    }
    std::string operator()(const role_ask::release& what) const {
        return "release " + std::string(to_text(what.which));
    }
    std::string operator()(const role_ask::clear_sync& /*what*/) const { return "clear the key of the phases"; }
    std::string operator()(const role_ask::take_up& what) const {
        return "take up phase " + std::string(to_text(what.which));
    }
    std::string operator()(const role_ask::give_up& what) const {
        return "give up phase " + std::string(to_text(what.which));
    }
};

}  // namespace

std::string to_text(const role_ask::any& what) {
    return std::visit(in_words(), what);
}

role_step turn_to_write(time_point until) {
    return {role_ask::have_lock{role_lock::sync, model::lock_kind::write}, until, "the turn of this node in a phase"};
}

role_step turn_to_read(time_point until, std::string_view whose) {
    return {role_ask::have_lock{role_lock::sync, model::lock_kind::read}, until, whose};
}

role_step clear_phase() {
    return {role_ask::clear_sync{}, time_point::max(), "the key of the phases to be cleared"};
}

role_step let_go(role_lock which) {
    const bool is_of_role = which == role_lock::primary;
    return {role_ask::release{which}, time_point::max(),
            is_of_role ? "the release of the lock of the role" : "the release of the lock of the phases"};
}

role_step say_role(model::router_state to) {
    return {role_ask::write_role{.to = to}, time_point::max(), "the role to be written"};
}

role_step say_primary(const coordinator_view& view) {
    return {role_ask::write_role{router_state::primary, view.primary.version}, time_point::max(),
            "the role to be written"};
}

// Whoever is named again meanwhile keeps it.
role_step say_relinquish(const coordinator_view& view) {
    const auto named = is_planted(defect::relinquished_blindly) ? std::nullopt : std::optional(view.primary.version);
    return {role_ask::write_role{router_state::relinquish, named}, time_point::max(), "the role to be written"};
}

role_step wait_for(std::string_view what, time_point until) {
    return {role_ask::change{}, until, what};
}

std::int64_t last_on_sync(const hand_over_seen& seen, model::lock_tag tag) {
    std::int64_t last = -1;
    for (const auto& one : seen.on_sync) {
        last = one.tag == tag ? std::max(last, one.sequence) : last;
    }
    return last;
}

bool is_reader_behind(const hand_over_seen& seen) {
    return last_on_sync(seen, model::lock_tag::rlock) > seen.own_on_sync.value_or(-1);
}

}  // namespace pvc::policy
