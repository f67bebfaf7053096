#include "console.hpp"

#include "operations/operation.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr duration read_limit = 5s;
constexpr duration end_limit = 5s;
}  // namespace

console_watch::ownership::ownership(domain_table& table, uuid id)
    : table_(table), id_(id), state_key_(model::domain_path(to_text(id), model::domain_key::state)) {}

std::optional<zookeeper::transaction> console_watch::ownership::checks() const {
    const domain_row* row = table_.find(id_);
    const bool runs_elsewhere = row != nullptr && !row->is_owner && row->state == model::vm_state::start;
    if (row == nullptr || !row->is_present || runs_elsewhere) {
        return std::nullopt;
    }
    zookeeper::transaction checks;
    checks.check(state_key_, row->state_version);
    return checks;
}

async::awaitable<void> console_watch::ownership::refresh() {
    if (domain_row* row = table_.find(id_)) {
        auto read = co_await table_.read(*row);
        ignore(read, "the next attempt tells");
    }
}

console_watch::console_watch(services::console_files& files, policy::console_pace& pace, std::string path,
                             std::string key, std::size_t lines, ownership owner)
    : files_(files),
      pace_(pace),
      path_(std::move(path)),
      key_(std::move(key)),
      lines_(lines),
      owner_(std::move(owner)) {}

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

async::awaitable<std::size_t> console_watch::publish(core::session& s) {
    auto raw = co_await files_.read_end(path_, lines_, model::console_read_bytes, s.limit(read_limit));
    if (!raw) {
        if (!std::exchange(told_, true)) {
            s.node.log.warning(message::console_unread, "console log " + path_ + ": " + raw.error().text());
        }
        co_return 0;
    }
    told_ = false;
    std::string text = model::console_text(*raw, lines_);
    if (!std::exchange(knows_last_, true)) {
        auto stored = co_await s.zk.get(s.limit(), key_);
        last_ = stored ? std::move(stored->data) : std::string();
        knows_last_ = stored.has_value();
    }
    if ((knows_last_ && text == last_) || is_silent_) {
        co_return 0;
    }
    const std::size_t size = text.size();
    const bool is_written = co_await write(s, text);
    if (is_written) {
        last_ = std::move(text);
    }
    knows_last_ = is_written;
    co_return size;
}

// The state may have been changed without us having heard of it yet.
async::awaitable<bool> console_watch::write(core::session& s, const std::string& text) {
    constexpr int tries_max = 3;
    for (int tries = 0; tries < tries_max; ++tries) {
        auto what = owner_.checks();
        if (!what) {
            co_return false;
        }
        what->overwrite(key_, text);
        auto done = co_await s.zk.commit(s.limit(), *std::move(what));
        if (done || done.error().code() != errc::version_conflict) {
            co_return done.has_value();
        }
        co_await owner_.refresh();
    }
    co_return false;
}

// Who is to end waits for nobody: its last lines are few publications, and somebody waits for them.
async::awaitable<void> console_watch::wait_for_turn(async::timers& clock) {
    const time_point turn = pace_.next_turn(clock.now(), written_);
    while (!must_end_ && clock.now() < turn) {
        const bool is_news = co_await changed_.wait_until(clock, turn, "the turn of a console log");
        ignore(result<bool>(is_news), "what came meanwhile is read when it is its turn");
    }
}

async::awaitable<void> console_watch::run(std::shared_ptr<console_watch> self, core::session& s) {
    auto ready = co_await self->files_.ensure(self->path_, s.limit(read_limit));
    if (!ready) {
        s.node.log.warning(message::console_file, "console log " + self->path_ + ": " + ready.error().text());
    }
    self->file_ = self->files_.follow(self->path_, self->changed_);
    for (;;) {
        co_await self->changed_.wait(async::wait_note::work("changes of a console log"));
        co_await self->wait_for_turn(s.node.clock());
        const bool is_last = self->must_end_;
        const std::size_t sent = co_await self->publish(s);
        self->pace_.published(self->written_, sent);
        self->written_ = sent > 0 ? sent : self->written_;
        if (is_last) {
            break;
        }
        const time_point next = s.node.clock().now() + self->pace_.pause_after(sent);
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
        if (std::exchange(op.here.told.console_name, op.here.name) != op.here.name) {
            op.warning(message::console_name, "its console is not logged: the name " + std::string(problem));
        }
        return;
    }
    if (op.here.console) {
        op.here.console->ask_end();
    }
    op.here.console = std::make_shared<console_watch>(
        op.consoles, op.pace, path, op.key(model::domain_key::console_log),
        static_cast<std::size_t>(config.logging.console_log_lines), console_watch::ownership(op.table, op.id));
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

async::awaitable<bool> read_live_xml(operation& op) {
    auto xml = co_await op.hv.live_xml(op.id, op.now() + query_limit);
    if (!xml) {
        co_return false;
    }
    auto parsed = model::parse_domain_xml(*xml);
    if (!parsed) {
        if (!std::exchange(op.here.told.unreadable, true)) {
            op.warning(message::domain_xml_unread, "what libvirt says of it cannot be read: " + parsed.error().text());
        }
        co_return false;
    }
    op.here.told.unreadable = false;
    op.here.live = *std::move(parsed);
    op.here.live_is_stale = false;
    co_return true;
}

async::awaitable<bool> publish_vnc(operation& op) {
    op.here.live_is_stale = true;
    co_await read_live_xml(op);
    if (op.here.live_is_stale) {
        co_return false;
    }
    const bool is_ours = op.row.is_present && op.row.is_owner && op.row.state != model::vm_state::deleted;
    if (op.here.live && is_ours) {
        if (model::has_unusable_vnc_address(*op.here.live)) {
            op.warning(message::domain_vnc, "its VNC address is one that clients cannot read; the key vnc stays empty");
        }
        co_await op.write_own(model::domain_key::vnc, model::vnc_text(*op.here.live));
    }
    co_return true;
}

}  // namespace pvc::domains
