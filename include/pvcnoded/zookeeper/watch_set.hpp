// The watch set: what is watched, as a set of keys with their newest values, not as a stream per key.
//
// An event only marks a key dirty; one task reads it again and re-arms the watch in the same request, so nothing is
// lost and changes coalesce. A key that is missing is watched for its creation; a children watch whose parent vanishes
// comes back with the parent. After a reconnect everything is read again; the owner is told only of what differs (data:
// mzxid and czxid, so delete-and-recreate counts; children: the names and czxid).
//
// All watches of a session have one budget (watch_budget_bytes). Keys of rank `first` are always watched, others as
// long as there is room; those without a watch are looked at in rounds (look_in_rounds()). Where one of those has
// changed, or a watched one fires, all without a watch below the same object ("/networks/7") are read again, so that
// what one transaction wrote is seen as a whole. Specification: runtime-design.md 2.5, zookeeper-schema.md 5.
#pragma once

#include "pvcnoded/zookeeper/client.hpp"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::zookeeper {

enum class watch_kind : std::uint8_t {
    data,
    presence,  // whether it exists, not what it holds
    removal,   // the same for a name that never comes back (a lock child): once it is gone nothing is watched any more
    children,
};

// Who gets a watch before whom.
enum class watch_rank : std::uint8_t {
    first,      // always watched: few, and what decisions hang on
    here,       // of what runs on this node; without a watch looked at every 15 s
    elsewhere,  // without a watch looked at every 60 s
};

class watch_set;

// One watched key. Owned by whoever is interested; destroying it ends the interest.
class watched {
public:
    watched(const watched&) = delete;
    watched& operator=(const watched&) = delete;
    ~watched();

    // False until the first answer.
    [[nodiscard]] bool known() const { return known_; }
    // Whether the key exists; false as long as nothing is known.
    [[nodiscard]] bool present() const { return present_; }
    // It has changed, or may have, and is being read again.
    [[nodiscard]] bool is_outdated() const { return dirty_; }
    [[nodiscard]] const std::string& data() const { return data_; }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] const node_stat& stat() const { return stat_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    // Counts the changes that were published, the first answer included.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }

private:
    friend class watch_set;
    watched(watch_set& set, std::string path, watch_kind kind, async::wakeup& target, watch_rank rank);
    bool take(bool present, const node_stat& stat, std::string data, std::vector<std::string> names);
    // Whether a look that found this shows something new.
    [[nodiscard]] bool differs(bool present, const node_stat& stat) const;
    [[nodiscard]] bool is_in_rounds() const { return known_ && !armed_ && rank_ != watch_rank::first; }
    [[nodiscard]] std::size_t bytes() const;

    watch_set& set_;
    std::string path_;
    watch_kind kind_;
    async::wakeup& target_;
    watch_rank rank_;
    std::uint64_t number_ = 0;
    bool armed_ = false;  // its watch is set
    bool known_ = false;
    bool present_ = false;
    bool dirty_ = false;
    std::string data_;
    std::vector<std::string> names_;
    node_stat stat_;
    std::uint64_t changes_ = 0;
};

class watch_set final : public watch_sink {
public:
    // Registers itself as the client's watch sink. Must outlive every `watched`.
    watch_set(client& session, async::timers& clock);
    ~watch_set() override;

    // Starts to watch. `target` is notified at every published change, the first answer included; it must outlive the
    // returned object.
    [[nodiscard]] std::unique_ptr<watched> add(std::string path, watch_kind kind, async::wakeup& target,
                                               watch_rank rank = watch_rank::first);
    // A watch that is set stays, whatever the rank is by now: it cannot be taken back.
    void set_rank(watched& key, watch_rank rank);
    // Marks a key for reading again although no event came.
    void refresh(watched& key);

    // The dispatcher: a child of the session scope. Ends when the session is lost or it is cancelled.
    async::awaitable<void> run();
    // Looks at the keys without a watch, each once within the time of its rank, and gives watches to those for which
    // there is room again. For whoever adds keys of other ranks than `first`: a child of the session scope, until it is
    // cancelled.
    async::awaitable<void> look_in_rounds();

    // Whether so many bytes more may be watched.
    [[nodiscard]] bool has_room(watch_rank rank, std::size_t bytes) const;
    // What keys of rank `here` that have no watch (yet) may still take: kept free by all that is less important.
    [[nodiscard]] std::size_t lacking_bytes() const;
    // So much more is left free by keys of rank `elsewhere`: for objects that are watched by a prefix sink.
    void keep_free(std::size_t bytes) { kept_free_ = bytes; }
    // How many keys are looked at in rounds.
    [[nodiscard]] std::size_t unwatched() const { return in_rounds_[0].keys.size() + in_rounds_[1].keys.size(); }

    // Suspends until every key added so far is known. Errors: timed_out, session_lost.
    async::awaitable<result<void>> settle(time_point deadline);

    // Who hears of every event below a prefix as well, beside the keys of this set: for objects in such numbers that a
    // `watched` for each would be too much, which read and re-arm by themselves. One prefix at a time; empty: nobody.
    void set_prefix_sink(std::string_view prefix, std::function<void(const watch_event&)> sink) {
        prefix_ = prefix;
        prefix_sink_ = std::move(sink);
    }

    void on_watch_event(const watch_event& event) override;
    // Bytes of the watches of these keys in the packet of a reconnect.
    [[nodiscard]] std::size_t armed_bytes() const { return armed_bytes_; }
    [[nodiscard]] std::size_t size() const { return keys_.size(); }

private:
    friend class watched;
    void mark(watched& key);
    void mark_all();
    void forget(watched& key);
    // Takes a key out of what is counted before it changes, and in again.
    void count(watched& key, bool is_in);
    void mark_neighbours(std::string_view path);
    struct rounds {
        std::map<std::uint64_t, watched*> keys{};  // by number
        std::uint64_t last = 0;                    // that was looked at
    };
    [[nodiscard]] rounds& rounds_of(const watched& key) { return in_rounds_[key.rank_ == watch_rank::here ? 0 : 1]; }
    void add_next(rounds& from, std::size_t count, std::vector<std::uint64_t>& to);
    [[nodiscard]] watched* in_rounds(std::uint64_t number) const;
    async::awaitable<void> look(std::uint64_t number);
    async::awaitable<void> refresh_batch();
    struct stored {
        bool present = false;
        node_stat stat{};
        std::string data{};
        std::vector<std::string> names{};
    };
    async::awaitable<result<stored>> read_key(std::string path, watch_kind kind, watching how);
    async::awaitable<void> read(std::uint64_t id);

    client& session_;
    async::timers& clock_;
    std::multimap<std::string, watched*, std::less<>> keys_;
    std::map<std::uint64_t, watched*> dirty_by_id_;
    std::map<const watched*, std::uint64_t> dirty_ids_;
    std::uint64_t next_id_ = 0;
    async::wakeup work_;
    async::wakeup settled_;
    std::size_t armed_bytes_ = 0;
    std::size_t lacking_bytes_ = 0;
    std::size_t arming_bytes_ = 0;  // asked for, not answered yet
    std::size_t kept_free_ = 0;
    std::uint64_t numbers_ = 0;
    std::array<rounds, 2> in_rounds_;  // of rank `here`, `elsewhere`
    async::wakeup looks_;
    std::string marked_object_;  // whose keys without a watch are all to be read again, and none was read since
    std::string prefix_;
    std::function<void(const watch_event&)> prefix_sink_;
};

}  // namespace pvc::zookeeper
