#include "pvcnoded/zookeeper/watch_set.hpp"
#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <algorithm>

namespace pvc::zookeeper {

using namespace std::chrono_literals;

namespace {
constexpr std::size_t reads_in_flight_max = 64;
constexpr duration read_limit = 10s;
constexpr std::size_t bytes_beside_path = 4;  // the length word of a string on the wire
}  // namespace

watched::watched(watch_set& set, std::string path, watch_kind kind, async::wakeup& target)
    : set_(set), path_(std::move(path)), kind_(kind), target_(target) {}

watched::~watched() {
    set_.forget(*this);
}

bool watched::take(bool present, const node_stat& stat, std::string data, std::vector<std::string> names) {
    const bool same = known_ && present == present_ &&
                      (!present || (stat.czxid == stat_.czxid &&
                                    (kind_ == watch_kind::presence || kind_ == watch_kind::removal ||
                                     (kind_ == watch_kind::data ? stat.mzxid == stat_.mzxid : names == names_))));
    stat_ = stat;
    if (same) {
        return false;
    }
    known_ = true;
    present_ = present;
    data_ = std::move(data);
    names_ = std::move(names);
    ++changes_;
    return true;
}

watch_set::watch_set(client& session, async::timers& clock) : session_(session), clock_(clock) {
    session_.set_watch_sink(this);
}

watch_set::~watch_set() {
    session_.set_watch_sink(nullptr);
}

std::unique_ptr<watched> watch_set::add(std::string path, watch_kind kind, async::wakeup& target) {
    std::unique_ptr<watched> key(new watched(*this, std::move(path), kind, target));
    keys_.emplace(key->path_, key.get());
    armed_bytes_ += key->path_.size() + bytes_beside_path;
    mark(*key);
    return key;
}

void watch_set::refresh(watched& key) {
    mark(key);
}

void watch_set::forget(watched& key) {
    armed_bytes_ -= key.path_.size() + bytes_beside_path;
    const auto [first, last] = keys_.equal_range(key.path_);
    const auto found = std::find_if(first, last, [&key](const auto& entry) { return entry.second == &key; });
    if (found != last) {
        keys_.erase(found);
    }
    const auto dirty = dirty_ids_.find(&key);
    if (dirty != dirty_ids_.end()) {
        dirty_by_id_.erase(dirty->second);
        dirty_ids_.erase(dirty);
    }
    settled_.notify();
}

void watch_set::mark(watched& key) {
    // A new id for every mark: a read that was sent before this mark must not clear it.
    const auto old = dirty_ids_.find(&key);
    if (old != dirty_ids_.end()) {
        dirty_by_id_.erase(old->second);
    }
    const std::uint64_t id = ++next_id_;
    dirty_ids_[&key] = id;
    dirty_by_id_[id] = &key;
    key.dirty_ = true;
    work_.notify();
}

void watch_set::mark_all() {
    for (const auto& [path, key] : keys_) {
        mark(*key);
    }
}

void watch_set::on_watch_event(const watch_event& event) {
    const auto [first, last] = keys_.equal_range(event.path);
    for (auto at = first; at != last; ++at) {
        mark(*at->second);
    }
    if (prefix_sink_ && event.path.starts_with(prefix_)) {
        prefix_sink_(event);
    }
}

// What is stored now, with a watch on it. Errors: those of the read; version_conflict (it came between two reads).
async::awaitable<result<watch_set::stored>> watch_set::read_key(std::string path, watch_kind kind, watching how) {
    const time_point deadline = clock_.now() + read_limit;
    std::optional<failure> missing;
    if (kind == watch_kind::data || kind == watch_kind::removal) {
        auto got = co_await session_.get(deadline, path, how);
        if (got) {
            co_return stored{true, got->stat, std::move(got->data), {}};
        }
        missing = got.error();
    } else if (kind == watch_kind::children) {
        auto got = co_await session_.children(deadline, path, watching::yes);
        if (got) {
            co_return stored{true, got->stat, {}, std::move(got->names)};
        }
        missing = got.error();
    }
    if (missing && missing->code() != errc::not_found) {
        co_return *missing;
    }
    if (kind == watch_kind::removal) {
        co_return stored{};  // an exists watch would stay for as long as the session lives
    }
    auto got = co_await session_.exists(deadline, path, watching::yes);
    if (got && kind == watch_kind::presence) {
        co_return stored{true, got->stat, {}, {}};
    }
    if (got) {
        co_return failure(errc::version_conflict, path, "appeared between two reads");  // read it again
    }
    co_return got.error().code() == errc::not_found ? result<stored>(stored{}) : result<stored>(got.error());
}

async::awaitable<void> watch_set::read(std::uint64_t id) {
    // The key may be forgotten, or marked again, during any await: it is found anew by the id of this mark.
    const auto current = [this, id]() -> watched* {
        const auto at = dirty_by_id_.find(id);
        return at == dirty_by_id_.end() ? nullptr : at->second;
    };
    watched* key = current();
    if (key == nullptr) {
        co_return;
    }
    const bool arms = !is_planted(defect::forgotten_rearm) || !key->known_;
    auto got = co_await read_key(key->path_, key->kind_, arms ? watching::yes : watching::no);
    key = current();
    if (key == nullptr || !got) {
        co_return;  // still dirty if it is still wanted: the dispatcher comes back to it
    }
    dirty_by_id_.erase(id);
    dirty_ids_.erase(key);
    key->dirty_ = false;
    const bool is_first = !key->known_;
    if (key->take(got->present, got->stat, std::move(got->data), std::move(got->names))) {
        key->target_.notify();
    }
    if (is_first) {
        settled_.notify();
    }
}

async::awaitable<void> watch_set::refresh_batch() {
    std::vector<std::uint64_t> batch;
    for (const auto& [id, key] : dirty_by_id_) {
        batch.push_back(id);
        if (batch.size() == reads_in_flight_max) {
            break;
        }
    }
    if (batch.size() == 1) {
        co_await read(batch.front());
        co_return;
    }
    co_await async::with_task_group("reads", [&](async::task_group& group) -> async::awaitable<void> {
        for (const std::uint64_t id : batch) {
            group.spawn("read", [this, id] { return read(id); });
        }
        co_return;
    });
}

async::awaitable<void> watch_set::run() {
    const async::latest<session_state>::observer follow(session_.state(), work_);
    std::uint64_t connections = session_.state().value().connections;
    for (;;) {
        const session_state& now = session_.state().value();
        if (now.now == link::lost) {
            settled_.notify();
            co_return;
        }
        if (now.now == link::connected && now.connections != connections) {
            connections = now.connections;
            if (is_planted(defect::forgotten_reread)) {
                dirty_by_id_.clear();
                dirty_ids_.clear();
                continue;
            }
            mark_all();
        }
        if (now.now != link::connected || dirty_by_id_.empty()) {
            co_await work_.wait(async::wait_note::work("watch events"));
            continue;
        }
        const std::uint64_t first = dirty_by_id_.begin()->first;
        co_await refresh_batch();
        if (!dirty_by_id_.empty() && dirty_by_id_.begin()->first == first) {
            // It could not be read although we are connected (a deadline, a key that flickers): not in a tight loop.
            co_await async::sleep_for(clock_, 100ms, "another attempt to read a watched key");
        }
    }
}

async::awaitable<result<void>> watch_set::settle(time_point deadline) {
    for (;;) {
        if (session_.state().value().now == link::lost) {
            co_return failure(errc::session_lost, {}, session_.state().value().reason);
        }
        const bool all_known = std::ranges::all_of(keys_, [](const auto& entry) { return entry.second->known_; });
        if (all_known) {
            co_return result<void>();
        }
        const bool notified = co_await settled_.wait_until(clock_, deadline, "the first read of all watched keys");
        if (!notified) {
            co_return failure(errc::timed_out, {}, "watched keys could not be read");
        }
    }
}

}  // namespace pvc::zookeeper
