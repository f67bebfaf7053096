#include "domain/console.hpp"

#include "domain/operation.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::node {

using namespace std::chrono_literals;

namespace {
constexpr duration between_publications = 500ms;
constexpr duration read_limit = 5s;
constexpr duration end_limit = 5s;
constexpr duration vnc_again = 1s;
}  // namespace

console_watch::console_watch(services::console_files& files, std::string path, std::string key, std::size_t lines)
    : files_(files), path_(std::move(path)), key_(std::move(key)), lines_(lines) {}

console_watch::~console_watch() = default;

void console_watch::ask_end() {
    must_end_ = true;
    changed_.notify();
}

async::awaitable<void> console_watch::wait_end(async::timers& clock, time_point deadline) {
    while (!has_ended_ && clock.now() < deadline) {
        co_await ended_.wait_until(clock, deadline, "the last lines of a console");
    }
}

async::awaitable<void> console_watch::publish(session& s) {
    auto raw = co_await files_.read_end(path_, lines_, model::console_read_bytes, s.limit(read_limit));
    if (!raw) {
        if (!std::exchange(told_, true)) {
            s.node.log.warning("console log " + path_ + ": " + raw.error().text());
        }
        co_return;
    }
    told_ = false;
    std::string text = model::console_text(*raw, lines_);
    if (!std::exchange(knows_last_, true)) {
        auto stored = co_await s.zk.get(s.limit(), key_);
        last_ = stored ? std::move(stored->data) : std::string();
        knows_last_ = stored.has_value();
    }
    if ((knows_last_ && text == last_) || is_silent_) {
        co_return;
    }
    zookeeper::transaction what;
    what.overwrite(key_, text);
    auto done = co_await s.zk.commit(s.limit(), std::move(what));
    if (done) {
        last_ = std::move(text);
    }
    knows_last_ = done.has_value();
}

async::awaitable<void> console_watch::run(std::shared_ptr<console_watch> self, session& s) {
    auto ready = co_await self->files_.ensure(self->path_, s.limit(read_limit));
    if (!ready) {
        s.node.log.warning("console log " + self->path_ + ": " + ready.error().text());
    }
    self->file_ = self->files_.follow(self->path_, self->changed_);
    for (;;) {
        co_await self->changed_.wait(async::wait_note::work("changes of a console log"));
        const bool is_last = self->must_end_;
        co_await self->publish(s);
        if (is_last) {
            break;
        }
        const time_point next = s.node.clock().now() + between_publications;
        bool is_due = false;  // a change that came meanwhile is published when the time has passed
        while (!self->must_end_ && s.node.clock().now() < next) {
            const bool notified =
                co_await self->changed_.wait_until(s.node.clock(), next, "the next publication of a console log");
            is_due = is_due || notified;
        }
        if (is_due || self->must_end_) {
            self->changed_.notify();
        }
    }
    self->file_.reset();
    self->has_ended_ = true;
    self->ended_.notify();
}

void follow_console(operation& op) {
    const auto& config = *op.node.config;
    if (config.logging.console_log_lines <= 0 || op.consoles_scope == nullptr || op.here.name.empty()) {
        return;
    }
    const std::string path = config.directories.console_log + "/" + op.here.name + ".log";
    if (op.here.console && op.here.console->path() == path) {
        return;
    }
    if (const auto problem = model::console_name_problem(op.here.name); !problem.empty()) {
        if (std::exchange(op.here.told_console_name, op.here.name) != op.here.name) {
            op.warning("its console is not logged: the name " + std::string(problem));
        }
        return;
    }
    if (op.here.console) {
        op.here.console->ask_end();
    }
    op.here.console = std::make_shared<console_watch>(op.consoles, path, op.key("/consolelog"),
                                                      static_cast<std::size_t>(config.logging.console_log_lines));
    op.consoles_scope->spawn("console of " + op.here.name,
                             [watch = op.here.console, &s = op.s] { return console_watch::run(watch, s); });
}

async::awaitable<void> end_console(operation& op) {
    if (is_planted(defect::console_left)) {
        co_return;
    }
    const auto watch = std::exchange(op.here.console, nullptr);
    if (watch) {
        watch->ask_end();
        co_await watch->wait_end(op.clock(), op.now() + end_limit);
    }
}

async::awaitable<void> read_live_xml(operation& op) {
    auto xml = co_await op.machine.live_xml(op.id, op.now() + query_limit);
    if (!xml) {
        co_return;
    }
    auto parsed = model::parse_domain_xml(*xml);
    if (!parsed) {
        if (!std::exchange(op.here.told_unreadable, true)) {
            op.warning("what libvirt says of it cannot be read: " + parsed.error().text());
        }
        co_return;
    }
    op.here.told_unreadable = false;
    op.here.live = *std::move(parsed);
    op.here.live_is_stale = false;
}

async::awaitable<void> publish_vnc(operation& op) {
    op.here.live_is_stale = true;
    co_await read_live_xml(op);
    op.here.owes_vnc = op.here.live_is_stale;
    if (op.here.owes_vnc) {
        op.pause(vnc_again);
        co_return;
    }
    const bool is_ours = op.row.is_present && op.row.is_owner && op.row.state != model::vm_state::deleted;
    if (op.here.live && is_ours) {
        if (model::has_unusable_vnc_address(*op.here.live)) {
            op.warning("its VNC address is one that clients cannot read; the key vnc stays empty");
        }
        co_await op.write_own("/vnc", model::vnc_text(*op.here.live));
    }
}

}  // namespace pvc::node

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
