#include "pvcnoded/storage/ceph_helper.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/ceph_blocklist.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::storage {

namespace say = protocol::ceph::say;
namespace words = protocol::ceph::ask;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view helper_name = "Ceph's helper";
// With the helper at once: fewer than it takes.
constexpr std::size_t places = protocol::ceph::requests_max / 2;

}  // namespace

ceph_helper::ceph_helper(services::talking_programs& programs, async::timers& clock)
    : programs_(programs), clock_(clock), places_(places) {}

failure ceph_helper::helper_failure(errc code, std::string cause) {
    return failure(code, std::string(helper_name), std::move(cause));
}

// ---- questions ------------------------------------------------------------------------------------------------------

async::awaitable<result<ceph_helper::said>> ceph_helper::ask(helper_service as, asked what, std::string_view about,
                                                             time_point deadline) {
    if (serves_ < as) {
        co_return failure(errc::unavailable, std::string(about),
                          "Ceph cannot be asked on this node: its storage function is off");
    }
    auto mine = std::make_shared<question>();
    mine->what.id = ++last_id_;
    mine->what.what = std::move(what);
    mine->asked_at = clock_.now();
    mine->deadline = std::min(deadline, mine->asked_at + protocol::ceph::limit_max);
    struct leaving {
        ceph_helper& owner;
        question_ptr one;
        ~leaving() {
            one->is_left = true;
            std::erase(owner.unsent_, one);
        }
    } guard{*this, mine};
    unsent_.push_back(mine);
    work_.notify();
    while (!mine->answer) {
        const bool is_told = co_await mine->answered.wait_until(clock_, mine->deadline, "the answer of Ceph's helper");
        if (!is_told && !mine->answer) {
            const bool was_sent = sent_.contains(mine->what.id);
            co_return failure(errc::timed_out, std::string(about),
                              was_sent || !is_greeted_ ? "no answer of Ceph in time"
                                                       : "too many questions to Ceph: its turn did not come in time");
        }
    }
    co_return *std::move(mine->answer);
}

template <class T>
async::awaitable<result<T>> ceph_helper::ask_for(helper_service as, asked what, std::string about,
                                                 time_point deadline) {
    auto got = co_await ask(as, std::move(what), about, deadline);
    if (!got) {
        co_return got.error();
    }
    if (auto* refusal = std::get_if<say::failed>(&*got)) {
        co_return failure(refusal->code, std::move(about), std::move(refusal->cause));
    }
    if (auto* fits = std::get_if<T>(&*got)) {
        co_return std::move(*fits);
    }
    // Told from others by its id, and yet about something else: its sender is not to be believed.
    give_up_on_it("it answered something else than what it was asked");
    co_return failure(errc::io, std::move(about), "an answer to something else");
}

async::awaitable<result<void>> ceph_helper::ask_to_do(helper_service as, asked what, std::string about,
                                                      time_point deadline) {
    const auto got = co_await ask_for<say::done>(as, std::move(what), std::move(about), deadline);
    if (!got) {
        co_return got.error();
    }
    co_return result<void>();
}

async::awaitable<result<std::string>> ceph_helper::ask_monitors(helper_service as, std::string command,
                                                                time_point deadline) {
    std::string about = command;
    auto got =
        co_await ask_for<say::output>(as, words::monitor_command{std::move(command)}, std::move(about), deadline);
    if (!got) {
        co_return got.error();
    }
    co_return std::move(got->bytes);
}

async::awaitable<result<std::string>> ceph_helper::command(std::string command, time_point deadline) {
    return ask_monitors(helper_service::all, std::move(command), deadline);
}

async::awaitable<result<std::vector<model::pool_counters>>> ceph_helper::counters(std::vector<std::string> pools,
                                                                                  time_point deadline) {
    auto got = co_await ask_for<say::counted>(helper_service::all, words::pool_counters{std::move(pools)},
                                              "counters of pools", deadline);
    if (!got) {
        co_return got.error();
    }
    std::vector<model::pool_counters> all;
    for (auto& one : got->pools) {
        all.push_back({.pool = std::move(one.pool),
                       .object_clones = one.object_clones,
                       .object_copies = one.object_copies,
                       .objects_missing_on_primary = one.objects_missing_on_primary,
                       .objects_unfound = one.objects_unfound,
                       .objects_degraded = one.objects_degraded,
                       .reads = one.reads,
                       .read_kib = one.read_kib,
                       .writes = one.writes,
                       .written_kib = one.written_kib});
    }
    co_return all;
}

async::awaitable<result<void>> ceph_helper::measure(time_point deadline) {
    const auto got =
        co_await ask_for<say::used>(helper_service::all, words::usage{}, std::string(helper_name), deadline);
    if (!got) {
        co_return got.error();
    }
    view_.private_bytes = got->private_bytes;
    view_.threads = got->threads;
    co_return result<void>();
}

async::awaitable<result<void>> ceph_helper::may_ask(helper_service as) {
    if (serves_ < as || serves_ == helper_service::nobody) {
        co_return helper_failure(errc::unavailable, "this node does not ask Ceph");
    }
    const auto may_start = view_.is_running ? nullptr : may_start_;  // its own: it may end meanwhile
    if (!may_start) {
        co_return result<void>();
    }
    const auto may = co_await may_start();
    co_return may ? result<void>() : helper_failure(errc::unavailable, may.error().text());
}

// ---- RBD ------------------------------------------------------------------------------------------------------------

async::awaitable<result<std::vector<rbd_lock>>> ceph_helper::asker::list(std::string image, time_point deadline) {
    std::string about = image;
    auto got = co_await owner_.ask_for<say::locked>(as_, words::locks{std::move(image)}, std::move(about), deadline);
    if (!got) {
        co_return got.error();
    }
    std::vector<rbd_lock> all;
    for (auto& one : got->locks) {
        all.push_back({std::move(one.id), std::move(one.client), std::move(one.address)});
    }
    co_return all;
}

async::awaitable<result<std::vector<rbd_watcher>>> ceph_helper::asker::watchers(std::string image,
                                                                                time_point deadline) {
    std::string about = image;
    auto got =
        co_await owner_.ask_for<say::watched>(as_, words::watchers{std::move(image)}, std::move(about), deadline);
    if (!got) {
        co_return got.error();
    }
    std::vector<rbd_watcher> all;
    for (auto& one : got->watchers) {
        all.push_back({std::move(one.client), std::move(one.address)});
    }
    co_return all;
}

async::awaitable<result<void>> ceph_helper::asker::prepare_break(std::string image, rbd_lock which,
                                                                 std::chrono::seconds block_for, time_point deadline) {
    std::string about = image;
    words::prepare_break what;
    what.image = std::move(image);
    what.which = {std::move(which.id), std::move(which.client), std::move(which.address)};
    what.is_blocked = block_for == no_blocklisting;
    what.blocklist_seconds = what.is_blocked ? 0 : block_for.count();
    return owner_.ask_to_do(as_, std::move(what), std::move(about), deadline);
}

async::awaitable<result<void>> ceph_helper::asker::break_lock(std::string image, rbd_lock which,
                                                              std::chrono::seconds block_for, boot_time not_after,
                                                              time_point deadline) {
    std::string about = image;
    words::break_lock what;
    what.image = std::move(image);
    what.which = {std::move(which.id), std::move(which.client), std::move(which.address)};
    what.not_after_ns = not_after.time_since_epoch().count();
    what.is_blocked = block_for == no_blocklisting;
    what.blocklist_seconds = what.is_blocked ? 0 : block_for.count();
    return owner_.ask_to_do(as_, std::move(what), std::move(about), deadline);
}

namespace {

words::blocklist to_blocklist(const std::string& address, std::chrono::seconds block_for, boot_time not_after,
                              bool by_command) {
    words::blocklist what;
    what.address = address;
    what.not_after_ns = not_after.time_since_epoch().count();
    what.seconds = block_for.count();
    what.by_command = by_command;
    return what;
}

}  // namespace

async::awaitable<result<void>> ceph_helper::asker::blocklist(std::string address, std::chrono::seconds block_for,
                                                             boot_time not_after, time_point deadline) {
    return owner_.ask_to_do(as_, to_blocklist(address, block_for, not_after, false), address, deadline);
}

async::awaitable<result<void>> ceph_helper::asker::blocklist_by_command(std::string address,
                                                                        std::chrono::seconds block_for,
                                                                        boot_time not_after, time_point deadline) {
    return owner_.ask_to_do(as_, to_blocklist(address, block_for, not_after, true), address, deadline);
}

// Its name until Ceph 15 is asked by where the other one is not known.
async::awaitable<result<std::vector<std::string>>> ceph_helper::asker::blocklisted(time_point deadline) {
    constexpr std::array commands{R"({"prefix":"osd blocklist ls","format":"json"})",
                                  R"({"prefix":"osd blacklist ls","format":"json"})"};
    auto got = co_await owner_.ask_monitors(as_, commands[0], deadline);
    if (!got && got.error().code() == errc::invalid) {
        got = co_await owner_.ask_monitors(as_, commands[1], deadline);
    }
    if (!got) {
        co_return got.error();
    }
    co_return model::parse_ceph_blocklist(*got);
}

async::awaitable<result<std::vector<rbd_lock>>> ceph_helper::list(std::string image, time_point deadline) {
    return for_starts_.list(std::move(image), deadline);
}
async::awaitable<result<std::vector<rbd_watcher>>> ceph_helper::watchers(std::string image, time_point deadline) {
    return for_starts_.watchers(std::move(image), deadline);
}
async::awaitable<result<void>> ceph_helper::prepare_break(std::string image, rbd_lock which,
                                                          std::chrono::seconds block_for, time_point deadline) {
    return for_starts_.prepare_break(std::move(image), std::move(which), block_for, deadline);
}
async::awaitable<result<void>> ceph_helper::break_lock(std::string image, rbd_lock which,
                                                       std::chrono::seconds block_for, boot_time not_after,
                                                       time_point deadline) {
    return for_starts_.break_lock(std::move(image), std::move(which), block_for, not_after, deadline);
}
async::awaitable<result<void>> ceph_helper::blocklist(std::string address, std::chrono::seconds block_for,
                                                      boot_time not_after, time_point deadline) {
    return for_starts_.blocklist(std::move(address), block_for, not_after, deadline);
}
async::awaitable<result<void>> ceph_helper::blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                                 boot_time not_after, time_point deadline) {
    return for_starts_.blocklist_by_command(std::move(address), block_for, not_after, deadline);
}
async::awaitable<result<std::vector<std::string>>> ceph_helper::blocklisted(time_point deadline) {
    return for_starts_.blocklisted(deadline);
}

helper_view ceph_helper::view() const {
    helper_view seen = view_;
    const time_point now = clock_.now();
    const auto note = [&](const question& one) {
        if (!one.is_left) {
            ++seen.waiting;
            seen.oldest_wait = std::max(seen.oldest_wait.value_or(duration::zero()), now - one.asked_at);
        }
    };
    for (const auto& one : unsent_) {
        note(*one);
    }
    for (const auto& [id, one] : sent_) {
        note(*one);
    }
    if (!seen.is_running && next_start_ > now) {
        seen.next_start = next_start_ - now;
    }
    return seen;
}

void ceph_helper::settle(question& one, result<said> how) {
    one.answer.emplace(std::move(how));
    one.answered.notify();
}

void ceph_helper::fail_sent(const failure& why) {
    for (const auto& [id, one] : std::exchange(sent_, {})) {
        settle(*one, why);
    }
    places_ = protocol::pool_turns(places);
}

void ceph_helper::fail_unsent(const failure& why) {
    for (const auto& one : std::exchange(unsent_, {})) {
        settle(*one, why);
    }
}

}  // namespace pvc::storage
