// The rows of all domains, kept in step with ZooKeeper: children of /domains, and for each the consistent view of
// `state`, `node` and, where it matters, `lastnode`.
//
// `state` and `node` are watched as long as the watch budget lasts. Of a domain of another node `node` alone says that
// it begins to concern this one: its `state` gives way first. What is not watched is looked at in rounds, see
// table_poll.cpp. Rows outlive a session: what was seen before stays known, but nothing is
// decided on it until it was read again. Specification: vm-domains.md 5.2, 5.3; runtime-design.md 2.5 (watch budget).
#pragma once

#include "pvcnoded/core/session.hpp"
#include "row.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace pvc::domains {

class domain_table {
public:
    explicit domain_table(core::node_context& node) : node_(node) {}
    domain_table(const domain_table&) = delete;
    domain_table& operator=(const domain_table&) = delete;
    ~domain_table();

    // Called after a row was read anew, and when its keys are gone (then is_present is false). They only take notes.
    std::function<void(domain_row&)> on_read;
    std::function<void(domain_row&)> on_replaced;  // it was defined anew: what was remembered is of another domain
    std::function<void()> on_loaded;               // every domain has been read in this session
    // Whether the domain must be watched whatever the budget says.
    std::function<bool(const domain_row&)> is_local;

    // Follows ZooKeeper until cancelled: a child of the session scope.
    async::awaitable<void> run(core::session& s);
    // Suspends until every domain was read once in this session, or the deadline. False: not in time.
    async::awaitable<bool> wait_loaded(time_point deadline);
    [[nodiscard]] bool is_loaded() const { return is_listed_ && unread_ == 0; }

    // Reads a row now. The result is the moment of sending of the read that the view rests on. Errors: not_found (the
    // domain is gone), and those of a session that broke.
    async::awaitable<result<boot_time>> read(domain_row& row);
    // A row for reading again, soon.
    void mark(domain_row& row);
    // What is kept of a domain that matters here. Where nothing is yet, the row is read again, with the keys that only
    // matter here: until then nothing is decided.
    local_domain& keep_here(domain_row& row);

    [[nodiscard]] domain_row* find(const uuid& id);
    [[nodiscard]] std::map<uuid, domain_row>& rows() { return rows_; }
    [[nodiscard]] const std::map<uuid, domain_row>& rows() const { return rows_; }
    // Drops a row whose domain is gone.
    void erase(const uuid& id);
    [[nodiscard]] std::size_t unwatched() const;

private:
    static constexpr duration read_limit = std::chrono::seconds(5);
    static constexpr std::string_view domains_prefix = "/domains/";
    static constexpr std::size_t uuid_size = 36;
    // Up to so many bytes of watches of the session (watch_budget_bytes) those of domains of others are set, and those
    // of ours. These are watched before others, but not even they may make the packet too large. A watch cannot be
    // taken back: those on the `state` of others leave room for so many times the domains.
    static constexpr std::size_t budget_bytes = zookeeper::watch_budget_bytes - 24UL * 1024;
    static constexpr std::size_t limit_bytes = zookeeper::watch_budget_bytes - 16UL * 1024;
    static constexpr std::size_t room_to_grow = 2;
    static constexpr std::size_t state_watch_bytes = domains_prefix.size() + uuid_size + 6 + 4;
    static constexpr std::size_t node_watch_bytes = domains_prefix.size() + uuid_size + 5 + 4;

    void attach(core::session& s);
    void detach();
    void on_event(const zookeeper::watch_event& event);
    void follow_list();
    std::optional<uuid> take_dirty();
    async::awaitable<bool> read_dirty();
    async::awaitable<bool> read_one(uuid id);
    async::awaitable<void> poll_unwatched();
    struct look {
        uuid id;
        bool at_state = false;
        bool at_node = false;
    };
    [[nodiscard]] std::vector<look> next_looks(std::size_t limit);
    void add_looks(std::vector<look>& to, const std::vector<look>& from, uuid& last, std::size_t limit) const;
    void add_comparisons(std::vector<look>& to, std::size_t limit);
    [[nodiscard]] bool take_room(const domain_row& row, std::size_t& room, std::size_t& reserve) const;
    void tell_budget(std::size_t unwatched, std::size_t limit);
    async::awaitable<void> poll_slice(std::span<const look> looks);
    async::awaitable<void> poll_one(look one);
    [[nodiscard]] bool is_ours(const domain_row& row) const;
    [[nodiscard]] bool may_arm_node(const domain_row& row) const;
    [[nodiscard]] bool may_arm_state(const domain_row& row) const;
    // Bytes that are kept free for watches on `node` of domains that have none, or are yet to be defined.
    [[nodiscard]] std::size_t reserve() const;
    // Of all watches of the session, and what more important ones still need.
    [[nodiscard]] std::size_t used_bytes() const {
        return session_->zk.watch_bytes() + session_->watches.lacking_bytes();
    }
    void keep_room() const;
    // Whether a key of it is there and not watched.
    [[nodiscard]] static bool lacks_node_watch(const domain_row& row);
    [[nodiscard]] static bool lacks_state_watch(const domain_row& row);
    void set_state_armed(domain_row& row, bool now);
    void set_node_armed(domain_row& row, bool now);
    struct reading;  // table_read.cpp
    void take_watches(domain_row& row, const reading& from);
    void take(domain_row& row, const reading& from);
    void take_own(local_domain& here, const reading& from, bool is_other_state);
    void settle(domain_row& row);
    // Whether some lack a key that may be about to come.
    [[nodiscard]] bool awaits_keys() const;
    void read_absent_again();

    core::node_context& node_;
    core::session* session_ = nullptr;
    std::map<uuid, domain_row> rows_;
    std::set<std::string, std::less<>> node_names_;
    std::set<uuid> urgent_;                  // to be read: what was ours when it was marked,
    std::set<uuid> dirty_;                   // and the others
    std::set<uuid> absent_;                  // listed, but their keys are not there: removed, or about to come back
    std::map<uuid, time_point> incomplete_;  // their `state` or `node` is not there: since when
    std::unique_ptr<zookeeper::watched> list_;
    std::uint64_t list_changes_ = 0;
    bool is_listed_ = false;
    bool told_budget_ = false;
    std::vector<uuid> to_compare_;  // with what is stored, after a reconnection
    uuid last_node_look_{};         // where the rounds stand
    uuid last_state_look_{};
    std::set<std::string> told_names_;
    std::size_t unread_ = 0;
    std::size_t armed_nodes_ = 0;
    std::uint64_t connections_ = 0;
    async::wakeup work_;
    async::wakeup loaded_;
};

}  // namespace pvc::domains
