#include "pvcnoded/zookeeper/lock.hpp"
#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/async/deadline.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pvc::zookeeper {

using namespace std::chrono_literals;

namespace {

constexpr duration release_limit = 2s;
constexpr duration drain_limit = 5s;
constexpr duration reader_patience = 250ms;
constexpr duration reader_gone_limit = 1s;
constexpr duration reaper_request_limit = 5s;
constexpr duration reaper_pause = 250ms;

}  // namespace

// One acquisition: what may exist of it on the server. Going away with something left hands it to the reaper.
struct lock_service::claim {
    claim(lock_service& owner, lock_request request, std::string id)
        : service(owner), what(std::move(request)), guid(std::move(id)) {}
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;
    ~claim() {
        if (may_exist && !is_planted(defect::lock_left_behind)) {
            service.to_reap_.push_back({what.path, guid});
            service.reaper_work_.notify();
        }
    }

    lock_service& service;
    lock_request what;
    std::string guid;
    bool may_exist = false;            // a child of ours may be there
    std::string child;                 // its full path once known
    boot_time proof{};                 // sending of the last request whose answer showed the child
    std::vector<std::string> ignored;  // contenders that no session owns (restored from a backup)
};

bool held_lock::valid(const guard_place& where) const {
    return is_left_out(where) ||
           (!lost_ && service_.session_.is_connected() && service_.clock_.boot_now() - proof_ <= guard_validity);
}

void held_lock::add_check(transaction& what, const guard_place& where) const {
    if (!is_planted(defect::lock_without_check)) {
        what.check(child_, any_version, where);
    }
}

async::awaitable<result<void>> held_lock::verify(time_point deadline, guard_place where) {
    if (is_left_out(where)) {
        co_return result<void>();
    }
    if (lost_) {
        co_return failure(errc::refused, child_, "the lock is gone");
    }
    auto seen = co_await service_.session_.exists(deadline, child_);
    if (seen) {
        proof_ = seen->sent;
        co_return result<void>();
    }
    if (seen.error().code() == errc::not_found || seen.error().code() == errc::session_lost) {
        lost_ = true;
        co_return failure(errc::refused, child_, "the lock is gone");
    }
    co_return seen.error();
}

lock_service::lock_service(client& session, watch_set& watches, async::timers& clock, random_source random,
                           std::string node, int pid, logger& log)
    : session_(session),
      watches_(watches),
      clock_(clock),
      random_(random),
      node_(std::move(node)),
      pid_(pid),
      log_(log) {}

async::awaitable<result<void>> lock_service::ensure_key(claim& mine) {
    const lock_request& what = mine.what;
    auto there = co_await session_.exists(what.deadline, what.path);
    if (there) {
        co_return result<void>();
    }
    if (there.error().code() != errc::not_found || !what.create_ancestors) {
        co_return there.error();
    }
    for (std::size_t at = what.path.find('/', 1);; at = what.path.find('/', at + 1)) {
        auto created = co_await session_.create(what.deadline, what.path.substr(0, at), "");
        if (!created && created.error().code() != errc::already_exists) {
            co_return created.error();
        }
        if (at == std::string::npos) {
            co_return result<void>();
        }
    }
}

async::awaitable<void> lock_service::wait_gone(std::string path, time_point deadline) {
    async::wakeup changed;
    auto key = watches_.add(std::move(path), watch_kind::removal, changed);
    while (!key->known() || key->present()) {
        const bool notified = co_await changed.wait_until(clock_, deadline, "a reader to pass");
        if (!notified) {
            co_return;
        }
    }
}

async::awaitable<result<void>> lock_service::drain_readers(claim& mine) {
    if (mine.what.drain == nullptr) {
        co_return result<void>();
    }
    const time_point limit = std::min(mine.what.deadline, clock_.now() + drain_limit);
    const auto readers = std::exchange(mine.what.drain->readers, {});
    for (const auto& reader : readers) {
        co_await wait_gone(reader, limit);
    }
    co_return result<void>();
}

async::awaitable<result<void>> lock_service::create_child(claim& mine) {
    const lock_request& what = mine.what;
    const std::string prefix = what.path + '/' + model::lock_child_prefix(mine.guid, what.kind);
    mine.may_exist = true;
    auto created =
        co_await session_.create(what.deadline, prefix, model::lock_data(node_, pid_, what.task, what.reason),
                                 create_mode::ephemeral_sequential);
    if (created) {
        mine.child = created->path;
        co_return result<void>();
    }
    if (created.error().code() != errc::outcome_unknown || is_planted(defect::unknown_create_forgotten)) {
        mine.may_exist = false;  // refused or never sent
        co_return created.error();
    }
    // It may be there. A server that lags behind would hide it, and it would then block us and everybody else.
    auto connected = co_await session_.wait_connected(what.deadline);
    if (!connected) {
        co_return connected.error();
    }
    auto caught_up = co_await session_.sync(what.deadline, what.path);
    if (!caught_up) {
        co_return caught_up.error();
    }
    co_return result<void>();
}

// True: look again. False: the predecessor is nobody's and is to be ignored.
async::awaitable<result<bool>> lock_service::wait_for_predecessor(claim& mine, const model::lock_child& predecessor) {
    const lock_request& what = mine.what;
    const bool is_reader = what.kind == model::lock_kind::write && predecessor.tag == model::lock_tag::rlock;
    const time_point patience = is_reader ? std::min(what.deadline, clock_.now() + reader_patience) : what.deadline;
    async::wakeup changed;
    const async::latest<session_state>::observer follow(session_.state(), changed);
    const std::string path = what.path + '/' + predecessor.name;
    auto key = watches_.add(path, watch_kind::removal, changed);
    for (;;) {
        if (session_.state().value().now == link::lost) {
            co_return failure(errc::session_lost, what.path, session_.state().value().reason);
        }
        if (key->known() && !key->present()) {
            co_return true;
        }
        if (key->known() && key->stat().ephemeral_owner == 0) {
            log_.warning(message::lock_orphan, "lock on " + what.path + ": contender " + predecessor.name +
                                                   " belongs to no session (restored from a backup?), ignoring it");
            co_return false;
        }
        const bool notified = co_await changed.wait_until(clock_, patience, "the lock's predecessor");
        if (notified) {
            continue;
        }
        if (!is_reader || clock_.now() >= what.deadline) {
            co_return failure(errc::timed_out, what.path, "the lock is held by " + predecessor.name);
        }
        // A reader of the reference may be waiting for us although we queued behind it: step aside until it has gone.
        auto removed = co_await session_.remove(what.deadline, mine.child, any_version);
        if (!removed && removed.error().code() == errc::outcome_unknown) {
            // Still there or not: the list tells, once the server has caught up.
            auto caught_up = co_await session_.sync(what.deadline, what.path);
            if (!caught_up) {
                co_return caught_up.error();
            }
            co_return true;
        }
        if (!removed && removed.error().code() != errc::not_found) {
            co_return removed.error();
        }
        mine.child.clear();
        mine.may_exist = false;
        co_await wait_gone(path, std::min(what.deadline, clock_.now() + reader_gone_limit));
        if (clock_.now() >= what.deadline) {
            co_return failure(errc::timed_out, what.path, "the lock is held by " + predecessor.name);
        }
        co_return true;
    }
}

async::awaitable<result<void>> lock_service::acquire(claim& mine) {
    const lock_request& what = mine.what;
    auto ready = co_await ensure_key(mine);
    if (!ready) {
        co_return ready.error();
    }
    auto drained = co_await drain_readers(mine);
    ignore(drained, "bounded courtesy to readers of the reference");
    for (;;) {
        if (clock_.now() >= what.deadline) {
            co_return failure(errc::timed_out, what.path, "the lock could not be acquired in time");
        }
        if (mine.child.empty()) {
            auto created = co_await create_child(mine);
            if (!created) {
                co_return created.error();
            }
        }
        auto listed = co_await session_.children(what.deadline, what.path);
        if (!listed) {
            co_return listed.error();
        }
        std::erase_if(listed->names, [&mine](const std::string& name) {
            return std::ranges::find(mine.ignored, name) != mine.ignored.end();
        });
        const auto position = model::locate(listed->names, mine.guid, what.kind);
        for (const auto& surplus : position.surplus) {
            auto removed = co_await session_.remove(what.deadline, what.path + '/' + surplus, any_version);
            ignore(removed, "the reaper sweeps the guid if anything is left");
        }
        if (!position.own) {
            mine.child.clear();
            mine.may_exist = false;
            continue;
        }
        mine.child = what.path + '/' + position.own->name;
        if (position.acquired()) {
            mine.proof = listed->sent;
            co_return result<void>();
        }
        const model::lock_child predecessor = *position.predecessor;
        auto again = co_await wait_for_predecessor(mine, predecessor);
        if (!again) {
            co_return again.error();
        }
        if (!*again) {
            mine.ignored.push_back(predecessor.name);
        }
    }
}

async::awaitable<result<void>> lock_service::hold(claim& mine,
                                                  std::function<async::awaitable<result<void>>(held_lock&)>& body) {
    auto acquired = co_await acquire(mine);
    if (!acquired) {
        co_return acquired.error();
    }
    auto executor = co_await async::asio::this_coro::executor;
    async::task* self = async::task_of(executor);
    if (self != nullptr) {
        self->hold_lock(mine.child);
    }
    held_lock lock(*this, mine.child, mine.proof);
    std::exception_ptr error;
    result<void> outcome;
    try {
        outcome = co_await body(lock);
    } catch (...) {
        error = std::current_exception();
    }
    if (self != nullptr) {
        self->drop_lock(mine.child);
    }
    if (error) {
        std::rethrow_exception(error);
    }
    co_return outcome;
}

async::awaitable<void> lock_service::release(claim& mine) {
    if (!mine.may_exist || !session_.is_connected()) {
        if (session_.state().value().now == link::lost) {
            mine.may_exist = false;  // ephemeral: it ends with the session
        }
        co_return;  // what may be left goes to the reaper with the claim
    }
    if (mine.child.empty()) {
        // Called off while the answer to its creation was out: whoever goes on has no lock that he does not know of.
        const bool is_gone = co_await reap({mine.what.path, mine.guid});
        mine.may_exist = !is_gone;
        co_return;
    }
    const time_point deadline = clock_.now() + release_limit;
    if (mine.what.drain != nullptr) {
        auto listed = co_await session_.children(deadline, mine.what.path);
        if (listed) {
            for (const auto& reader : model::contenders(listed->names, model::lock_tag::rlock)) {
                mine.what.drain->readers.push_back(mine.what.path + '/' + reader.name);
            }
        }
    }
    auto removed = co_await session_.remove(deadline, mine.child, any_version);
    if (removed || removed.error().code() == errc::not_found) {
        mine.may_exist = false;
    }
}

async::awaitable<result<void>> lock_service::with_lock(lock_request what,
                                                       std::function<async::awaitable<result<void>>(held_lock&)> body) {
    claim mine(*this, std::move(what), make_guid(random_));
    if (mine.what.guid != nullptr) {
        *mine.what.guid = mine.guid;
    }
    result<void> outcome;
    auto work = [this, &mine, &body, &outcome]() -> async::awaitable<void> { outcome = co_await hold(mine, body); };
    co_await async::with_clean_up(clock_, release_limit + 1s, work(), [this, &mine] { return release(mine); });
    co_return outcome;
}

async::awaitable<bool> lock_service::reap(const reap_entry& entry) {
    const time_point deadline = clock_.now() + reaper_request_limit;
    auto caught_up = co_await session_.sync(deadline, entry.path);
    if (!caught_up && caught_up.error().code() != errc::not_found) {
        co_return false;
    }
    auto listed = co_await session_.children(deadline, entry.path);
    if (!listed) {
        co_return listed.error().code() == errc::not_found;
    }
    bool all_gone = true;
    for (const auto& name : listed->names) {
        if (!std::string_view(name).starts_with(entry.guid)) {
            continue;
        }
        auto removed = co_await session_.remove(deadline, entry.path + '/' + name, any_version);
        all_gone = all_gone && (removed || removed.error().code() == errc::not_found);
    }
    co_return all_gone;
}

async::awaitable<void> lock_service::run() {
    const async::latest<session_state>::observer follow(session_.state(), reaper_work_);
    for (;;) {
        const link now = session_.state().value().now;
        if (now == link::lost) {
            co_return;
        }
        if (now != link::connected || to_reap_.empty()) {
            co_await reaper_work_.wait(async::wait_note::work("lock children to reap"));
            continue;
        }
        const reap_entry entry = to_reap_.front();
        const bool done = co_await reap(entry);
        if (done) {
            to_reap_.pop_front();
        } else {
            co_await async::sleep_for(clock_, reaper_pause, "another attempt to delete a lock child");
        }
    }
}

}  // namespace pvc::zookeeper
