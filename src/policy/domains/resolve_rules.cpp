#include "pvcnoded/policy/domains/resolve_rules.hpp"

namespace pvc::policy {

using model::guest_class;
using enum resolve_step;

remote_answer answer_of(const model::guest_status& status) {
    switch (model::class_of(status)) {
        case guest_class::alive: return remote_answer::alive;
        case guest_class::paused:
            return status.cause == model::pause_cause::starting_up ? remote_answer::being_made : remote_answer::halted;
        case guest_class::incoming: return remote_answer::incoming;
        case guest_class::ending: return remote_answer::ending;
        case guest_class::absent: return remote_answer::shut_off;
    }
    return remote_answer::shut_off;
}

bool is_no_answer(remote_answer answer) {
    return answer == remote_answer::refused || answer == remote_answer::hanging || answer == remote_answer::silent;
}

namespace {

// It executes here (`here` alive), or would (paused).
resolve_step decide_with_copy(guest_class here, remote_answer there) {
    switch (there) {
        case remote_answer::alive: return destroy_copy;
        case remote_answer::halted: return here == guest_class::paused ? destroy_copy : halted_there;
        case remote_answer::incoming:
        case remote_answer::being_made:
        case remote_answer::ending: return halted_there;
        case remote_answer::absent:
        case remote_answer::shut_off: return failed;
        case remote_answer::refused:
        case remote_answer::hanging:
        case remote_answer::silent: return unanswered;
    }
    return unanswered;
}

resolve_step decide_without_copy(remote_answer there) {
    switch (there) {
        case remote_answer::alive:
        case remote_answer::halted:
        case remote_answer::incoming:
        case remote_answer::being_made: return moved;
        case remote_answer::absent:
        case remote_answer::shut_off: return ended;
        case remote_answer::ending:
        case remote_answer::refused:
        case remote_answer::hanging:
        case remote_answer::silent: return unknown_end;
    }
    return unknown_end;
}

resolve_step decide_with_half(remote_answer there, bool is_done_there) {
    switch (there) {
        case remote_answer::alive:
        case remote_answer::halted: return destroy_copy;
        case remote_answer::incoming:
        case remote_answer::being_made:
        case remote_answer::ending: return look_again;
        case remote_answer::absent:
        case remote_answer::shut_off: return is_done_there ? destroy_half : resume_half;
        case remote_answer::refused:
        case remote_answer::hanging:
        case remote_answer::silent: return ask_again;
    }
    return ask_again;
}

}  // namespace

resolve_step decide_resolve(guest_class here, remote_answer there, bool is_done_there) {
    switch (here) {
        case guest_class::alive:
        case guest_class::paused: return decide_with_copy(here, there);
        case guest_class::incoming: return decide_with_half(there, is_done_there);
        case guest_class::absent: return decide_without_copy(there);
        case guest_class::ending: return look_again;
    }
    return look_again;
}

bool second_look::confirms(const finding& now, time_point asked, time_point answered) {
    if (!first_ || first_->what != now) {
        first_ = look{now, answered};
        return false;
    }
    return asked - first_->answered >= apart;
}

bool may_be_silent(const asked_node& node, remote_answer answer) {
    const bool is_excused = answer == remote_answer::refused || node.daemon == model::daemon_state::stop;
    return is_excused && !node.lists_it && !node.had_it;
}

}  // namespace pvc::policy
