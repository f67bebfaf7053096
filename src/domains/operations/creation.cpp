#include "operations/creation.hpp"

#include "pvcnoded/async/child.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;
using hypervisor::call_error;
using model::guest_class;

namespace {

constexpr duration create_limit = 120s;
constexpr duration slow_creation = 1s;
constexpr duration removal_patience = 15s;
constexpr duration create_pause = 500ms;
constexpr duration unavailable_pause = 500ms;
constexpr duration end_crashed_limit = 60s;
// A guest that crashed and was kept (`on_crash preserve`) counts as gone, but is in the way of its successor.
async::awaitable<void> end_crashed(operation& op) {
    auto status = co_await op.hv.status(op.id, op.now() + query_limit);
    if (!status || status->state != model::run_state::crashed) {
        co_return;
    }
    op.warning(message::domain_crash_kept, "it crashed and was kept, destroying what is left of it");
    auto done = co_await op.hv.destroy(op.id, op.now() + end_crashed_limit);
    ignore(done, "the next attempt to create it says whether it helped");
}

// Whoever is cancelled or gets no answer does not know: what was sent may be carried out much later.
struct unanswered_creation {
    operation& op;
    bool is_answered = false;
    ~unanswered_creation() {
        if (!is_answered) {
            op.here.lost_creation = op.now();
            list();
        }
    }
    void list() const {
        op.here.is_listed = true;
        op.list.set(op.id, true);
    }
};

// The call itself. One that takes long, or that nobody wants any more, counts as running already: a libvirtd that
// stands still carries it out whenever it goes on, and whoever starts the domain elsewhere must know.
async::awaitable<hypervisor::call_result<void>> call_create(operation& op, const std::string& xml, boot_time not_after,
                                                            const unanswered_creation& call) {
    std::optional<hypervisor::call_result<void>> answer;
    co_await async::with_task_group("creation", [&](async::task_group& group) -> async::awaitable<void> {
        async::child<hypervisor::call_result<void>> made(
            group, "call", [&] { return op.hv.create(op.id, xml, not_after, op.now() + create_limit); },
            op.here.changed);
        const operation::view began_with = op.present();
        const time_point slow = op.now() + slow_creation;
        while (!made.has_ended()) {
            if (op.now() >= slow || op.present() != began_with || !op.row.is_present) {
                call.list();
            }
            co_await op.wait(std::max(slow, op.now() + slow_creation), "its creation");
        }
        answer = std::move(made.value());
    });
    co_return *std::move(answer);
}

// What a creation that failed may still come to. Empty: it failed for good, but what `again_until` says.
async::awaitable<std::optional<create_step>> after_refusal(operation& op, call_error code,
                                                           std::optional<time_point>& again_until) {
    switch (code) {
        case call_error::too_late: co_return create_step::again;
        case call_error::unavailable:
            op.pause(unavailable_pause);  // no failure of the domain: once libvirt, or a part of it, is back
            co_return create_step::leave;
        case call_error::timed_out:
            op.error(message::domain_creation_late,
                     "libvirt has not answered for 120 s since it was told to create it: whether it did is not known");
            co_await op.ask_class();
            op.pause(5s);
            co_return create_step::leave;
        case call_error::wrong_state: {
            const auto seen = co_await op.ask_class();
            if (!seen || *seen != guest_class::absent) {
                co_return create_step::leave;  // it is there: the tables adopt it
            }
            if (again_until) {
                co_await end_crashed(op);
            }
            // "Already being started": a call that was lost with its connection goes on without us.
            again_until = again_until.value_or(op.now() + create_limit);
            break;
        }
        case call_error::being_removed: again_until = again_until.value_or(op.now() + removal_patience); break;
        default: again_until.reset(); break;
    }
    co_return std::nullopt;
}

}  // namespace

async::awaitable<create_step> create(operation& op, const std::string& xml, boot_time not_after,
                                     std::optional<time_point>& again_until, std::string& reason) {
    const std::uint64_t since = op.observed.events();
    unanswered_creation call{op};
    const auto done = co_await call_create(op, xml, not_after, call);
    call.is_answered =
        done || (done.error().code != call_error::timed_out && done.error().code != call_error::unavailable);
    if (done) {
        op.observed.take_one(op.id, {model::run_state::running, model::pause_cause::none}, since);
        co_return create_step::created;
    }
    const auto step = co_await after_refusal(op, done.error().code, again_until);
    if (step) {
        co_return *step;
    }
    if (again_until && op.now() < *again_until) {
        co_await async::sleep_for(op.clock(), create_pause, "another instance to come or go");
        co_return create_step::again;
    }
    reason = done.error().text;
    co_return create_step::failed;
}

}  // namespace pvc::domains
