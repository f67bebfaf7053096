#include "pvcnoded/domains/drain.hpp"

#include "arrivals.hpp"
#include "drain/drain_actor.hpp"
#include "drain/job.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/domains/domain_subject.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration join_limit = 10s;
constexpr std::size_t shown_word_max = 64;
// The key would say `flush` for ever, and be obeyed at the next start: another order ends the job and says what is so.
constexpr std::string_view why_not_cancelled =
    "it carries out the node's stored order; another order ends it: pvc node ready, or pvc node flush";

bool is_order(std::optional<model::domain_state> state) {
    return state == model::domain_state::flush || state == model::domain_state::unflush;
}

}  // namespace

drain_actor::drain_actor(core::session& s, domain_subject* here, drain_view& view)
    : session_(s), here_(here), view_(view) {
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
    const bool says_more = is_order(stored()) || is_ready_for_nothing();
    return may_begin && ((order_->stat().mzxid > settled_ && says_more) || has_arrivals());
}

// Without the hypervisor function, though others would send machines here.
bool drain_actor::is_ready_for_nothing() const {
    return here_ == nullptr && stored() == model::domain_state::ready;
}

// A known node joins with the state that it has (AC02), also one that it would not take when somebody writes it now.
void drain_actor::keep_what_was_found() {
    if (!order_->known() || std::exchange(is_found_, true) || !is_ready_for_nothing()) {
        return;
    }
    settled_ = std::max(settled_, order_->stat().mzxid);
    session_.node.log.state(
        "this node runs no virtual machines, and was found `ready`: a flush keeps clients from placing some here");
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
        keep_what_was_found();
        view_.is_flushed = order_->known() ? stored() == model::domain_state::flushed : view_.is_flushed;
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
        ~leaving() {
            actor.job_ = nullptr;
            actor.view_.under_way = {};
        }
    };
    const leaving guard{*this};
    job_order_ = order == model::domain_state::flushed ? model::domain_state::flush
                 : order == model::domain_state::ready ? model::domain_state::unflush
                                                       : order;
    view_.under_way = to_text(job_order_);
    const std::int64_t given = order_->stat().mzxid;
    bool is_overtaken = false;
    co_await async::with_task_group(std::string(to_text(order)),
                                    [&](async::task_group& group) -> async::awaitable<void> {
                                        job_ = &group;
                                        group.refuse_cancelling(why_not_cancelled);
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
    const bool is_flushed = order == model::domain_state::flushed;
    job now{.s = session_,
            .here = here_,
            .order = *order_,
            .what = to_text(job_order_),
            .given = {given, session_.node.clock().now(), here_ != nullptr},
            .settled = settled_};
    if (is_flushed) {
        co_await move_on(now);
        co_return;
    }
    if (here_ != nullptr) {
        co_await wait_looked_at();
    }
    if (order == model::domain_state::flush) {
        co_await flush(now);
    } else {
        co_await unflush(now);
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
    return std::make_unique<drain_actor>(s, here_, view_);
}

void drain_subject::report_unready(std::vector<std::string>& reasons) const {
    if (!view_.under_way.empty()) {
        reasons.push_back(fmt::format("{} of this node is under way", view_.under_way));
    }
}

std::vector<std::string> drain_subject::left_here() const {
    return view_.is_flushed && here_ != nullptr ? here_->listed_names() : std::vector<std::string>();
}

void drain_subject::report(std::vector<std::string>& lines) const {
    constexpr std::size_t shown_max = 20;
    auto left = left_here();
    if (left.empty()) {
        return;
    }
    const std::size_t all = left.size();
    left.resize(std::min(all, shown_max));
    lines.push_back(
        fmt::format("flush: this node is `flushed`, and {} virtual machine(s) run here: {}{}; do not switch "
                    "it off",
                    all, join(left, ", "), all > shown_max ? ", ..." : ""));
}

void drain_subject::put_metrics(core::metrics_sheet& sheet) const {
    sheet.gauge("flushed_machines", "Virtual machines that run here although this node is flushed.",
                static_cast<double>(left_here().size()));
}

}  // namespace pvc::domains
