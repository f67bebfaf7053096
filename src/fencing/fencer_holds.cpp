// Who has the turn (README ruling 39), and the fence lock for tries at what recoveries have left (ruling 38).
#include "fencer_part.hpp"

#include "pvcnoded/async/child.hpp"

#include <algorithm>

namespace pvc::fencing {

struct fencer_part::tending final : fence_hold {
    tending(fencer_part& owner, std::string of, std::shared_ptr<fence_ledger> record)
        : part(owner), node(std::move(of)), ledger(std::move(record)), wish(owner.lock_) {
        part.tended_.push_back(this);
    }
    ~tending() override {
        std::erase(part.tended_, this);
        part.look_again();
    }
    tending(const tending&) = delete;
    tending& operator=(const tending&) = delete;

    [[nodiscard]] bool holds() const override {
        return part.lock_.held() != nullptr && part.session_.zk.state().value().now != zookeeper::link::lost;
    }
    [[nodiscard]] std::string child() const override {
        return part.lock_.held() != nullptr ? part.lock_.held()->child() : std::string();
    }
    void add_check(zookeeper::transaction& what) const override {
        if (const auto* held = part.lock_.held()) {
            held->add_check(what);
        } else {
            what.check(std::string(model::key_path::fence_lock) + "/lost", zookeeper::any_version);
        }
    }
    async::awaitable<bool> record(policy::fence_entry::any entry) override {
        co_return co_await ledger->record(std::move(entry));
    }
    void note(policy::fence_entry::any entry) override { ledger->note(entry); }
    void name_machine(const uuid& id, std::string name) override { ledger->name_machine(id, std::move(name)); }

    fencer_part& part;
    std::string node;
    std::shared_ptr<fence_ledger> ledger;
    lock_keeper::wish wish;
};

void fencer_part::give_turn() {
    std::vector<policy::fence_in_line> all;
    for (const auto& [node, one] : runs_) {
        const auto board = boards_.known_of(node);
        all.push_back({.node = node,
                       .wants_turn = one->machine().wants_turn,
                       .has_turn = turn_ == node,
                       .has_board_answered = board.power != policy::board_power::unknown && !one->is_board_unheard()});
    }
    for (const auto* one : tended_) {
        all.push_back({.node = one->node, .wants_turn = true, .has_turn = turn_ == one->node});
    }
    auto next = policy::turn_of(all);
    if (next != turn_) {
        turn_ = std::move(next);
        changes_.set(changes_.value() + 1);
    }
}

// A fence never waits for tries at leftovers.
bool fencer_part::is_turn_wanted() const {
    return std::ranges::any_of(runs_, [](const auto& one) { return one.second->machine().wants_turn; });
}

async::awaitable<result<void>> fencer_part::with_hold(std::string dead_node,
                                                      std::function<async::awaitable<result<void>>(fence_hold&)> body) {
    if (const auto run = runs_.find(dead_node); run != runs_.end() && !run->second->machine().is_let_go) {
        co_return failure(errc::refused, dead_node, "the node is being fenced or recovered here");
    }
    const auto others = session_.others.all();
    const auto found = std::ranges::find(others, dead_node, &core::other_node::name);
    const auto closer = closer_.find(dead_node);
    if (found == others.end() || !found->heartbeat_id || closer == closer_.end()) {
        co_return failure(errc::refused, dead_node, "the node is not down");
    }
    const std::int64_t mark_id = found->daemon->stat().mzxid;
    const std::int64_t heartbeat_id = *found->heartbeat_id;
    if (lock_.held() == nullptr && !may_queue_) {
        co_return failure(errc::timed_out, dead_node, "another coordinator has the fence lock");
    }
    // One record for all tries of a session: they would push out those of fences.
    auto& ledger = tries_[dead_node];
    if (!ledger || ledger->now().mark_id != mark_id || ledger->now().keepalive_id != heartbeat_id ||
        !ledger->trouble().empty()) {
        ledger = owner_.ledgers_.begin(dead_node);
    }
    if (const auto proof =
            closer->second.proof->present() ? model::parse_fence_proof(closer->second.proof->data()) : std::nullopt) {
        ledger->follow(proof->record);
    }
    tending hold(*this, dead_node, ledger);
    give_turn();
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer follow(changes_, changed);
    const time_point deadline = session_.limit(policy::fence_lock_limit(node_.times.keepalive));
    while (lock_.held() == nullptr || turn_ != dead_node) {
        const bool is_notified = co_await changed.wait_until(node_.clock(), deadline, "the fence lock, for leftovers");
        if (!is_notified) {
            co_return failure(errc::timed_out, dead_node, "somebody else has the fence lock, or the turn");
        }
    }
    const bool is_recorded = co_await hold.record(
        policy::fence_entry::opened{dead_node, policy::fence_origin::recovering, heartbeat_id, mark_id});
    if (!is_recorded) {
        co_return failure(errc::io, dead_node, ledger->trouble());
    }
    result<void> out = failure(errc::refused, dead_node, "the fence lock is lost");
    co_await async::with_task_group(
        "leftovers of " + dead_node, [&](async::task_group& scope) -> async::awaitable<void> {
            async::child<result<void>> work(scope, "recovery", [&] { return body(hold); }, changed);
            while (!work.has_ended() && hold.holds() && !is_turn_wanted()) {
                co_await changed.wait(async::wait_note::work("a try at leftovers"));
            }
            if (work.has_ended()) {
                out = work.value();
            }
            scope.cancel();
        });
    hold.note(policy::fence_entry::outcome{out ? policy::fence_end::done : policy::fence_end::abandoned,
                                           out ? std::string() : out.error().text()});
    co_return out;
}

}  // namespace pvc::fencing
