// What the files of the libvirt adapter share: the pools, the connections, and how a call gets to a thread.
// tidy-allow-file(io_context): the pools take it
// tidy-allow-file(adapter): the library blocks in every call, so the adapter has pools of its own
#pragma once

#include "blocking_calls.hpp"
#include "event_loop.hpp"
#include "lane.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/hypervisor/adapter/libvirt_hypervisor.hpp"
#include "remote_place.hpp"

#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

namespace pvc::hypervisor {

// result<call_result<T>> would be a result that converts to the other.
template <class T>
struct told {
    call_result<T> answer;
};

struct migration_job;

struct libvirt_hypervisor::state {
    state(libvirt_hypervisor& port, boost::asio::io_context& context, async::timers& clock, libvirt_options options);
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state();

    // --- run() ---
    async::awaitable<void> pump();
    async::awaitable<void> close();
    async::awaitable<call_result<std::shared_ptr<link>>> open();
    // Returns when the connection is no longer to be relied on, with the reason.
    async::awaitable<std::string> watch();
    async::awaitable<std::optional<std::string>> look();
    void went_up(std::shared_ptr<link> opened);
    void went_down(std::string reason);
    // Gives everything back on a pool thread; `cut`: without a word to the other side.
    enum class farewell : std::uint8_t { proper, cut };
    async::awaitable<void> retire(farewell how);

    // --- migrations (live_migration.cpp) ---
    async::awaitable<call_result<void>> migrate(std::shared_ptr<migration_job> job);
    // Returns when the job has ended, or when it has been called off for good.
    async::awaitable<void> watch_over(std::shared_ptr<migration_job> job);
    async::awaitable<void> call_off(std::shared_ptr<migration_job> job);
    void note_abort(const uuid& id);

    // --- calls ---
    template <class T>
    using work = std::function<call_result<T>(const link&)>;
    template <class T>
    async::awaitable<call_result<T>> on_thread(async::offload& pool, std::string name, time_point deadline,
                                               std::function<call_result<T>()> item);
    // On the control connection: what concerns all guests, and is short.
    template <class T>
    async::awaitable<call_result<T>> query(std::string name, time_point deadline, work<T> what);
    // On a lane, as a guest whose job is busy holds up what concerns it.
    template <class T>
    async::awaitable<call_result<T>> on_lane(async::offload& pool, std::shared_ptr<lanes> ways, std::string name,
                                             time_point deadline, work<T> what);
    template <class T>
    async::awaitable<call_result<T>> detail(std::string name, time_point deadline, work<T> what) {
        return on_lane<T>(details, detail_lanes, std::move(name), deadline, std::move(what));
    }
    async::awaitable<call_result<void>> change(std::string name, time_point deadline, work<void> what);
    async::awaitable<call_result<void>> urgent(std::string name, time_point deadline, work<void> what);
    // A call that found nobody, or nobody in time, makes run() look at the connection.
    void heed(const call_failure& error);
    struct progress;
    template <class T>
    async::awaitable<call_result<T>> remote(std::string name, std::string peer, time_point deadline, work<T> what,
                                            link_access access, std::shared_ptr<progress> how);
    // --- questions (remote_questions.cpp) ---
    // All that is asked of one host while a conversation with it has not begun is asked in that one.
    struct conversation;
    struct peer_host {
        std::shared_ptr<conversation> next;
        std::weak_ptr<progress> call;  // while a thread is busy with this host
        time_point silent_until{};     // it was found silent: nobody waits for it again so soon
        call_failure why;
    };
    async::awaitable<call_result<model::guest_status>> ask(std::string peer, uuid id, time_point deadline);
    // Of a question to it that got no answer: hanging, if a thread is connected to it, else timed_out.
    [[nodiscard]] call_error silence_of(const std::string& peer);
    async::awaitable<void> converse(std::string peer, std::shared_ptr<conversation> talk, time_point deadline);
    // Wakes run(); from any thread, and when this has gone.
    [[nodiscard]] std::function<void()> waker() const;
    [[nodiscard]] call_failure why_unavailable() const;
    [[nodiscard]] link_wishes wishes_for(std::string uri, link_access access = link_access::full) const;
    [[nodiscard]] std::shared_ptr<lanes> new_lanes() const;

    libvirt_hypervisor& port;
    async::timers& clock;
    const libvirt_options options;
    event_loop::attachment attached;

    // What callbacks of other threads reach this by; empty once it has gone. Loop thread.
    struct hub {
        state* owner = nullptr;
    };
    std::shared_ptr<hub> self;
    std::shared_ptr<link_count> open_links;
    async::wakeup changed;
    bool doubted = false;  // a call was not answered in time: look whether anybody is there
    std::uint64_t generation = 0;
    std::string down_reason = "not connected yet";

    std::shared_ptr<link> control;
    std::map<uuid, std::weak_ptr<migration_job>> migrating;
    std::map<std::string, peer_host, std::less<>> peers;
    std::shared_ptr<lanes> change_lanes;
    std::shared_ptr<lanes> urgent_lanes;
    std::shared_ptr<lanes> detail_lanes;

    async::thread_offload links;       // opening, looking, closing
    async::thread_offload queries;     // all guests: on the control connection
    async::thread_offload details;     // one guest: state, description, progress
    async::thread_offload changes;     // create, shutdown, resume
    async::thread_offload hurry;       // destroy and abort get through whatever else hangs
    async::thread_offload migrations;  // with connections of their own
    async::thread_offload questions;   // to other nodes
};

template <class T>
async::awaitable<call_result<T>> libvirt_hypervisor::state::on_thread(async::offload& pool, std::string name,
                                                                      time_point deadline,
                                                                      std::function<call_result<T>()> item) {
    auto outcome = co_await pool.run<told<T>>(clock, deadline, name, [item = std::move(item)]() -> result<told<T>> {
        const pool_section here;
        return told<T>{item()};
    });
    if (outcome) {
        co_return std::move(outcome->answer);
    }
    if (outcome.error().code() == errc::timed_out) {
        co_return call_failure(call_error::timed_out, name + ": no answer in time");
    }
    co_return call_failure(call_error::unavailable, outcome.error().text());
}

template <class T>
async::awaitable<call_result<T>> libvirt_hypervisor::state::query(std::string name, time_point deadline, work<T> what) {
    if (!control) {
        co_return why_unavailable();
    }
    std::function<call_result<T>()> item = [on = control, what = std::move(what)] { return what(*on); };
    auto answer = co_await on_thread<T>(queries, std::move(name), deadline, std::move(item));
    if (!answer) {
        heed(answer.error());
    }
    co_return answer;
}

template <class T>
async::awaitable<call_result<T>> libvirt_hypervisor::state::on_lane(async::offload& pool, std::shared_ptr<lanes> ways,
                                                                    std::string name, time_point deadline,
                                                                    work<T> what) {
    if (!control) {
        co_return why_unavailable();
    }
    std::function<call_result<T>()> item = [ways = std::move(ways), what = std::move(what)]() -> call_result<T> {
        const lanes::place here(*ways);
        const auto on = here.on().get();
        if (!on) {
            return on.error();
        }
        return what(**on);
    };
    auto answer = co_await on_thread<T>(pool, std::move(name), deadline, std::move(item));
    if (!answer) {
        heed(answer.error());
    }
    co_return answer;
}

}  // namespace pvc::hypervisor
