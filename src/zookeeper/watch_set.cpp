#include "pvcnoded/zookeeper/watch_set.hpp"
#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/async/task_group.hpp"

#include <algorithm>

namespace pvc::zookeeper {

using namespace std::chrono_literals;

namespace {
constexpr std::size_t reads_in_flight_max = 64;
constexpr duration read_limit = 10s;
constexpr std::size_t bytes_beside_path = 4;  // the length word of a string on the wire
// Watches cannot be taken back: who comes later and matters more finds so much room.
constexpr std::size_t limit_of_others = watch_budget_bytes - 128UL * 1024;  // of all but rank `first`
constexpr std::size_t looks_in_flight_max = 8;
constexpr duration between_looks = 1s;
// Each key is looked at once in 15 and 60 s: what is left of it is for slow answers and for keys that come meanwhile.
constexpr std::array<std::size_t, 2> looks_of_round{12, 50};

// "/networks/7" of a path below it, or of itself; empty: it is no part of an object.
std::string_view object_of(std::string_view path) {
    const auto second = path.find('/', 1);
    return second == std::string_view::npos ? std::string_view() : path.substr(0, path.find('/', second + 1));
}
}  // namespace

watched::watched(watch_set& set, std::string path, watch_kind kind, async::wakeup& target, watch_rank rank)
    : set_(set), path_(std::move(path)), kind_(kind), target_(target), rank_(rank) {}

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

bool watched::differs(bool present, const node_stat& stat) const {
    if (present != present_ || !present) {
        return present != present_;
    }
    const bool is_data = kind_ == watch_kind::data && stat.mzxid != stat_.mzxid;
    const bool is_list = kind_ == watch_kind::children && stat.pzxid != stat_.pzxid;
    return stat.czxid != stat_.czxid || is_data || is_list;
}

std::size_t watched::bytes() const {
    return path_.size() + bytes_beside_path;
}

watch_set::watch_set(client& session, async::timers& clock) : session_(session), clock_(clock) {
    session_.set_watch_sink(this);
}

watch_set::~watch_set() {
    session_.set_watch_sink(nullptr);
}

std::unique_ptr<watched> watch_set::add(std::string path, watch_kind kind, async::wakeup& target, watch_rank rank) {
    std::unique_ptr<watched> key(new watched(*this, std::move(path), kind, target, rank));
    key->number_ = ++numbers_;
    keys_.emplace(key->path_, key.get());
    count(*key, true);
    mark(*key);
    return key;
}

void watch_set::count(watched& key, bool is_in) {
    const auto by = [&](std::size_t& total, bool counts) {
        total = !counts ? total : is_in ? total + key.bytes() : total - key.bytes();
    };
    by(armed_bytes_, key.armed_);
    by(lacking_bytes_, !key.armed_ && key.rank_ == watch_rank::here);
    if (!key.is_in_rounds()) {
        return;
    }
    if (is_in) {
        rounds_of(key).keys.emplace(key.number_, &key);
        looks_.notify();
    } else {
        rounds_of(key).keys.erase(key.number_);
    }
}

void watch_set::set_rank(watched& key, watch_rank rank) {
    if (key.rank_ == rank) {
        return;
    }
    count(key, false);
    key.rank_ = rank;
    count(key, true);
    if (key.is_in_rounds() && has_room(rank, key.bytes())) {
        mark(key);
    }
}

bool watch_set::has_room(watch_rank rank, std::size_t bytes) const {
    if (rank == watch_rank::first || is_planted(defect::watches_unbounded)) {
        return true;
    }
    const std::size_t wanted = session_.watch_bytes() + arming_bytes_ + bytes;
    const std::size_t kept = rank == watch_rank::here ? 0 : lacking_bytes() + kept_free_;
    return wanted + kept <= limit_of_others;
}

std::size_t watch_set::lacking_bytes() const {
    return std::min(lacking_bytes_, limit_of_others - std::min(limit_of_others, session_.watch_bytes()));
}

void watch_set::refresh(watched& key) {
    mark(key);
}

void watch_set::forget(watched& key) {
    count(key, false);
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
        watched& key = *at->second;
        count(key, false);
        key.armed_ = false;
        count(key, true);
        mark(key);
    }
    if (first != last) {
        mark_neighbours(event.path);
    }
    if (prefix_sink_ && event.path.starts_with(prefix_)) {
        prefix_sink_(event);
    }
}

// Those without a watch: whoever wrote one of an object's keys may have written others with it.
void watch_set::mark_neighbours(std::string_view path) {
    const auto object = object_of(path);
    if (object.empty() || unwatched() == 0 || object == marked_object_) {
        return;  // of thousands of events about one object the first marks all of it
    }
    marked_object_ = object;
    for (auto at = keys_.lower_bound(object); at != keys_.end() && at->first.starts_with(object); ++at) {
        // What is being read anew is answered after the event, and so shows what was written with it.
        const bool is_unread = !at->second->dirty_;
        if (at->second->is_in_rounds() && is_unread && object_of(at->first) == object) {
            mark(*at->second);
        }
    }
}

// What is stored now, with a watch on it if that is asked for. Errors: those of the read; version_conflict (it came
// between two reads).
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
        auto got = co_await session_.children(deadline, path, how);
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
    if (how == watching::no && kind != watch_kind::presence) {
        co_return stored{};
    }
    auto got = co_await session_.exists(deadline, path, how);
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
    const bool is_forgotten = is_planted(defect::forgotten_rearm) && key->known_;
    const bool arms = !is_forgotten && (key->armed_ || has_room(key->rank_, key->bytes()));
    struct arming {
        std::size_t& all;
        std::size_t bytes;
        arming(std::size_t& total, std::size_t more) : all(total), bytes(more) { all += bytes; }
        arming(const arming&) = delete;
        arming& operator=(const arming&) = delete;
        ~arming() { all -= bytes; }
    };
    result<stored> got = failure(errc::unspecified);
    {
        const arming asked(arming_bytes_, arms && !key->armed_ ? key->bytes() : 0);
        got = co_await read_key(key->path_, key->kind_, arms ? watching::yes : watching::no);
    }
    key = current();
    if (key == nullptr || !got) {
        co_return;  // still dirty if it is still wanted: the dispatcher comes back to it
    }
    marked_object_.clear();  // what is read by now may change again
    count(*key, false);
    key->armed_ = arms && (got->present || key->kind_ != watch_kind::removal);
    dirty_by_id_.erase(id);
    dirty_ids_.erase(key);
    key->dirty_ = false;
    const bool is_first = !key->known_;
    const bool is_new = key->take(got->present, got->stat, std::move(got->data), std::move(got->names));
    count(*key, true);
    if (is_new) {
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

watched* watch_set::in_rounds(std::uint64_t number) const {
    for (const auto& one : in_rounds_) {
        if (const auto found = one.keys.find(number); found != one.keys.end()) {
            return found->second;
        }
    }
    return nullptr;
}

async::awaitable<void> watch_set::look(std::uint64_t number) {
    const watched* key = in_rounds(number);
    if (key == nullptr || session_.state().value().now != link::connected) {
        co_return;
    }
    auto got = co_await session_.exists(clock_.now() + read_limit, key->path_);
    watched* now = in_rounds(number);
    if (now == nullptr || now->dirty_ || (!got && got.error().code() != errc::not_found)) {
        co_return;  // what could not be seen has not changed
    }
    if (now->differs(got.has_value(), got ? got->stat : node_stat{})) {
        mark(*now);
        mark_neighbours(now->path_);
    }
}

// The next after the one that was looked at last. Those for which there is room are read anew, with a watch.
void watch_set::add_next(rounds& from, std::size_t count, std::vector<std::uint64_t>& to) {
    std::size_t room = 0;
    for (std::size_t taken = 0; taken < std::min(count, from.keys.size()); ++taken) {
        auto next = from.keys.upper_bound(from.last);
        next = next == from.keys.end() ? from.keys.begin() : next;
        from.last = next->first;
        watched& key = *next->second;
        if (key.dirty_) {
            continue;
        }
        if (has_room(key.rank_, room + key.bytes())) {
            room += key.bytes();
            mark(key);
        } else {
            to.push_back(next->first);
        }
    }
}

async::awaitable<void> watch_set::look_in_rounds() {
    time_point next = clock_.now();
    for (;;) {
        if (unwatched() == 0) {
            co_await looks_.wait(async::wait_note::work("keys without a watch"));
        }
        next = std::max(next + between_looks, clock_.now());
        co_await async::sleep_until(clock_, next, "the next look at keys without a watch");
        std::vector<std::uint64_t> numbers;
        for (std::size_t at = 0; at < in_rounds_.size(); ++at) {
            add_next(in_rounds_[at], in_rounds_[at].keys.size() / looks_of_round[at] + 1, numbers);
        }
        co_await async::for_each_bounded("looks at keys without a watch", looks_in_flight_max, numbers,
                                         [this](std::uint64_t number) { return look(number); });
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
