#include "operations/effects.hpp"

#include "pvcnoded/model/domain_xml.hpp"

namespace pvc::domains {

using policy::answer;
namespace ask = policy::ask;
namespace act = policy::act;

async::awaitable<answer> effects::wait(async::wakeup& changed, time_point until, std::string_view what) {
    if (until == time_point::max()) {
        co_await changed.wait(async::wait_note::work(what));
    } else if (op_.now() < until) {
        co_await changed.wait_until(op_.clock(), until, what);
    }
    co_return policy::woken{};
}

async::awaitable<answer> effects::pass_time(time_point until, std::string_view what) {
    if (op_.now() < until) {
        co_await async::sleep_until(op_.clock(), until, what);
    } else {
        co_await async::yield();
    }
    co_return policy::woken{};
}

// No coroutine of its own: what is asked is copied into the one that carries it out, and into no other.
async::awaitable<answer> effects::carry_out(const policy::step& what, async::wakeup& changed) {
    if (std::holds_alternative<ask::change>(what.what)) {
        return wait(changed, what.until, what.reason);
    }
    if (std::holds_alternative<ask::time>(what.what)) {
        return pass_time(what.until, what.reason);
    }
    return std::visit([&](const auto& one) { return perform(one, what.until); }, what.what);
}

void effects::carry_out(std::vector<act::any>& acts) {
    for (auto& one : acts) {
        std::visit([this](auto& what) { perform(std::move(what)); }, one);
    }
}

void effects::perform(act::line what) {
    op_.say(std::move(what));
}

void effects::perform(act::write_record what) {
    write_journal(op_, what.role, std::move(what.peer), what.step);
}

void effects::perform(const act::drop_record& /*what*/) {
    remove_journal(op_);
}

void effects::perform(const act::pause& what) {
    op_.pause(what.time);
}

void effects::perform(const act::note_arrival& /*what*/) {
    op_.arrived_here.add(op_.id);
    ++op_.counts.arrivals;
}

void effects::perform(act::note_stay what) {
    op_.stayed_here.note(op_.id, std::move(what));
}

void effects::perform(const act::follow_console& /*what*/) {
    follow_console(op_);
}

void effects::perform(const act::arrived_home& /*what*/) {
    op_.row.came_from = nullptr;
}

void effects::perform(const act::tell_pause& /*what*/) {
    if (!op_.is_guest(model::guest_class::paused) || std::exchange(op_.here.told.pause, true)) {
        return;
    }
    const auto status = op_.observed.status_of(op_.id);
    const bool sleeps = status && status->state == model::run_state::suspended;
    const auto why = sleeps ? "the guest sleeps" : to_text(status ? status->cause : model::pause_cause::none);
    op_.warning(message::domain_paused, "it is paused (" + std::string(why) + ") and left as it is");
}

void effects::perform(const act::created& /*what*/) {
    op_.here.class_since = op_.now();
    op_.here.live_is_stale = true;
}

void effects::perform(const act::tell_vnc_problem& /*what*/) {
    if (op_.here.live && model::has_unusable_vnc_address(*op_.here.live)) {
        op_.warning(message::domain_vnc, "its VNC address is one that clients cannot read; the key vnc stays empty");
    }
}

void effects::perform(const act::forget_live& /*what*/) {
    op_.here.live.reset();
    op_.here.live_is_stale = true;
}

}  // namespace pvc::domains
