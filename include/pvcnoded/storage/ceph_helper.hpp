// Both parts of the storage port, asked of the helper process (pvcnoded-ceph; ruling 3): it is started when somebody
// asks, at most one at a time, killed when an answer does not come, and started again with growing pauses. Questions
// are told apart by ids that no other question of this daemon had, so that no answer is taken for another one's.
//
// A question waits for its helper no longer than its own deadline. One that the helper took with it when it ended fails
// with errc::io (what it asked for may have been done); one that had not been sent waits for the next helper.
// Loop thread only. Specification: storage.md 3, 6.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"
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

struct helper_settings {
    std::string program;
    std::string config_file;
    std::string keyring;
};

// For the log.
struct helper_news {
    enum class kind : std::uint8_t { started, refused, gone };  // refused: it could not be started
    kind what = kind::started;
    std::string text;  // why it is gone, or was not started
};

class ceph_helper final : public ceph_cluster, public rbd_locks {
public:
    // Both must outlive it; it must outlive those who ask.
    ceph_helper(services::talking_programs& programs, async::timers& clock) : programs_(programs), clock_(clock) {}

    // Has a helper while somebody needs one, until cancelled: it has ended by then, and what was asked has failed.
    // Whoever asks while this does not run is refused (unavailable). One call at a time.
    async::awaitable<void> run(helper_settings settings, std::function<void(const helper_news&)> tell);

    async::awaitable<result<std::string>> command(std::string command, time_point deadline) override;
    async::awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                         time_point deadline) override;
    async::awaitable<result<void>> measure(time_point deadline) override;
    [[nodiscard]] helper_view view() const override;

    async::awaitable<result<std::vector<rbd_lock>>> list(std::string image, time_point deadline) override;
    async::awaitable<result<void>> break_lock(std::string image, rbd_lock which, boot_time not_after,
                                              time_point deadline) override;

private:
    using said = decltype(protocol::ceph::answer::what);
    using asked = decltype(protocol::ceph::request::what);
    struct question {
        protocol::ceph::request what;
        time_point asked_at;
        time_point deadline;
        bool is_left = false;  // nobody waits for it any more
        std::optional<result<said>> answer{};
        async::wakeup answered{};
    };
    using question_ptr = std::shared_ptr<question>;

    async::awaitable<result<said>> ask(asked what, std::string_view about, time_point deadline);
    template <class T>
    async::awaitable<result<T>> ask_for(asked what, std::string about, time_point deadline);
    void settle(question& one, result<said> how);
    void fail_sent(const failure& why);
    void fail_unsent(const failure& why);

    async::awaitable<void> until_asked();
    async::awaitable<void> talk(services::stream_connection& with);
    async::awaitable<void> listen(services::stream_connection& to);
    async::awaitable<void> send(services::stream_connection& to);
    async::awaitable<bool> send_next(services::stream_connection& to);
    [[nodiscard]] bool take_answer(protocol::frame frame);
    void give_up_on_it(std::string why);
    [[nodiscard]] std::optional<time_point> next_overdue() const;

    services::talking_programs& programs_;
    async::timers& clock_;
    bool is_served_ = false;
    bool is_greeted_ = false;
    std::int64_t last_id_ = 0;
    std::deque<question_ptr> unsent_;
    std::map<std::int64_t, question_ptr> sent_;
    async::wakeup work_;  // for whoever sends, or starts it
    std::string broken_;  // why the present helper is given up
    bool has_answered_ = false;
    time_point next_start_{};
    helper_view view_;
};

}  // namespace pvc::storage
