// Both parts of the storage port, asked of the helper process (pvcnoded-ceph; ruling 3): it is started when somebody
// asks, at most one at a time, killed when an answer does not come, and started again with growing pauses. Questions
// are told apart by ids that no other question of this daemon had, so that no answer is taken for another one's.
//
// A question waits for its helper, and for a place among those that are with it, no longer than its own deadline: pools
// take turns (protocol/pool_turns), so that one that is sick holds up no other. One that the helper took with it when
// it ended fails with errc::io (what it asked for may have been done); one that had not been sent waits for the next
// helper. An answer that is late is no reason to kill it, as pools may be slow: it is asked whether it is there at all.
// A call that has not ended two minutes after its deadline never will.
// Loop thread only. Specification: storage.md 3, 6.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"
#include "pvcnoded/protocol/pool_turns.hpp"
#include "pvcnoded/services/talking_programs.hpp"
#include "pvcnoded/storage/ceph_cluster.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace pvc::storage {

// Who may ask. A node without the storage function starts no machine with RBD disks, and clears the locks of a dead
// node all the same, where it can (ruling 3).
enum class helper_service : std::uint8_t { nobody, recovery, all };

struct helper_settings {
    std::string program;
    std::string config_file;
    std::string keyring;
    helper_service serves = helper_service::all;
    // It is ended when nobody has asked for so long; zero: it stays.
    duration idle_limit{};
    // Asked before each start: why it is of no use now. Empty: it is started.
    std::function<async::awaitable<result<void>>()> may_start{};
};

// For the log.
struct helper_news {
    enum class kind : std::uint8_t { started, refused, gone, idle };  // refused: it could not be started
    kind what = kind::started;
    std::string text;  // why it is gone, or was not started
};

class ceph_helper final : public ceph_cluster, public rbd_locks {
public:
    // Both must outlive it; it must outlive those who ask.
    ceph_helper(services::talking_programs& programs, async::timers& clock);

    // Has a helper while somebody needs one, until cancelled: it has ended by then, and what was asked has failed.
    // Whoever asks while this does not run, or who is not served, is refused (unavailable). One call at a time.
    async::awaitable<void> run(helper_settings settings, std::function<void(const helper_news&)> tell);

    async::awaitable<result<std::string>> command(std::string command, time_point deadline) override;
    async::awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                         time_point deadline) override;
    async::awaitable<result<void>> measure(time_point deadline) override;
    [[nodiscard]] helper_view view() const override;

    // For starts of machines and for clients.
    async::awaitable<result<void>> can_ask() override { return may_ask(helper_service::all); }
    async::awaitable<result<std::vector<rbd_lock>>> list(std::string image, time_point deadline) override;
    async::awaitable<result<std::vector<rbd_watcher>>> watchers(std::string image, time_point deadline) override;
    async::awaitable<result<void>> prepare_break(std::string image, rbd_lock which, std::chrono::seconds block_for,
                                                 time_point deadline) override;
    async::awaitable<result<void>> break_lock(std::string image, rbd_lock which, std::chrono::seconds block_for,
                                              boot_time not_after, time_point deadline) override;
    async::awaitable<result<void>> blocklist(std::string address, std::chrono::seconds block_for, boot_time not_after,
                                             time_point deadline) override;
    async::awaitable<result<void>> blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                        boot_time not_after, time_point deadline) override;
    async::awaitable<result<std::vector<std::string>>> blocklisted(time_point deadline) override;
    // The same for whoever recovers the machines of a dead node.
    [[nodiscard]] bool needs_storage_function() const override { return true; }
    [[nodiscard]] rbd_locks& for_recovery() { return for_recovery_; }

private:
    async::awaitable<result<void>> may_ask(helper_service as);

    using said = decltype(protocol::ceph::answer::what);
    using asked = decltype(protocol::ceph::request::what);
    struct question {
        protocol::ceph::request what;
        time_point asked_at;
        time_point deadline;
        bool is_left = false;    // nobody waits for it any more
        bool has_place = false;  // among those that are with the helper
        std::optional<result<said>> answer{};
        async::wakeup answered{};
    };
    using question_ptr = std::shared_ptr<question>;

    // The RBD part of the port as one kind of caller has it.
    class asker final : public rbd_locks {
    public:
        asker(ceph_helper& owner, helper_service as) : owner_(owner), as_(as) {}
        async::awaitable<result<void>> can_ask() override { return owner_.may_ask(as_); }
        async::awaitable<result<std::vector<rbd_lock>>> list(std::string image, time_point deadline) override;
        async::awaitable<result<std::vector<rbd_watcher>>> watchers(std::string image, time_point deadline) override;
        async::awaitable<result<void>> prepare_break(std::string image, rbd_lock which, std::chrono::seconds block_for,
                                                     time_point deadline) override;
        async::awaitable<result<void>> break_lock(std::string image, rbd_lock which, std::chrono::seconds block_for,
                                                  boot_time not_after, time_point deadline) override;
        async::awaitable<result<void>> blocklist(std::string address, std::chrono::seconds block_for,
                                                 boot_time not_after, time_point deadline) override;
        async::awaitable<result<void>> blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                            boot_time not_after, time_point deadline) override;
        async::awaitable<result<std::vector<std::string>>> blocklisted(time_point deadline) override;

    private:
        ceph_helper& owner_;
        helper_service as_;
    };

    async::awaitable<result<said>> ask(helper_service as, asked what, std::string_view about, time_point deadline);
    template <class T>
    async::awaitable<result<T>> ask_for(helper_service as, asked what, std::string about, time_point deadline);
    async::awaitable<result<void>> ask_to_do(helper_service as, asked what, std::string about, time_point deadline);
    async::awaitable<result<std::string>> ask_monitors(helper_service as, std::string command, time_point deadline);
    static failure helper_failure(errc code, std::string cause);
    void settle(question& one, result<said> how);
    void fail_sent(const failure& why);
    void fail_unsent(const failure& why);

    async::awaitable<void> until_asked();
    async::awaitable<void> live_once(const helper_settings& settings,
                                     const std::function<void(const helper_news&)>& tell);
    async::awaitable<void> talk(services::stream_connection& with);
    async::awaitable<void> listen(services::stream_connection& to);
    async::awaitable<void> send(services::stream_connection& to);
    async::awaitable<bool> send_one(question_ptr one, services::stream_connection& to);
    [[nodiscard]] bool take_answer(protocol::frame frame);
    void give_up_on_it(std::string why);
    [[nodiscard]] question_ptr next_question();
    [[nodiscard]] question_ptr is_it_there();
    [[nodiscard]] std::optional<time_point> next_look() const;
    void look_after_it();

    services::talking_programs& programs_;
    async::timers& clock_;
    asker for_starts_{*this, helper_service::all};
    asker for_recovery_{*this, helper_service::recovery};
    helper_service serves_ = helper_service::nobody;
    std::function<async::awaitable<result<void>>()> may_start_;
    bool is_greeted_ = false;
    std::int64_t last_id_ = 0;
    std::deque<question_ptr> unsent_;
    std::map<std::int64_t, question_ptr> sent_;
    protocol::pool_turns places_;
    std::optional<time_point> answer_by_;  // it was asked whether it is there
    time_point next_knock_{};              // not sooner than that again
    async::wakeup work_;                   // for whoever sends, or starts it
    std::string broken_;                   // why the present helper is given up
    bool has_answered_ = false;
    bool is_idle_ = false;  // it is ended since nobody asks
    duration idle_limit_{};
    duration pause_{};
    time_point next_start_{};
    helper_view view_;
};

}  // namespace pvc::storage
