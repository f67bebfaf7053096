#include "pvcnoded/domains/drain.hpp"

#include "arrivals.hpp"
#include "drain/drain_actor.hpp"
#include "drain/job.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/domains/domain_subject.hpp"

#include <fmt/format.h>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration join_limit = 10s;
constexpr std::size_t shown_word_max = 64;

bool is_order(std::optional<model::domain_state> state) {
    return state == model::domain_state::flush || state == model::domain_state::unflush;
}

}  // namespace

drain_actor::drain_actor(core::session& s, domain_subject* here) : session_(s), here_(here) {
    order_ = s.watches.add(s.own(model::node_key::domain_state), zookeeper::watch_kind::data, changed_);
}

void drain_actor::open() {
    is_open_ = true;
    changed_.notify();
}

std::optional<model::domain_state> drain_actor::stored() const {
    return order_->known() && order_->present() ? model::parse_domain_state(order_->data()) : std::nullopt;
}

bool drain_actor::has_order() const {
    const bool may_begin = is_open_ && !is_closing_;
    return may_begin && ((order_->stat().mzxid > settled_ && is_order(stored())) || has_arrivals());
}

// Something came to this node after it was emptied.
bool drain_actor::has_arrivals() const {
    return stored() == model::domain_state::flushed && here_ != nullptr && here_->arrived_here().any();
}

// Whatever somebody wrote there: nothing is done about it, and it is said.
void drain_actor::report_unknown_word() {
    if (!order_->known() || std::exchange(told_, order_->changes()) == order_->changes()) {
        return;
    }
    if (!order_->present()) {
        session_.node.log.warning(message::flush_key_missing,
                                  "the key " + order_->path() + " is missing: nobody can flush this node");
    } else if (!stored()) {
        session_.node.log.warning(message::flush_word,
                                  "the node's domain state is `" +
                                      ascii_only(std::string_view(order_->data()).substr(0, shown_word_max)) +
                                      "`, which is none: nothing is done");
    }
}

async::awaitable<void> drain_actor::run() {
    std::optional<async::latest<std::uint64_t>::observer> arrivals;
    if (here_ != nullptr) {
        arrivals.emplace(here_->arrived_here().changes(), changed_);
    }
    for (;;) {
        if (has_order()) {
            co_await work_off(*stored());
            job_ended_.notify_all();
            continue;
        }
        report_unknown_word();
        if (here_ != nullptr && order_->known() && stored() != model::domain_state::flushed) {
            here_->arrived_here().drop_all();  // they may stay
        }
        co_await changed_.wait(async::wait_note::work("an order to flush this node, or to make it ready"));
    }
}

// One job, until it is done or the key says something else.
async::awaitable<void> drain_actor::work_off(model::domain_state order) {
    struct leaving {
        drain_actor& actor;
        ~leaving() { actor.job_ = nullptr; }
    };
    const leaving guard{*this};
    job_order_ = order == model::domain_state::flushed ? model::domain_state::flush : order;
    const std::int64_t given = order_->stat().mzxid;
    bool is_overtaken = false;
    co_await async::with_task_group(std::string(to_text(order)),
                                    [&](async::task_group& group) -> async::awaitable<void> {
                                        job_ = &group;
                                        group.spawn("order", [&]() -> async::awaitable<void> {
                                            while (stored() == order) {
                                                co_await changed_.wait(async::wait_note::work("another order"));
                                            }
                                            is_overtaken = true;
                                            group.cancel();
                                        });
                                        co_await perform(order, given);
                                        group.cancel();
                                    });
    if (is_overtaken && order_->stat().mzxid != settled_) {
        if (is_order(order)) {
            session_.node.log.state(fmt::format("{}: another order came, ending this one", to_text(order)));
        }
        changed_.notify();
    }
}

async::awaitable<void> drain_actor::wait_looked_at() {
    async::wakeup seen;
    const async::latest<bool>::observer watch(here_->opened(), seen);
    bool told = false;
    while (!here_->opened().value()) {
        if (!std::exchange(told, true)) {
            session_.node.log.info(fmt::format("{}: waiting until libvirt has answered once", to_text(job_order_)));
        }
        co_await seen.wait(async::wait_note::work("the first look at all virtual machines"));
    }
}

async::awaitable<void> drain_actor::perform(model::domain_state order, std::int64_t given) {
    const time_point began = session_.node.clock().now();
    job now{session_, here_, *order_, to_text(order)};
    if (order == model::domain_state::flushed) {
        now.what = to_text(model::domain_state::flush);
        co_await move_on(now);
        co_return;
    }
    if (here_ != nullptr) {
        co_await wait_looked_at();
    }
    if (order == model::domain_state::flush) {
        co_await flush(now);
        co_await conclude(order, given, model::domain_state::flushed, began);
    } else {
        co_await unflush(now);
        // Without the hypervisor function it must never look like somewhere to move a domain to.
        co_await conclude(order, given, here_ != nullptr ? model::domain_state::ready : model::domain_state::flushed,
                          began);
    }
}

// The last write, which tells the client that it is done: only as long as the order stands.
async::awaitable<void> drain_actor::conclude(model::domain_state order, std::int64_t given, model::domain_state end,
                                             time_point since) {
    const auto running = [this] {
        return here_ != nullptr ? here_->running_text().value_or(std::string()) : std::string();
    };
    for (;;) {
        auto stored = co_await session_.zk.get(session_.limit(), order_->path());
        if (!stored && stored.error().code() == errc::not_found) {
            settled_ = order_->stat().mzxid;
            co_return;
        }
        if (!stored) {
            co_await placement::wait_better(session_);
            continue;
        }
        // The same word of another write may be an order of later: what has come since is to leave too.
        if (model::parse_domain_state(stored->data) != order || stored->stat.mzxid != given) {
            settled_ = stored->stat.mzxid - 1;  // what the watch is about to show is news, what it shows now is not
            co_return;
        }
        zookeeper::transaction write;
        write.set(order_->path(), std::string(to_text(end)), stored->stat.version);
        std::optional<result<zookeeper::commit_reply>> done;
        if (order == model::domain_state::flush) {
            done = co_await session_.record.write(model::node_key::running_domains, running, session_.limit(), write);
        } else {
            done = co_await session_.zk.commit(session_.limit(), write);
        }
        if (*done) {
            settled_ = (*done)->zxid();
            report_end(end, since);
            co_return;
        }
        if (done->error().code() != errc::version_conflict) {
            co_await placement::wait_better(session_);
        }
    }
}

void drain_actor::report_end(model::domain_state end, time_point since) const {
    auto& log = session_.node.log;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(session_.node.clock().now() - since).count();
    if (here_ == nullptr) {
        log.ok("this node runs no virtual machines: it is `flushed`, and stays so");
        return;
    }
    if (end == model::domain_state::ready) {
        log.ok(fmt::format("unflush: done after {} s, this node takes virtual machines again", seconds));
        return;
    }
    std::vector<std::string> names = here_->listed_names();
    for (const auto& id : here_->strangers()) {
        names.push_back(to_text(id) + " (which the cluster does not know)");
    }
    if (!names.empty()) {
        log.warning(message::flush_leftovers,
                    fmt::format("flush: done after {} s, but still running here: {}", seconds, join(names, ", ")));
    } else {
        log.ok(fmt::format("flush: done after {} s, no virtual machine runs here any more", seconds));
    }
}

async::awaitable<void> drain_actor::stop(time_point deadline) {
    is_closing_ = true;
    auto& clock = session_.node.clock();
    if (job_ != nullptr) {
        session_.node.log.info(
            fmt::format("stopping: waiting for the node's own order `{}` to be done", to_text(job_order_)));
    }
    // One that waits for libvirt has not begun yet.
    const auto is_over = [this] { return job_ == nullptr || (here_ != nullptr && !here_->opened().value()); };
    co_await job_ended_.wait_until(is_over, clock, deadline, "the end of a flush");
    if (job_ == nullptr) {
        co_return;
    }
    session_.node.log.warning(
        message::flush_interrupted,
        fmt::format("stopping: the order `{}` is not done yet, it goes on when this node is started again",
                    to_text(job_order_)));
    job_->cancel();
    const auto is_joined = [this] { return job_ == nullptr; };
    co_await job_ended_.wait_until(is_joined, clock, clock.now() + join_limit, "the end of a flush that was cancelled");
}

std::unique_ptr<core::session_part> drain_subject::begin(core::session& s) {
    return std::make_unique<drain_actor>(s, here_);
}

}  // namespace pvc::domains
