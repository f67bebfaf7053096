// Plays a scenario in a world and notes what its clients see.
#pragma once

#include "contract/zookeeper/differential_transcript.hpp"
#include "contract/zookeeper/differential_world.hpp"
#include "contract/zookeeper/lock_bench.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace pvc::contract::differential {

// One session of one client.
struct live_session {
    std::unique_ptr<client> zk;
    std::unique_ptr<zookeeper::watch_sink> sink;
    // What a node has beside it.
    std::unique_ptr<watch_set> watches;
    std::unique_ptr<lock_service> locks;
    async::wakeup stop;
    async::wakeup ended;
    bool is_ended = false;
};

class player {
public:
    player(world& where, const scenario& what) : world_(where), scenario_(what) {}
    player(const player&) = delete;
    player& operator=(const player&) = delete;

    transcript play();

private:
    // Requests under way on one client.
    struct flight {
        std::size_t waiting = 0;
        bool is_broken = false;
        async::wakeup landed;
    };
    struct watched_key {
        std::unique_ptr<watched> key;
        watch_kind kind;
    };
    struct contention;

    awaitable<void> main(task_group& group);
    awaitable<void> execute(const step& what, task_group& group);
    awaitable<void> together(const step& what);
    awaitable<void> lose_answers(const step& what);
    awaitable<void> be_late(const step& what);
    awaitable<void> have_no_way(const step& what);
    awaitable<void> expire(const step& what, task_group& group);
    awaitable<void> look_at_watched();
    awaitable<void> look_at(const watched_key& one);
    awaitable<void> contend(const step& what);
    awaitable<void> contend(contention& all, task_group& group);
    awaitable<result<void>> take(std::size_t node, lock_kind kind, const std::string& path, duration limit,
                                 std::function<awaitable<result<void>>(held_lock&)> body);
    awaitable<bool> queued(const std::string& path, std::size_t count);
    awaitable<void> dump();

    // --- sessions ---
    awaitable<void> open(std::size_t client, task_group& group);
    static awaitable<void> live(live_session& session);
    awaitable<void> close(std::size_t client);
    awaitable<void> reconnected(std::size_t client, std::uint64_t connections);
    // Every event that was under way has come.
    awaitable<void> barrier();

    // --- requests ---
    std::shared_ptr<flight> launch(std::size_t client, const std::vector<request>& requests, bool keeps_names);
    awaitable<void> land(std::size_t client, std::shared_ptr<flight> all);
    awaitable<void> say(std::size_t client, const request& what, duration limit);
    awaitable<zookeeper::reply> in_words(client& zk, request what, time_point deadline);
    void note_answer(std::size_t client, const request& what, const zookeeper::reply& answer, bool keeps_names);
    [[nodiscard]] entry answer_entry(const request& what, const zookeeper::reply& answer) const;
    [[nodiscard]] request resolved(request what) const;
    [[nodiscard]] std::string resolved(const std::string& path) const;
    awaitable<std::int64_t> stamp();

    awaitable<bool> eventually(std::function<bool()> condition);
    void require(bool is_so, const std::string& what);
    void note(std::size_t client, std::string text, bool is_event = false);
    client& zk(std::size_t client) { return *sessions_[client]->zk; }
    time_point soon() { return world_.clock().now() + 20s; }

    world& world_;
    const scenario& scenario_;
    transcript out_;
    log_collector log_;
    std::array<std::shared_ptr<live_session>, clients> sessions_;
    std::map<std::int64_t, std::string> owners_;
    std::array<unsigned, clients> opened_{};
    std::vector<watched_key> watched_;
    async::wakeup published_;
    std::vector<std::string> made_;  // by sequential creates
    unsigned marks_ = 0;
};

}  // namespace pvc::contract::differential
