#include "pvcnoded/membership/keepalive.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/core/heartbeat_note.hpp"
#include "pvcnoded/membership/registration.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/policy/membership/keepalive_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::membership {

using namespace std::chrono_literals;

namespace {

constexpr duration heartbeat_limit = 2s;
constexpr duration stuck_slack = 5s;

}  // namespace

keepalive::keepalive(core::session& s, std::vector<core::figure_source*> sources,
                     std::vector<core::fence_survivor*> survivors)
    : session_(s), figures_(s, std::move(sources)), survivors_(std::move(survivors)) {
    daemon_state_ = s.watches.add(s.own(model::node_key::daemon_state), zookeeper::watch_kind::data, declared_);
}

void keepalive::begin_run() {
    begin_ = true;
    figures_on_ = true;
    session_.node.started = true;
    session_.record.forget();
    wake_.notify();
    if (!survivors_.empty()) {
        declared_.notify();  // by whoever called this node fenced while it started
    }
}

void keepalive::stop_figures() {
    figures_on_ = false;
}

void keepalive::resume_figures() {
    figures_on_ = session_.node.started;
    session_.record.forget(true);  // the update itself created keys
}

bool keepalive::is_stuck() const {
    return in_tick_ && session_.node.clock().now() > next_ + session_.node.times.keepalive + stuck_slack;
}

async::awaitable<void> keepalive::run() {
    co_await async::with_task_group("keepalive", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("heartbeat note", [this] { return note_heartbeats(); });
        group.spawn("objection", [this] { return object(); });
        figures_.spawn_into(group);
        co_await run_ticks();
    });
}

async::awaitable<void> keepalive::wait_running() {
    co_await ran_.wait([this] { return wrote_run_; }, async::wait_note::work("the first acknowledged heartbeat"));
}

async::awaitable<void> keepalive::run_ticks() {
    auto& clock = session_.node.clock();
    const duration interval = session_.node.times.keepalive;
    time_point cadence = clock.now() + interval;
    if (session_.node.started) {
        begin_ = true;  // a new session of a running daemon: check in at once
        figures_on_ = true;
    }
    next_ = cadence;
    wall_at_begin_ = clock.wall_now().time_since_epoch() - clock.now().time_since_epoch();
    for (;;) {
        const bool begins = std::exchange(begin_, false);
        if (begins) {
            cadence = clock.now();
            next_ = cadence;
        }
        if (!held_ && (begins || clock.now() >= next_)) {
            const time_point due = next_;
            session_.node.beats.lateness.add(clock.now() - due);
            in_tick_ = true;
            co_await tick();
            in_tick_ = false;
            next_ = policy::next_tick(cadence, interval, clock.now());
            session_.node.beats.skipped +=
                static_cast<std::uint64_t>(std::max<std::int64_t>((next_ - due) / interval - 1, 0));
            if (is_planted(defect::wall_clock_cadence)) {
                const auto by_wall = time_point(clock.wall_now().time_since_epoch() - wall_at_begin_);
                next_ = policy::next_tick(cadence, interval, by_wall);
            }
            continue;
        }
        if (held_) {
            co_await wake_.wait(async::wait_note::work("the end: the stop makes the last tick itself"));
            continue;
        }
        const bool notified = co_await wake_.wait_until(clock, next_, "the next tick");
        ignore(result<bool>(notified), "either way it is time to look again");
    }
}

bool keepalive::needs_clean_up() const {
    return !survivors_.empty() && daemon_state_->known() &&
           model::parse_daemon_state(daemon_state_->data()) == model::daemon_state::fenced &&
           cleaned_up_ != daemon_state_->stat().version;
}

// Declared dead (or fenced): check in at once, the fencer is counting. Beside the ticks, whose figures may wait for a
// hypervisor that hangs.
async::awaitable<void> keepalive::object() {
    auto& clock = session_.node.clock();
    const auto is_declared = [this] {
        const auto stored = model::parse_daemon_state(daemon_state_->data());
        // A new session's first heartbeat answers by itself, unless it may not say `run` yet.
        return daemon_state_->known() && session_.node.started && (wrote_run_ || needs_clean_up()) && !held_ &&
               !session_.node.stopping.value() &&
               (stored == model::daemon_state::dead || stored == model::daemon_state::fenced);
    };
    for (;;) {
        if (!is_declared()) {
            co_await declared_.wait(async::wait_note::work("somebody to declare this node dead"));
            continue;
        }
        if (!session_.zk.is_connected()) {
            // What the key said before is no news; the ticks tell of the heartbeats that are missed.
            auto connected = co_await session_.zk.wait_connected(session_.limit());
            if (!connected) {
                co_await async::sleep_for(clock, 1s, "a connection to object on");
            }
            continue;
        }
        if (needs_clean_up()) {
            const std::int32_t version = daemon_state_->stat().version;
            const auto goes_on = [&] { return is_declared() && daemon_state_->stat().version == version; };
            co_await clean_up_after_fence(goes_on);
            if (!goes_on()) {
                continue;
            }
            cleaned_up_ = version;
        }
        co_await check_in();
        // Should the state still say so (somebody keeps writing it), not more often than that.
        co_await async::sleep_for(clock, 1s, "the next objection");
    }
}

async::awaitable<void> keepalive::clean_up_after_fence(std::function<bool()> goes_on) {
    for (auto* one : survivors_) {
        co_await one->clean_up_after_fence(session_, goes_on);
    }
}

async::awaitable<void> keepalive::last_tick() {
    const bool acknowledged = co_await heartbeat();
    if (acknowledged && figures_on_) {
        co_await figures_.tick(session_.limit());
    }
}

void keepalive::acknowledged(boot_time sent) {
    auto& last = session_.node.heartbeat_sent;
    if (!last || sent > *last) {
        last = sent;
    }
}

// Beside the ticks: a disk that hangs must not delay a heartbeat. Also when the role changes: whoever starts after a
// crash keeps what only a primary may have.
async::awaitable<void> keepalive::note_heartbeats() {
    const async::latest<model::router_state>::observer role(session_.node.role.changes(), note_wanted_);
    for (;;) {
        co_await note_wanted_.wait(async::wait_note::work("an acknowledged heartbeat"));
        if (!session_.node.heartbeat_sent) {
            continue;
        }
        core::heartbeat_note note;
        note.boot_id = session_.node.machine.boot_id;
        note.boot_ns = session_.node.heartbeat_sent->time_since_epoch().count();
        note.mzxid = session_.node.heartbeat_id;
        note.role = std::string(model::to_text(session_.node.role.now()));
        auto written = co_await session_.node.port.host.replace_file(core::heartbeat_note_path(session_.node),
                                                                     core::to_text(note));
        if (!written && !note_failed_) {
            session_.node.log.warning(message::heartbeat_note,
                                      "cannot note the heartbeat, going on without: " + written.error().text());
        }
        note_failed_ = !written;
    }
}

// What to do about a key of the heartbeat that is not there. True: try again.
async::awaitable<bool> keepalive::repair_record(const failure& error, time_point deadline, bool& known_missing) {
    const boot_time asked = session_.node.clock().boot_now();
    auto record = co_await session_.zk.exists(deadline, session_.own());
    if (!record) {
        if (record.error().code() == errc::not_found) {
            // Nobody can fence an entry that is not there: the answer is contact, and the age of the heartbeat is held
            // (node-lifecycle.md 4). It is created anew at the next start only.
            acknowledged(asked);
            entry_gone_ = true;
            session_.node.log.error(message::node_entry_deleted,
                                    "the entry of this node, " + session_.own() +
                                        ", was deleted: it is created again when the daemon is restarted");
        }
        co_return false;
    }
    known_missing = error.code() == errc::not_found;
    co_return true;
}

// Own daemonstate as the watch shows it, or read if it has not been seen yet.
async::awaitable<keepalive::own_state> keepalive::stored_state(time_point deadline) {
    if (daemon_state_->known()) {
        co_return own_state{model::parse_daemon_state(daemon_state_->data()), daemon_state_->stat().version};
    }
    own_state now;
    auto read = co_await session_.zk.get(deadline, session_.own(model::node_key::daemon_state));
    if (read) {
        now = {model::parse_daemon_state(read->data), read->stat.version};
    }
    co_return now;
}

keepalive::beat keepalive::make_beat(const own_state& stored, bool with_state) const {
    const core::node_context& node = session_.node;
    policy::heartbeat_view view;
    view.stored = stored.state;
    view.started = node.started;
    view.terminating = node.stopping.value();
    // Without the hypervisor function there is no domain to destroy.
    view.fence_cleanup_done = survivors_.empty() || cleaned_up_ == stored.version;
    beat out;
    out.write.reserve(3);
    out.state = with_state ? policy::plan_heartbeat(view).write_state : std::nullopt;
    if (out.state) {
        out.write.set(session_.own(model::node_key::daemon_state), std::string(model::to_text(*out.state)),
                      stored.version);
    }
    const auto put = [&out](std::string path, std::string value, bool missing) -> std::optional<zookeeper::set_handle> {
        if (missing) {
            out.write.create(std::move(path), std::move(value));
            return std::nullopt;
        }
        return out.write.overwrite(std::move(path), std::move(value));
    };
    out.heartbeat = put(session_.own(model::node_key::keepalive), std::to_string(unix_seconds(node.clock().wall_now())),
                        keepalive_missing_);
    put(session_.own(model::node_key::self_reset), model::self_reset_text(std::nullopt), self_reset_missing_);
    return out;
}

void keepalive::take_acknowledgement(const beat& sent, const zookeeper::commit_reply& answer, const own_state& stored) {
    core::node_context& node = session_.node;
    if (!sent.heartbeat) {
        expected_version_ = 1;
    } else {
        const auto& stat = answer.of(*sent.heartbeat);
        if (expected_version_ >= 0 && stat.version != expected_version_) {
            node.log.error(message::node_twin, "somebody else writes " + session_.own(model::node_key::keepalive) +
                                                   ": is a daemon with this name running on another host?");
        }
        expected_version_ = stat.version + 1;
        node.heartbeat_id = stat.mzxid;
    }
    keepalive_missing_ = self_reset_missing_ = false;
    const bool is_run = sent.state == model::daemon_state::run ||
                        (node.started && !sent.state && stored.state == model::daemon_state::run);
    if (is_run && !wrote_run_) {
        wrote_run_ = true;
        ran_.notify_all();
    }
}

// A heartbeat was refused: learns why. True: try again at once.
async::awaitable<bool> keepalive::learn_from(const failure& error, time_point deadline, own_state& stored) {
    const errc code = error.code();
    if (code == errc::outcome_unknown) {
        expected_version_ = -1;
        co_return false;
    }
    if (code != errc::version_conflict && code != errc::not_found && code != errc::already_exists) {
        co_return false;
    }
    if (error.subject() != session_.own(model::node_key::daemon_state)) {
        expected_version_ = -1;
        bool& missing =
            error.subject() == session_.own(model::node_key::keepalive) ? keepalive_missing_ : self_reset_missing_;
        co_return co_await repair_record(error, deadline, missing);
    }
    auto read = co_await session_.zk.get(deadline, session_.own(model::node_key::daemon_state));
    if (read) {
        stored = {model::parse_daemon_state(read->data), read->stat.version};
        co_return true;
    }
    if (read.error().code() != errc::not_found) {
        co_return false;
    }
    auto again = co_await session_.zk.create(deadline, session_.own(model::node_key::daemon_state), "");
    if (again) {
        session_.node.log.warning(
            message::node_state_recreated,
            "recreated " + session_.own(model::node_key::daemon_state) + ", which somebody had deleted");
        stored = {};
        co_return true;
    }
    bool unused = false;
    co_await repair_record(read.error(), deadline, unused);
    co_return false;
}

void keepalive::tell_contest(bool is_contested) {
    if (std::exchange(is_contested_, is_contested) != is_contested && is_contested) {
        session_.node.log.warning(message::node_state_contested,
                                  "somebody keeps writing " + session_.own(model::node_key::daemon_state) +
                                      ": the heartbeat goes on without it, the state is written when that ends");
    }
}

std::optional<std::int32_t> keepalive::state_version() const {
    return daemon_state_->known() && daemon_state_->present() ? std::optional(daemon_state_->stat().version)
                                                              : std::nullopt;
}

async::awaitable<bool> keepalive::heartbeat() {
    const auto turn = co_await beating_.lock("another heartbeat's answer");
    const time_point deadline = session_.limit(heartbeat_limit);
    own_state stored = co_await stored_state(deadline);
    // Whoever keeps writing the state must not keep the heartbeat away: it then leaves the state as it is.
    constexpr duration contest_limit = 500ms;
    const time_point contested_until = session_.node.clock().now() + contest_limit;
    bool is_contested = false;
    while (session_.node.clock().now() < deadline) {
        is_contested = is_contested && session_.node.clock().now() >= contested_until;
        beat next = make_beat(stored, !is_contested);
        auto done = co_await session_.zk.commit(deadline, std::move(next.write),
                                                [this](boot_time sent) { acknowledged(sent); });
        if (done) {
            take_acknowledgement(next, *done, stored);
            tell_contest(is_contested);
            co_return true;
        }
        is_contested = done.error().subject() == session_.own(model::node_key::daemon_state);
        const bool again = co_await learn_from(done.error(), deadline, stored);
        if (!again) {
            break;
        }
    }
    co_return false;
}

void keepalive::log_tick(wall_time started, duration took) {
    const auto& logging = session_.node.config->logging;
    if (!logging.keepalives) {
        return;
    }
    const double seconds = std::chrono::duration<double>(took).count();
    std::string date = core::date_text(started);
    date.resize(19);
    session_.node.log.write(log_level::tick,
                            fmt::format("{} keepalive @ {} [{}] in {:.2f} seconds", session_.node.self(), date,
                                        model::to_text(session_.node.role.now()), seconds),
                            {});
    if (logging.cluster_details) {
        const core::figure_sheet& now = figures_.sheet();
        session_.node.log.write(
            log_level::tick,
            fmt::format("Maintenance: {}, health: {}, VMs: {}, OSDs: {}, load: {}, memory [MiB]: used {}, free {}",
                        model::boolean_text(session_.node.maintenance), now.health, now.domains, now.osds, now.load,
                        now.used_mib, now.free_mib),
            {});
    }
}

async::awaitable<void> keepalive::tick() {
    auto& clock = session_.node.clock();
    const time_point start = clock.now();
    const wall_time started = clock.wall_now();
    const duration interval = session_.node.times.keepalive;
    if (is_planted(defect::disk_in_heartbeat)) {
        auto noted = co_await session_.node.port.host.replace_file(core::heartbeat_note_path(session_.node), "");
        ignore(noted, "a planted defect");
    }
    const bool acknowledged = co_await check_in();
    if (figures_on_ && acknowledged) {
        co_await figures_.tick(start + policy::figures_budget(interval));
        log_tick(started, clock.now() - start);
    }
    if (acknowledged && session_.node.mode == model::daemon_mode::coordinator) {
        co_await session_.others.read_heartbeats(start + policy::tick_budget(interval));
    }
    session_.ticks.set(session_.ticks.value() + 1);
}

// A heartbeat, and what is said of it.
async::awaitable<bool> keepalive::check_in() {
    const bool acknowledged = co_await heartbeat();
    ++(acknowledged ? session_.node.beats.acknowledged : session_.node.beats.missed);
    if (!acknowledged && std::exchange(entry_gone_, false)) {
        ++missed_;  // said already: the server answered, and the entry is not there
    } else if (!acknowledged) {
        ++missed_;
        session_.node.log.warning(
            message::heartbeat_missed,
            fmt::format("heartbeat missed ({} in a row): {}", missed_,
                        session_.zk.is_connected() ? "not acknowledged within 2 s" : "no connection to ZooKeeper"));
    } else if (missed_ != 0) {
        session_.node.log.info(fmt::format("heartbeat acknowledged again after {} missed", missed_));
        missed_ = 0;
    }
    if (acknowledged) {
        note_wanted_.notify();
    }
    co_return acknowledged;
}

}  // namespace pvc::membership
