// The player's nodes: what their watch sets have published when nothing moves any more, and how they share locks.
#include "contract/zookeeper/differential_player.hpp"

namespace pvc::contract::differential {

namespace {

constexpr duration in_vain = 80ms;

bool shows(const watched& key, const zookeeper::reply& truth, watch_kind kind) {
    if (!key.known() || key.present() != static_cast<bool>(truth.outcome)) {
        return false;
    }
    if (!key.present()) {
        return true;
    }
    const bool is_same_node = key.stat().czxid == truth.stat.czxid;
    switch (kind) {
        case watch_kind::data: return is_same_node && key.data() == truth.data && key.stat().mzxid == truth.stat.mzxid;
        case watch_kind::children: return is_same_node && key.names() == truth.names;
        case watch_kind::presence:
        case watch_kind::removal: return true;
    }
    return false;
}

}  // namespace

awaitable<void> player::look_at_watched() {
    for (const auto& one : watched_) {
        co_await look_at(one);
    }
}

// Events coalesce as they happen to arrive; in the end every key shows what is there.
awaitable<void> player::look_at(const watched_key& one) {
    request what;
    what.what = one.kind == watch_kind::data       ? request::kind::get
                : one.kind == watch_kind::children ? request::kind::children
                                                   : request::kind::exists;
    what.path = one.key->path();
    auto truth = co_await in_words(zk(0), what, soon());
    if (one.kind == watch_kind::removal) {
        // For a name that never comes back; ours do, and whether it was seen missing meanwhile is a matter of time.
        note(0, what.path + (one.key->known() ? " is known" : " is not known"));
        co_return;
    }
    const bool is_shown = co_await eventually([&one, &truth] { return shows(*one.key, truth, one.kind); });
    note(0, what.path + (is_shown ? " is shown" : " is not shown"));
    note_answer(0, what, truth, false);
}

// The first node takes the lock; the second tries in vain, then waits until the first gives it back.
struct player::contention {
    std::string path;
    lock_kind first = lock_kind::exclusive;
    lock_kind second = lock_kind::exclusive;
    async::wakeup give_back;
    bool is_held = false;
    std::string first_code;
    std::string second_code;
    std::string order;
};

awaitable<void> player::contend(const step& what) {
    contention all;
    all.path = resolved(what.path);
    all.first = what.first;
    all.second = what.second;
    co_await with_task_group("contenders", [this, &all](task_group& group) { return contend(all, group); });
    const bool reaped = co_await eventually(
        [this] { return sessions_[2]->locks->reaper_backlog() == 0 && sessions_[3]->locks->reaper_backlog() == 0; });
    note(2, "first " + all.first_code + (reaped ? "" : ", not reaped"));
    note(3, "then " + all.second_code + ", order " + all.order);
    ++out_.seen["lock " + all.first_code];
    ++out_.seen["lock " + all.second_code];
}

awaitable<void> player::contend(contention& all, task_group& group) {
    group.spawn("first", [this, &all]() -> awaitable<void> {
        auto outcome = co_await take(2, all.first, all.path, 10s, [&all](held_lock&) -> awaitable<result<void>> {
            all.is_held = true;
            co_await all.give_back.wait(async::wait_note::work("the other contender"));
            all.order += '1';
            co_return result<void>();
        });
        all.first_code = code_of(outcome);
    });
    auto held = co_await eventually([&all] { return all.is_held || !all.first_code.empty(); });
    require(held, "a lock or a refusal");
    // A reader holds up nobody but a writer.
    const bool waits = all.is_held && (all.first != lock_kind::read || all.second == lock_kind::write);
    if (all.is_held) {
        auto early = co_await take(3, all.second, all.path, waits ? in_vain : 10s,
                                   [](held_lock&) -> awaitable<result<void>> { co_return result<void>(); });
        note(3, "meanwhile " + code_of(early));
        ++out_.seen["lock " + code_of(early)];
    }
    group.spawn("second", [this, &all]() -> awaitable<void> {
        auto outcome = co_await take(3, all.second, all.path, 10s, [&all](held_lock&) -> awaitable<result<void>> {
            all.order += '2';
            co_return result<void>();
        });
        all.second_code = code_of(outcome);
    });
    const time_point end = soon();
    for (bool is_ready = false; !is_ready && all.second_code.empty() && world_.clock().now() < end;) {
        if (waits) {
            is_ready = co_await queued(all.path, 2);
        } else {
            co_await async::sleep_for(world_.clock(), 1ms, "the second contender");
        }
    }
    all.give_back.notify();
}

awaitable<bool> player::queued(const std::string& path, std::size_t count) {
    auto there = co_await zk(0).children(soon(), path);
    const auto contenders =
        there ? std::ranges::count_if(there->names,
                                      [](const std::string& name) { return model::parse_lock_child(name).has_value(); })
              : 0;
    co_return static_cast<std::size_t>(contenders) >= count;
}

awaitable<result<void>> player::take(std::size_t node, lock_kind kind, const std::string& path, duration limit,
                                     std::function<awaitable<result<void>>(held_lock&)> body) {
    lock_request what;
    what.path = path;
    what.kind = kind;
    what.deadline = world_.clock().now() + limit;
    what.task = "differential";
    what.reason = "a random step";
    auto outcome = co_await sessions_[node]->locks->with_lock(std::move(what), std::move(body));
    co_return outcome;
}

}  // namespace pvc::contract::differential
