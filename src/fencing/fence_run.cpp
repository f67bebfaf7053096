#include "fence_run.hpp"

#include "pvcnoded/async/child.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;
namespace ask = policy::fence_ask;
namespace said = policy::fence_said;

namespace {
constexpr duration an_hour = 60min;
}

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

policy::fence_seen fence_run::look() const {
    const auto board = tools_.all_boards.known_of(machine_.node);
    policy::fence_seen seen;
    seen.session_lives = tools_.session.zk.state().value().now != zookeeper::link::lost;
    seen.has_lock = tools_.lock.held() != nullptr;
    seen.must_end = node_.stopping.value();
    seen.has_turn = tools_.ground.has_turn(machine_.node);
    seen.is_board_silent = (board.probed && board.power == policy::board_power::unknown) || !why_not_asked().empty();
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

void fence_run::say(policy::fence_news what, const std::string& text) const {
    using enum policy::fence_news;
    auto& log = node_.log;
    const std::string node = "node " + machine_.node;
    switch (what) {
        case marked:
            log.warning(message::fence_begun,
                        node + (machine_.origin == policy::fence_origin::seen_off
                                    ? " is dead: its board says that it has no power"
                                    : fmt::format(" is dead: no heartbeat for {} s; it is switched off unless it "
                                                  "comes back within {} s",
                                                  (node_.clock().now() - machine_.silent_since) / 1s,
                                                  policy::fence_limits::throws * machine_.rules.keepalive / 1s)));
            return;
        case passed: log.info(fmt::format("{} is not fenced: {}", node, text)); return;
        case abandoned: log.info(fmt::format("the fence of {} ends here: {}", node, text)); return;
        case seen_off: log.info(node + " is off: its board says so"); return;
        case not_seen_off:
            log.warning(message::fence_not_seen_off,
                        node + " was said to be without power, and is not seen off now: it is fenced as a silent one");
            return;
        case failed:
            log.error(message::fence_failed,
                      node +
                          " was not seen off, and may run: its machines are not started elsewhere without another "
                          "proof. See to its board, or switch it off and say so: pvcnodectl fence confirm " +
                          machine_.node);
            return;
        case no_proof:
            log.error(message::fence_no_proof,
                      fmt::format("nothing shows that {} of {} cannot write any more: they are left", text, node));
            return;
        case fenced: log.ok(node + " is fenced"); return;
        case kept_off: tools_.ground.keeps_off(machine_.node); return;
        case needs_ceph:
            log.warning(message::fence_needs_ceph,
                        fmt::format("{} of {} need Ceph, which this node cannot ask: other coordinators have {} s to "
                                    "recover them",
                                    text, node, policy::fence_limits::for_others / 1s));
            return;
        case node_back: log.warning(message::fence_node_back, fmt::format("{} is back: {}", node, text)); return;
        case unrecordable:
            log.error(message::fence_record_unwritten,
                      fmt::format("{}: {} ({}); another coordinator is to fence it", node, text, ledger_->trouble()));
            return;
        case held_back:
            log.error(message::fence_held_back, fmt::format("{} is dead and not switched off: {}", node, text));
            return;
        case powered_on: log.ok(node + " is switched on again"); return;
        case not_powered_on:
            log.warning(message::fence_not_on, node + " could not be switched on again: switch it on by hand");
            return;
    }
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
    const auto all = co_await tools_.ledgers.records().about(machine_.node, since);
    if (!all) {
        co_return;
    }
    std::vector<std::int64_t> fenced;
    for (const auto& one : *all) {
        if (one.fenced_id && std::ranges::find(fenced, *one.fenced_id) == fenced.end()) {
            fenced.push_back(*one.fenced_id);
        }
    }
    // The fence that this one goes on with is not counted.
    const bool is_same = machine_.origin == policy::fence_origin::recovering &&
                         std::ranges::find(fenced, machine_.mark_id) != fenced.end();
    fences_in_an_hour_ = static_cast<std::uint8_t>(std::min<std::size_t>(fenced.size() - (is_same ? 1 : 0), 100));
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
    if (std::holds_alternative<ask::guarded_read>(step.what)) {
        co_return co_await read();
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

// ---- reads and writes -----------------------------------------------------------------------------------------------

namespace {

// Of the guarded read, in the order of its wishes.
enum wish_at : std::uint8_t {
    lock_child,
    daemon,
    beat,
    domains,
    proof,
    lease,
    router,
    maintenance,
    primary,
    wish_count
};

std::optional<policy::stored_proof> stored_proof_of(const result<zookeeper::read_reply>& key, std::int64_t state_id,
                                                    std::int64_t heartbeat_id) {
    const auto parsed = key ? model::parse_fence_proof(key->data) : std::nullopt;
    if (!parsed) {
        return std::nullopt;
    }
    return policy::stored_proof{.record = parsed->record,
                                .by = parsed->coordinator,
                                .which = proof_of(parsed->kind),
                                .is_valid = state_id <= key->stat.mzxid && heartbeat_id <= key->stat.mzxid};
}

}  // namespace

async::awaitable<said::any> fence_run::read() {
    const std::string own = child();
    std::vector<zookeeper::read_wish> wishes(wish_count);
    wishes[lock_child] = {.path = own.empty() ? std::string(model::key_path::fence_lock) : own, .with_data = false};
    wishes[daemon] = {.path = path(model::node_key::daemon_state)};
    wishes[beat] = {.path = path(model::node_key::keepalive), .with_data = false};
    wishes[domains] = {.path = path(model::node_key::domain_state)};
    wishes[proof] = {.path = path("/fenceproof")};
    wishes[lease] = {.path = path(model::node_key::self_reset)};
    wishes[router] = {.path = path(model::node_key::router_state)};
    wishes[maintenance] = {.path = std::string(model::key_path::maintenance)};
    wishes[primary] = {.path = std::string(model::key_path::primary_node)};
    const auto got = co_await tools_.session.zk.read_together(tools_.session.limit(), std::move(wishes));
    said::read out;
    boot_time first = boot_time::max();
    for (const auto& one : got) {
        if (!one && one.error().code() != errc::not_found) {
            co_return out;
        }
        first = one ? std::min(first, one->sent) : first;
    }
    if (first == boot_time::max()) {
        co_return out;
    }
    out.sent = first;
    out.has_lock = !own.empty() && got[lock_child].has_value();
    out.in_maintenance = got[maintenance] && model::parse_maintenance(got[maintenance]->data);
    out.majority_stays = tools_.ground.majority_stays_without(machine_.node);
    auto& seen = out.victim.emplace();
    if (!got[daemon] || !got[beat] || !got[domains]) {
        seen.is_gone = true;
        co_return out;
    }
    seen.state = model::parse_daemon_state(got[daemon]->data);
    seen.state_id = got[daemon]->stat.mzxid;
    seen.heartbeat_id = got[beat]->stat.mzxid;
    seen.is_recovering = model::parse_domain_state(got[domains]->data) == model::domain_state::fence_flush;
    seen.is_named_primary = got[primary] && got[primary]->data == machine_.node;
    seen.proof = stored_proof_of(got[proof], seen.state_id, seen.heartbeat_id);
    if (const auto armed = got[lease] ? model::parse_self_reset(got[lease]->data) : std::nullopt) {
        seen.lease = policy::stored_lease{.time = *armed, .is_of_beat = got[lease]->stat.mzxid == seen.heartbeat_id};
    }
    keys_ = {.state_version = got[daemon]->stat.version,
             .heartbeat_version = got[beat]->stat.version,
             .domain_state_version = got[domains]->stat.version,
             .proof_version = got[proof] ? got[proof]->stat.version : -1,
             .router_version = got[router] ? got[router]->stat.version : -1,
             .primary_version = got[primary] ? got[primary]->stat.version : -1,
             .is_named_primary = seen.is_named_primary,
             .is_flushing = seen.is_recovering};
    co_return out;
}

// What every write rests on. `sets_state`: it sets daemonstate itself.
void fence_run::add_guards(zookeeper::transaction& what, bool sets_state) const {
    if (!sets_state) {
        what.check(path(model::node_key::daemon_state), keys_.state_version);
    }
    what.check(path(model::node_key::keepalive), keys_.heartbeat_version);
    add_check(what);
}

void fence_run::put_proof(zookeeper::transaction& what, policy::fence_proof which) const {
    const std::string text = model::to_text(model::fence_proof_key{ledger_->now().id, node_.self(), kind_of(which)});
    if (keys_.proof_version < 0) {
        what.create(path("/fenceproof"), text);
    } else {
        what.set(path("/fenceproof"), text, keys_.proof_version);
    }
}

async::awaitable<said::any> fence_run::commit(zookeeper::transaction what) {
    using enum said::written::end;
    const auto done = co_await tools_.session.zk.commit(tools_.session.limit(), std::move(what));
    if (done) {
        co_return said::written{written, done->zxid()};
    }
    const errc code = done.error().code();
    co_return said::written{code == errc::outcome_unknown || code == errc::session_lost ? unknown : overtaken, 0};
}

async::awaitable<said::any> fence_run::write_mark() {
    said::any out = said::written{said::written::end::overtaken, 0};
    zookeeper::lock_request request;
    request.path = path(model::node_key::daemon_state);
    request.kind = model::lock_kind::write;
    request.deadline = tools_.session.limit(policy::fence_limits::mark);
    request.task = "fencing";
    request.reason = "node " + machine_.node + " is dead";
    const auto done = co_await tools_.session.locks.with_lock(
        std::move(request), [&](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
            zookeeper::transaction what;
            what.set(path(model::node_key::daemon_state), std::string(to_text(model::daemon_state::dead)),
                     keys_.state_version);
            add_guards(what, true);
            held.add_check(what);
            out = co_await commit(std::move(what));
            co_return result<void>();
        });
    ignore(done, "what was written says so; without the lock nothing was");
    co_return out;
}

// The figures of a node that is off, as far as its entry has them.
async::awaitable<result<zookeeper::transaction>> fence_run::figures(std::vector<uuid> left) {
    namespace key = model::node_key;
    std::vector<std::string> ids;
    std::ranges::transform(left, std::back_inserter(ids), [](const uuid& id) { return to_text(id); });
    const std::vector<std::pair<const char*, std::string>> values{
        {key::running_domains, model::running_domains_text(ids)},
        {key::domains_count, "0"},
        {key::cpu_load, "0.0"},
        {key::vcpu_alloc, "0"},
        {key::mem_total, "0"},
        {key::mem_used, "0"},
        {key::mem_free, "0"},
        {key::mem_alloc, "0"},
        {key::mem_prov, "0"},
        {key::monitoring_health, "None"}};
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& [name, text] : values) {
        wishes.push_back({.path = path(name), .with_data = false});
    }
    const auto there = co_await tools_.session.zk.read_together(tools_.session.limit(), std::move(wishes));
    zookeeper::transaction what;
    for (std::size_t at = 0; at < values.size(); ++at) {
        if (!there[at] && there[at].error().code() != errc::not_found) {
            co_return there[at].error();
        }
        if (there[at]) {
            what.overwrite(path(values[at].first), values[at].second);
        }
    }
    co_return what;
}

async::awaitable<said::any> fence_run::write(ask::write wanted) {
    zookeeper::transaction what;
    const auto put_domain_state = [&](model::domain_state to) {
        what.set(path(model::node_key::domain_state), std::string(to_text(to)), keys_.domain_state_version);
    };
    switch (wanted.what) {
        case policy::fence_write::mark: co_return co_await write_mark();
        case policy::fence_write::fenced:
            what.set(path(model::node_key::daemon_state), std::string(to_text(model::daemon_state::fenced)),
                     keys_.state_version);
            put_proof(what, wanted.proof);
            if (wanted.recovers) {
                put_domain_state(model::domain_state::fence_flush);
            }
            break;
        case policy::fence_write::flush:
            put_domain_state(model::domain_state::fence_flush);
            if (wanted.proof == policy::fence_proof::lease) {
                put_proof(what, wanted.proof);
            }
            break;
        case policy::fence_write::role:
            if (keys_.router_version >= 0) {
                what.set(path(model::node_key::router_state), std::string(to_text(model::router_state::secondary)),
                         keys_.router_version);
            }
            if (keys_.is_named_primary) {
                what.set(std::string(model::key_path::primary_node), "none", keys_.primary_version);
            }
            break;
        case policy::fence_write::flushed:
            if (wanted.resets_figures) {
                auto reset = co_await figures(wanted.left);
                if (!reset) {
                    co_return said::written{said::written::end::overtaken, 0};
                }
                what = std::move(*reset);
            }
            if (keys_.is_flushing) {
                put_domain_state(model::domain_state::flushed);
            }
            break;
    }
    add_guards(what, wanted.what == policy::fence_write::fenced);
    co_return co_await commit(std::move(what));
}

// ---- the board ------------------------------------------------------------------------------------------------------

async::awaitable<result<power::board_access>> fence_run::reach() {
    const auto turn = co_await reaching_.lock("the address of a board");
    if (access_) {
        co_return *access_;
    }
    std::vector<zookeeper::read_wish> wishes;
    for (const char* key : {"/ipmihostname", "/ipmiusername", "/ipmipassword"}) {
        wishes.push_back({.path = path(key)});
    }
    const auto got = co_await tools_.session.zk.read_together(tools_.session.limit(), std::move(wishes));
    std::array<std::optional<std::string>, 3> values;
    for (std::size_t at = 0; at < values.size(); ++at) {
        if (!got[at] && got[at].error().code() != errc::not_found) {
            co_return got[at].error();
        }
        values[at] = got[at] ? std::optional(got[at]->data) : std::nullopt;
    }
    const auto read = policy::board_entry_of(values[0], values[1], values[2]);
    if (!read.trouble.empty()) {
        co_return failure(errc::invalid, machine_.node, read.trouble);
    }
    ledger_->hide(read.entry.password);
    PVC_CO_TRY(auto found, co_await tools_.all_boards.reach(machine_.node, read.entry, power::command_limit));
    access_ = found;
    co_return found;
}

async::awaitable<said::any> fence_run::command(ask::power what) {
    ledger_->command_begins();
    if (const auto why = why_not_asked(); !why.empty()) {
        co_return said::board{.is_begun = true, .status = 1, .output = {}, .errors = "not asked: " + why};
    }
    const auto to = co_await reach();
    if (!to) {
        // As a board that cannot be reached.
        co_return said::board{.is_begun = true, .status = 1, .output = {}, .errors = "not asked: " + to.error().text()};
    }
    const auto which = what.what == policy::board_command::off  ? power::board_command::off
                       : what.what == policy::board_command::on ? power::board_command::on
                                                                : power::board_command::status;
    const auto heard =
        co_await tools_.all_boards.command(*to, which, guarded_until(what.sent + zookeeper::guard_validity));
    if (!heard) {
        const bool is_unsure = heard.error().code() == errc::io;
        co_return said::board{.is_begun = is_unsure, .status = {}, .output = {}, .errors = heard.error().text()};
    }
    co_return said::board{.is_begun = true, .status = heard->status, .output = heard->output, .errors = heard->errors};
}

}  // namespace pvc::fencing
