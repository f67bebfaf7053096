// Questions to the hypervisors of other nodes: one conversation with a host at a time, for everything that is asked of
// it meanwhile, on a connection that can change nothing; bounded whatever the other side does. A host that was silent
// is left alone for some seconds, so that hosts that are off do not keep those that are on from being asked.
// Specification: vm-domains.md 17 (TCP connect 5 s, answer 5 s).
#include "hypervisor_state.hpp"
#include "pvcnoded/async/thread_clock.hpp"

#include <algorithm>
#include <set>

namespace pvc::hypervisor {

using namespace std::chrono_literals;

namespace {

constexpr duration connect_limit = 5s;
constexpr duration answer_limit = 5s;
constexpr duration thread_margin = 50ms;
constexpr duration silence_remembered = 4s;  // whoever asks again every 5 s is heard each time
constexpr duration silence_min = 2s;         // what was given less time than that is not called silent
constexpr duration look_again = 50ms;

// Cuts when it goes: by then the answer is here or no longer of interest.
class cut_at_end {
public:
    explicit cut_at_end(std::shared_ptr<breaker> way_out) : way_out_(std::move(way_out)) {}
    cut_at_end(const cut_at_end&) = delete;
    cut_at_end& operator=(const cut_at_end&) = delete;
    ~cut_at_end() { way_out_->cut(); }

private:
    std::shared_ptr<breaker> way_out_;
};

}  // namespace

// How far a thread is with another host; held as long as it is busy with it.
struct libvirt_hypervisor::state::progress {
    std::atomic<duration::rep> begun{0};  // zero: no thread has been yet
    std::atomic<bool> is_connected{false};

    void begin() {
        duration::rep none = 0;
        begun.compare_exchange_strong(none, async::thread_now().time_since_epoch().count());
    }
};

template <class T>
async::awaitable<call_result<T>> libvirt_hypervisor::state::remote(std::string name, std::string peer,
                                                                   time_point deadline, work<T> what,
                                                                   link_access access, std::shared_ptr<progress> how) {
    name += " " + peer;
    auto place = place_of(options.remote_uri, peer);
    const bool is_tcp = place.tcp.has_value();
    if (place.tcp) {
        // The thread keeps the limit by itself and says more than a missed deadline does.
        std::function<call_result<void>()> knock = [where = *place.tcp, deadline, how] {
            how->begin();
            return reach(where, std::min(deadline, async::thread_now() + connect_limit));
        };
        const auto reached = co_await on_thread<void>(questions, name, deadline + thread_margin, std::move(knock));
        if (!reached) {
            co_return reached.error();
        }
    }
    auto way_out = std::make_shared<breaker>();
    const cut_at_end bounded(way_out);
    std::function<call_result<T>()> item = [wishes = wishes_for(std::move(place.uri), access), way_out, is_tcp,
                                            what = std::move(what), how]() -> call_result<T> {
        how->begin();
        how->is_connected = is_tcp;
        auto opened = link::open(wishes, std::make_shared<link_note>(), way_out);
        if (!opened) {
            return opened.error();
        }
        return what(**opened);
    };
    const time_point until = std::min(deadline, clock.now() + answer_limit);
    auto answer = co_await on_thread<T>(questions, std::move(name), until, std::move(item));
    if (!answer && answer.error().code == call_error::timed_out) {
        answer = call_failure(how->is_connected ? call_error::hanging : call_error::timed_out, answer.error().text);
    }
    co_return answer;
}

struct libvirt_hypervisor::state::conversation {
    using findings = std::map<uuid, call_result<model::guest_status>>;
    std::set<uuid> wanted;
    std::optional<call_result<findings>> answer;
    async::latest<bool> ended;
};

call_error libvirt_hypervisor::state::silence_of(const std::string& peer) {
    const auto busy = peers[peer].call.lock();
    const bool was_hanging = clock.now() < peers[peer].silent_until && peers[peer].why.code == call_error::hanging;
    return was_hanging || (busy && busy->is_connected) ? call_error::hanging : call_error::timed_out;
}

// One connection for all that is wanted of this host by now.
async::awaitable<void> libvirt_hypervisor::state::converse(std::string peer, std::shared_ptr<conversation> talk,
                                                           time_point deadline) {
    // Whoever leaves without an answer lets the others begin anew.
    struct leaving {
        state& of;
        const std::string& peer;
        std::shared_ptr<conversation> talk;
        ~leaving() {
            if (of.peers[peer].next == talk) {
                of.peers[peer].next.reset();
            }
            talk->ended.set(true);
        }
    };
    const leaving at_end{*this, peer, talk};
    while (!peers[peer].call.expired()) {
        if (clock.now() >= deadline) {
            talk->answer.emplace(call_failure(silence_of(peer), peer + ": what was asked before hangs"));
            co_return;
        }
        co_await async::sleep_for(clock, look_again, "an earlier question to another host");
    }
    if (clock.now() < peers[peer].silent_until) {
        talk->answer.emplace(peers[peer].why);
        co_return;
    }
    auto how = std::make_shared<progress>();
    peers[peer].call = how;
    peers[peer].next.reset();  // what is asked from now on is for the one after this
    using findings = conversation::findings;
    auto found = co_await remote<findings>(
        "asking", peer, deadline,
        [wanted = talk->wanted](const link& on) -> call_result<findings> {
            findings all;
            for (const auto& id : wanted) {
                all.emplace(id, blocking::status(on, id));
            }
            return all;
        },
        link_access::read_only, how);
    const auto why = found ? std::nullopt : std::optional(found.error().code);
    const bool is_silence =
        why == call_error::timed_out || why == call_error::hanging || why == call_error::unavailable;
    const time_point begun{duration(how->begun.load())};
    const bool was_asked = begun != time_point{};  // not: it waited for a thread
    if (is_silence && was_asked && (why == call_error::unavailable || clock.now() - begun >= silence_min)) {
        peers[peer].silent_until = clock.now() + silence_remembered;
        peers[peer].why = found.error();
    }
    talk->answer.emplace(std::move(found));
}

async::awaitable<call_result<model::guest_status>> libvirt_hypervisor::state::ask(std::string peer, uuid id,
                                                                                  time_point deadline) {
    async::wakeup ended;
    for (;;) {
        if (clock.now() < peers[peer].silent_until) {
            co_return peers[peer].why;
        }
        auto talk = peers[peer].next;
        const bool is_first = talk == nullptr;
        if (is_first) {
            talk = std::make_shared<conversation>();
            peers[peer].next = talk;
        }
        talk->wanted.insert(id);
        if (is_first) {
            co_await converse(peer, talk, deadline);
        } else {
            const async::latest<bool>::observer follow(talk->ended, ended);
            while (!talk->ended.value() && clock.now() < deadline) {
                co_await ended.wait_until(clock, deadline, "the answer of another host");
            }
            if (!talk->ended.value()) {
                co_return call_failure(silence_of(peer), "asking " + peer + ": no answer in time");
            }
        }
        if (!talk->answer) {
            continue;  // its asker has left
        }
        if (!*talk->answer) {
            const call_error why = talk->answer->error().code;
            const bool was_anothers_time = !is_first && (why == call_error::timed_out || why == call_error::hanging);
            if (was_anothers_time && clock.now() < deadline) {
                continue;  // whoever began it had less time; a host that was found silent is noted
            }
            co_return talk->answer->error();
        }
        co_return (**talk->answer).at(id);
    }
}

async::awaitable<call_result<model::guest_status>> libvirt_hypervisor::ask(std::string peer, uuid id,
                                                                           time_point deadline) {
    return state_->ask(std::move(peer), id, deadline);
}

async::awaitable<call_result<void>> libvirt_hypervisor::probe(std::string peer, time_point deadline) {
    co_return co_await state_->remote<void>(
        "probing", std::move(peer), deadline, [](const link&) -> call_result<void> { return {}; }, link_access::full,
        std::make_shared<state::progress>());
}

}  // namespace pvc::hypervisor
