// Start: placement, RBD locks, a last guarded look, create. Specification: vm-domains.md 6.1.
#include "operations/creation.hpp"
#include "operations/others.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/domain_xml.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

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
    auto key = co_await op.s.zk.exists(op.s.limit(), op.key(model::domain_key::failed_reason));
    if (!key && key.error().code() == errc::not_found) {
        more.create(op.key(model::domain_key::failed_reason), reason);
    } else {
        more.overwrite(op.key(model::domain_key::failed_reason), reason);
    }
    if (op.present() != began_with || !op.row.is_present) {
        co_return;
    }
    const write_result done = co_await op.write_state(vm_state::fail, std::move(more));
    if (done == write_result::written) {
        co_await op.write_own(model::domain_key::vnc, "");
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
    auto answers = co_await op.s.zk.read_together(
        op.s.limit(), {{.path = op.key(model::domain_key::xml)}, {.path = op.key(model::domain_key::rbd_list)}});
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
    const auto answers = co_await op.s.zk.read_together(
        op.s.limit(), {{.path = op.key(model::domain_key::failed_reason)}, {.path = op.key(model::domain_key::vnc)}});
    if (const auto& reason = answers[0]; reason && !reason->data.empty()) {
        more.set(op.key(model::domain_key::failed_reason), "", reason->stat.version);
    }
    op.here.owes_vnc = op.here.live_is_stale;
    const std::string vnc = op.here.live ? model::vnc_text(*op.here.live) : std::string();
    const auto& stored = answers[1];
    if (stored && stored->data != vnc && !op.here.owes_vnc) {
        more.overwrite(op.key(model::domain_key::vnc), vnc);
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
    more.check(op.key(model::domain_key::state), op.row.state_version);
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
        co_await op.write_own(model::domain_key::migrate_sync_lock, "");  // of a receiver that lost its power
    }
    // Somebody wants something else; should he want it to run after all, adopting it writes what is missing.
    op.here.owes_vnc = op.here.owes_vnc || !is_written;
    op.here.owes_reason = !is_written;
    op.here.adopted_state = op.row.state_changed;
    if (!is_written && is_still_wanted(op, began_with) && op.is_guest(guest_class::alive)) {
        op.here.is_adopted = false;  // adopting it once more writes what is missing
    }
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

// The definition; empty: it has none that could be used, which is said and ends the start.
async::awaitable<std::optional<stored_definition>> definition_or_fail(operation& op,
                                                                      const operation::view& began_with) {
    auto found = co_await read_definition(op);
    if (found) {
        co_return *std::move(found);
    }
    const errc code = found.error().code();
    if (code == errc::invalid) {
        co_await fail(op, began_with, found.error().cause());
    } else if (code == errc::not_found && op.row.is_present) {
        co_await fail(op, began_with, "the domain has no XML");
    } else {
        op.pause(1s);
    }
    co_return std::nullopt;
}

// One attempt from the release by others to the creation. False: the start is over, one way or another.
class start_attempt {
public:
    start_attempt(operation& op, std::optional<time_point>& again_until)
        : op_(op), began_with_(op.present()), again_until_(again_until) {}

    async::awaitable<bool> run() {
        release_rules rules;
        rules.ask_after = 15s;
        rules.give_up_after = 60s;
        const auto placed = co_await wait_released(op_, rules, [this] { return goes_on(); });
        if (placed.what == release_outcome::kind::changed) {
            co_return true;
        }
        if (placed.what == release_outcome::kind::still_there) {
            co_await fail(op_, began_with_, "the domain is still running on " + placed.node);
            co_return false;
        }
        const auto definition = co_await definition_or_fail(op_, began_with_);
        if (!definition) {
            co_return false;
        }
        const auto locks = co_await op_.rbd_locks().for_start(
            definition->volumes, [this] { return still_ours(); },
            [this](duration time) { return op_.wait_news(op_.present(), time, "a foreign RBD lock to go"); });
        if (locks.what == placement::lock_outcome::kind::refused) {
            co_await fail(op_, began_with_, locks.reason);
            co_return false;
        }
        co_return locks.what == placement::lock_outcome::kind::changed || co_await create_in_turn(definition->xml);
    }

private:
    [[nodiscard]] bool goes_on() const { return is_ours_to_start(op_) && op_.present() == began_with_; }

    // The guarded read: the same view, still, on a connected session.
    async::awaitable<std::optional<boot_time>> still_ours() {
        if (is_planted(defect::create_unguarded)) {
            co_return op_.clock().boot_now();
        }
        auto read = co_await op_.table.read(op_.row);
        const bool is_same = read && op_.s.zk.is_connected() && goes_on();
        co_return is_same ? std::optional(*read) : std::nullopt;
    }

    async::awaitable<bool> create_in_turn(const std::string& xml) {
        const auto slot = co_await op_.creations.take(op_.id, "its turn to be created");
        const auto sent = co_await still_ours();
        if (!sent && !op_.s.zk.is_connected()) {
            op_.pause(500ms);
            co_return false;
        }
        if (!sent) {
            co_await async::yield();
            co_return true;
        }
        std::string reason;
        const auto step = co_await create(op_, xml, *sent + zookeeper::guard_validity, again_until_, reason);
        if (step == create_step::created) {
            co_await announce(op_, began_with_);
        } else if (step == create_step::failed) {
            co_await fail(op_, began_with_, reason);
        }
        co_return step == create_step::again;
    }

    operation& op_;
    operation::view began_with_;
    std::optional<time_point>& again_until_;
};

}  // namespace

async::awaitable<void> start(operation& op) {
    const bool may_start = co_await wait_spacing(op);
    if (!may_start) {
        co_return;
    }
    follow_console(op);
    std::optional<time_point> again_until;
    while (is_ours_to_start(op)) {
        start_attempt one(op, again_until);
        const bool is_to_go_on = co_await one.run();
        if (!is_to_go_on) {
            co_return;
        }
    }
}

}  // namespace pvc::domains
