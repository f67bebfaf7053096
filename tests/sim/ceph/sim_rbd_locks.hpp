// RBD images, their locks, and who has them open: one store for the cluster, one port for each life of a daemon.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace pvc::sim {

class sim_rbd_store {
public:
    struct call {
        time_point at;  // by the caller's clock
        std::string by;
        std::string text;  // "list vms/web_sda", "break vms/web_sda auto 1 client.4185"
    };

    // An image without locks.
    void add_image(const std::string& image) { images_[image]; }
    void remove_image(const std::string& image) { images_.erase(image); }
    // Makes the image too. Short form: a lock by the client at this address ("10.254.0.2:0/7").
    void lock(const std::string& image, storage::rbd_lock which) { images_[image].push_back(std::move(which)); }
    void lock(const std::string& image, const std::string& address);
    void unlock(const std::string& image) { images_[image].clear(); }
    [[nodiscard]] std::vector<storage::rbd_lock> locks(const std::string& image) const;
    // Has it open for writing, without a lock: it has not written yet.
    void watch(const std::string& image, storage::rbd_watcher who) { watchers_[image].push_back(std::move(who)); }
    // Addresses of clients that are kept from writing, in order.
    [[nodiscard]] const std::vector<std::string>& blocklist() const { return blocklist_; }
    // Whether it was told of a lock on that image, when it listed last, which is still there.
    [[nodiscard]] bool has_told_of_lock(const std::string& machine, const std::string& image) const;
    void forget_blocklist() { blocklist_.clear(); }
    [[nodiscard]] bool is_blocklisted(const std::string& address) const;
    // As the client writes: what it gets then.
    [[nodiscard]] result<void> write(const std::string& image, const std::string& address);

    // The next calls ("list", "break", "watchers", "blocklist", "command", "blocklisted") fail with these, in order, or
    // all of them until cleared.
    void fail_next(const std::string& call, failure error, int times = 1);
    void fail_always(const std::string& call, failure error) { always_.insert_or_assign(call, std::move(error)); }
    void clear_faults() {
        next_.clear();
        always_.clear();
    }
    // Told when a lock is broken, with the machine that does so.
    std::function<void(const std::string& by, const std::string& image, const storage::rbd_lock& which)> on_break;
    // When that begins.
    std::function<void(const std::string& by, const std::string& image, const storage::rbd_lock& which)> on_break_begun;
    // Between a listing that was answered and what follows it.
    std::function<void(const std::string& image)> on_list;
    std::set<std::string> cut_off;  // machines that cannot ask Ceph
    bool hangs = false;             // nothing is answered: every call ends at its deadline
    // Of pools whose OSDs are not well: each call about one of their images takes so much longer, or gets no answer.
    struct sick_pool {
        duration takes{};
        bool hangs = false;
    };
    std::map<std::string, sick_pool> sick;
    // The library sends the time on the blocklist as a text, which the monitors refuse (-22); by command it is taken.
    bool sends_times_as_text = false;
    bool ignores_commands = false;  // who is to be on the blocklist by command is not: says yes and does nothing
    bool keeps_broken = false;      // a lock that was broken is still there: says yes and does nothing
    std::set<std::string> own;      // clients ("client.7") that are those who ask: their locks are not broken
    duration list_time = std::chrono::milliseconds(5);
    duration break_time = std::chrono::milliseconds(750);

    [[nodiscard]] std::vector<std::string> calls() const;
    [[nodiscard]] const std::vector<call>& all_calls() const { return calls_; }
    void clear_calls() { calls_.clear(); }

private:
    friend class sim_rbd_locks;
    [[nodiscard]] std::optional<failure> fault(const std::string& call);

    std::map<std::string, std::vector<storage::rbd_lock>> images_;
    std::map<std::string, std::vector<storage::rbd_watcher>> watchers_;
    std::map<std::pair<std::string, std::string>, std::vector<storage::rbd_lock>> told_;  // machine, image
    // Machine, image, client: open for a break.
    std::set<std::tuple<std::string, std::string, std::string>> prepared_;
    std::vector<std::string> blocklist_;
    std::map<std::string, std::deque<failure>> next_;
    std::map<std::string, failure> always_;
    std::vector<call> calls_;
    std::uint64_t clients_ = 4100;
};

class sim_rbd_locks final : public storage::rbd_locks {
public:
    sim_rbd_locks(sim_rbd_store& store, std::string machine, async::timers& clock)
        : store_(store), machine_(std::move(machine)), clock_(clock) {}

    bool cut = false;             // a killed daemon: nothing that it still does reaches the store
    bool is_unavailable = false;  // Ceph cannot be asked from this machine
    [[nodiscard]] const sim_rbd_store& store() const { return store_; }

    async::awaitable<result<std::vector<storage::rbd_lock>>> list(std::string image, time_point deadline) override;
    async::awaitable<result<std::vector<storage::rbd_watcher>>> watchers(std::string image,
                                                                         time_point deadline) override;
    async::awaitable<result<void>> prepare_break(std::string image, storage::rbd_lock which,
                                                 std::chrono::seconds block_for, time_point deadline) override;
    async::awaitable<result<void>> break_lock(std::string image, storage::rbd_lock which,
                                              std::chrono::seconds block_for, boot_time not_after,
                                              time_point deadline) override;
    async::awaitable<result<void>> blocklist(std::string address, std::chrono::seconds block_for, boot_time not_after,
                                             time_point deadline) override;
    async::awaitable<result<void>> blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                        boot_time not_after, time_point deadline) override;
    async::awaitable<result<std::vector<std::string>>> blocklisted(time_point deadline) override;

private:
    async::awaitable<result<void>> reach_cluster(std::string call, std::string about, duration time,
                                                 time_point deadline, bool hangs = false);
    async::awaitable<result<void>> begin_guarded(std::string text, boot_time not_after);
    async::awaitable<result<void>> reach(std::string call, std::string image, duration time, time_point deadline);

    sim_rbd_store& store_;
    std::string machine_;
    async::timers& clock_;
};

}  // namespace pvc::sim
