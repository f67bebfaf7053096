// Start: placement, RBD locks, a last guarded look, create. Specification: vm-domains.md 6.1.
#include "operations/others.hpp"
#include "pvcnoded/async/child.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/domain_xml.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using hypervisor::call_error;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration create_limit = 120s;
constexpr duration slow_creation = 1s;
constexpr duration removal_patience = 15s;
constexpr duration create_pause = 500ms;
constexpr duration unavailable_pause = 500ms;
constexpr duration end_crashed_limit = 60s;
constexpr int announce_tries = 5;

bool is_ours_to_start(const operation& op) {
    return !op.must_end() && !op.holds_starts() && op.row.is_present && op.row.is_owner &&
           (op.row.state == vm_state::start || op.row.state == vm_state::restart) && op.is_guest(guest_class::absent);
}

// A reason as clients show it: one line of text that they can decode.
std::string one_line(std::string_view said) {
    constexpr std::size_t reason_max = 2000;  // what libvirt quotes of a definition may be longer than that
    std::string reason = valid_utf8(start_to_character(said, reason_max));
    std::ranges::replace_if(reason, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return reason;
}

// {state = fail, failedreason}, unless somebody changed it since the attempt began.
async::awaitable<void> fail(operation& op, operation::view began_with, std::string reason) {
    if (op.present() != began_with || !op.row.is_present) {
        co_return;  // what failed is no longer wanted: the tables say what is
    }
    reason = one_line(reason);
    op.error(message::domain_start_failed, "it was not started: " + reason);
    zookeeper::transaction more;
    auto key = co_await op.s.zk.exists(op.s.limit(), op.key("/failedreason"));
    if (!key && key.error().code() == errc::not_found) {
        more.create(op.key("/failedreason"), reason);
    } else {
        more.overwrite(op.key("/failedreason"), reason);
    }
    if (op.present() != began_with || !op.row.is_present) {
        co_return;
    }
    const write_result done = co_await op.write_state(vm_state::fail, std::move(more));
    if (done == write_result::written) {
        co_await op.write_own("/vnc", "");
        co_await end_console(op);
        co_await op.set_listed(false);
        op.here.is_adopted = false;
        op.here.is_restarting = false;
        op.row.came_from = nullptr;
    }
}

struct stored_definition {
    std::string xml;
    std::string failed_reason;
    std::string vnc;
    std::vector<std::string> volumes;
};

// Everything of the domain that a start needs. The text of the error is a failedreason.
async::awaitable<result<stored_definition>> read_definition(operation& op) {
    stored_definition all;
    auto answers =
        co_await op.s.zk.read_together(op.s.limit(), {{.path = op.key("/xml")}, {.path = op.key("/rbdlist")}});
    PVC_CO_TRY(auto xml, std::move(answers[0]));
    all.xml = std::move(xml.data);
    const auto& rbdlist = answers[1];
    if (!rbdlist && rbdlist.error().code() != errc::not_found) {
        co_return rbdlist.error();
    }
    auto parsed = model::parse_domain_xml(all.xml);
    if (!parsed) {
        co_return failure(errc::invalid, {}, parsed.error().text());
    }
    const auto own = parse_any_uuid(trim(parsed->uuid));
    if (own != op.id) {
        const std::string found = parsed->uuid.empty() ? "no UUID" : "UUID " + parsed->uuid.substr(0, 64);
        co_return failure(errc::invalid, {}, "domain XML has " + found + ", expected " + to_text(op.id));
    }
    op.here.stored_memory_mib = parsed->memory_mib;
    op.here.stored_xml = xml.stat.mzxid;
    all.volumes = model::rbd_volumes(rbdlist ? rbdlist->data : std::string(), *parsed);
    co_return all;
}

// Whether the guest that was created is still what is wanted. `restart` must be the very one that began the start:
// another is a new wish.
bool is_still_wanted(const operation& op, const operation::view& began_with) {
    return op.row.is_present && op.row.is_owner &&
           (op.row.state == vm_state::start || (op.row.state == vm_state::restart && op.present() == began_with));
}

// {failedreason, vnc} where they differ, and `state = start` at the end of a restart. False: something changed
// meanwhile, or it could not be written.
async::awaitable<bool> write_started(operation& op, const operation::view& began_with) {
    const operation::view seen = op.present();
    zookeeper::transaction more;
    const auto answers =
        co_await op.s.zk.read_together(op.s.limit(), {{.path = op.key("/failedreason")}, {.path = op.key("/vnc")}});
    if (const auto& reason = answers[0]; reason && !reason->data.empty()) {
        more.set(op.key("/failedreason"), "", reason->stat.version);
    }
    op.here.owes_vnc = op.here.live_is_stale;
    const std::string vnc = op.here.live ? model::vnc_text(*op.here.live) : std::string();
    const auto& stored = answers[1];
    if (stored && stored->data != vnc && !op.here.owes_vnc) {
        more.overwrite(op.key("/vnc"), vnc);
    }
    if (op.present() != seen || !is_still_wanted(op, began_with)) {
        co_return false;
    }
    if (op.row.state == vm_state::restart) {
        co_return co_await op.write_state(vm_state::start, std::move(more)) == write_result::written;
    }
    if (more.empty()) {
        co_return true;
    }
    more.check(op.key("/state"), op.row.state_version);
    auto done = co_await op.s.zk.commit(op.s.limit(), std::move(more));
    if (!done) {
        auto read = co_await op.table.read(op.row);
        ignore(read, "the row is marked by whoever could not read it");
    }
    co_return done.has_value();
}

// The running guest is told to the world: running list, then {state, failedreason}, then VNC.
async::awaitable<void> announce(operation& op, const operation::view& began_with) {
    op.state("started");
    op.here.is_restarting = false;
    op.here.class_since = op.now();
    op.here.spacing.started(op.now());
    op.here.power_down.reset();
    op.here.live_is_stale = true;
    // Whoever finds it ended from here on finds a guest that ended by itself.
    op.here.is_adopted = true;
    op.here.adopted_state = op.row.state_changed;
    co_await op.set_listed(true);
    co_await read_live_xml(op);
    if (op.here.live && model::has_unusable_vnc_address(*op.here.live)) {
        op.warning(message::domain_vnc, "its VNC address is one that clients cannot read; the key vnc stays empty");
    }
    bool is_written = false;
    for (int attempt = 0; attempt < announce_tries && !is_written && is_still_wanted(op, began_with); ++attempt) {
        is_written = co_await write_started(op, began_with);
    }
    if (is_written) {
        co_await op.write_own("/migrate_sync_lock", "");  // of a receiver that lost its power
    }
    // Somebody wants something else; should he want it to run after all, adopting it writes what is missing.
    op.here.owes_vnc = op.here.owes_vnc || !is_written;
    op.here.owes_reason = !is_written;
    op.here.adopted_state = op.row.state_changed;
    if (!is_written && is_still_wanted(op, began_with) && op.is_guest(guest_class::alive)) {
        op.here.is_adopted = false;  // adopting it once more writes what is missing
    }
}

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

enum class create_step : std::uint8_t { created, failed, again, leave };

async::awaitable<create_step> create(operation& op, const std::string& xml, boot_time not_after,
                                     std::optional<time_point>& again_until, std::string& reason) {
    const std::uint64_t since = op.observed.events();
    // Whoever is cancelled or gets no answer does not know: what was sent may be carried out much later.
    struct unanswered {
        operation& op;
        bool is_answered = false;
        ~unanswered() {
            if (!is_answered) {
                op.here.lost_creation = op.now();
                op.here.is_listed = true;
                op.list.set(op.id, true);
            }
        }
    };
    unanswered call{op};
    std::optional<hypervisor::call_result<void>> answer;
    co_await async::with_task_group("creation", [&](async::task_group& group) -> async::awaitable<void> {
        async::child<hypervisor::call_result<void>> made(
            group, "call", [&] { return op.hv.create(op.id, xml, not_after, op.now() + create_limit); },
            op.here.changed);
        // One that takes long, or that nobody wants any more, counts as running already: a libvirtd that stands still
        // carries it out whenever it goes on, and whoever starts the machine elsewhere must know.
        const operation::view began_with = op.present();
        const time_point slow = op.now() + slow_creation;
        while (!made.has_ended()) {
            if (op.now() >= slow || op.present() != began_with || !op.row.is_present) {
                op.here.is_listed = true;
                op.list.set(op.id, true);
            }
            co_await op.wait(std::max(slow, op.now() + slow_creation), "its creation");
        }
        answer = std::move(made.value());
    });
    auto done = *std::move(answer);
    call.is_answered =
        done || (done.error().code != call_error::timed_out && done.error().code != call_error::unavailable);
    if (done) {
        op.observed.take_one(op.id, {model::run_state::running, model::pause_cause::none}, since);
        co_return create_step::created;
    }
    switch (done.error().code) {
        case call_error::too_late: co_return create_step::again;
        case call_error::unavailable:
            op.pause(unavailable_pause);  // no failure of the machine: once libvirt, or a part of it, is back
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
    if (again_until && op.now() < *again_until) {
        co_await async::sleep_for(op.clock(), create_pause, "another instance to come or go");
        co_return create_step::again;
    }
    reason = done.error().text;
    co_return create_step::failed;
}

// Until when an automatic restart waits; a change of the desired state ends the wait.
async::awaitable<bool> wait_spacing(operation& op) {
    const operation::view began_with = op.present();
    while (op.now() < op.here.not_before) {
        if (!is_ours_to_start(op) || op.present() != began_with) {
            co_return false;  // a write of a client ends the spacing: the manager looks again
        }
        co_await op.wait(op.here.not_before, "the next automatic restart");
    }
    co_return is_ours_to_start(op);
}

}  // namespace

async::awaitable<void> start(operation& op) {
    const bool may_start = co_await wait_spacing(op);
    if (!may_start) {
        co_return;
    }
    follow_console(op);
    std::optional<time_point> again_until;
    std::string reason;
    while (is_ours_to_start(op)) {
        const operation::view began_with = op.present();
        const auto goes_on = [&] { return is_ours_to_start(op) && op.present() == began_with; };
        release_rules rules;
        rules.ask_after = 15s;
        rules.give_up_after = 60s;
        const auto placed = co_await wait_released(op, rules, goes_on);
        if (placed.what == release_outcome::kind::changed) {
            continue;
        }
        if (placed.what == release_outcome::kind::still_there) {
            co_await fail(op, began_with, "the domain is still running on " + placed.node);
            co_return;
        }
        auto definition = co_await read_definition(op);
        if (!definition) {
            const errc code = definition.error().code();
            if (code == errc::invalid) {
                co_await fail(op, began_with, definition.error().cause());
            } else if (code == errc::not_found && op.row.is_present) {
                co_await fail(op, began_with, "the domain has no XML");
            } else {
                op.pause(1s);
            }
            co_return;
        }
        // The guarded read: the same view, still, on a connected session.
        const auto still_ours = [&]() -> async::awaitable<std::optional<boot_time>> {
            if (is_planted(defect::create_unguarded)) {
                co_return op.clock().boot_now();
            }
            auto read = co_await op.table.read(op.row);
            const bool is_same = read && op.s.zk.is_connected() && goes_on();
            co_return is_same ? std::optional(*read) : std::nullopt;
        };
        const auto locks = co_await op.rbd_locks().for_start(definition->volumes, still_ours, [&op](duration time) {
            return op.wait_news(op.present(), time, "a foreign RBD lock to go");
        });
        if (locks.what == placement::lock_outcome::kind::changed) {
            continue;
        }
        if (locks.what == placement::lock_outcome::kind::refused) {
            co_await fail(op, began_with, locks.reason);
            co_return;
        }
        const auto slot = co_await op.creations.take(op.id, "its turn to be created");
        const auto sent = co_await still_ours();
        if (!sent) {
            if (!op.s.zk.is_connected()) {
                op.pause(500ms);
                co_return;
            }
            co_await async::yield();
            continue;
        }
        const auto step = co_await create(op, definition->xml, *sent + zookeeper::guard_validity, again_until, reason);
        if (step == create_step::created) {
            co_await announce(op, began_with);
            co_return;
        }
        if (step == create_step::failed) {
            co_await fail(op, began_with, reason);
            co_return;
        }
        if (step == create_step::leave) {
            co_return;
        }
    }
}

}  // namespace pvc::domains
