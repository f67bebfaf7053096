#include "sim/ceph/sim_ceph_helper.hpp"

#include "sim/ceph/sim_rbd_locks.hpp"

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/async/task_group.hpp"

namespace pvc::sim {

namespace ceph = protocol::ceph;
using namespace std::chrono_literals;

namespace {

// What it says is taken at once, or its reader is gone.
constexpr duration helper_write_limit = 60s;

decltype(ceph::answer::what) refusal_of(const failure& why) {
    return ceph::say::failed{why.code(), why.cause().empty() ? why.text() : why.cause()};
}

struct answering {
    storage::ceph_cluster& cluster;
    storage::rbd_locks& locks;
    time_point until;

    using said = async::awaitable<decltype(ceph::answer::what)>;

    said operator()(ceph::ask::monitor_command asked) const {
        const bool asks_for_blocklist = asked.text == R"({"prefix":"osd blocklist ls","format":"json"})";
        auto got = co_await cluster.command(std::move(asked.text), until);
        // The simulated cluster has no such list of its own: that it says so is an answer of its monitors.
        const auto* store = dynamic_cast<const sim_rbd_locks*>(&locks);
        if (asks_for_blocklist && store != nullptr && (got || got.error().code() == errc::invalid)) {
            co_return ceph::say::output{list_of(store->store().blocklist())};
        }
        if (!got) {
            co_return refusal_of(got.error());
        }
        co_return ceph::say::output{*std::move(got)};
    }
    static std::chrono::seconds block_for(const auto& asked) {
        return asked.is_blocked ? storage::no_blocklisting : std::chrono::seconds(asked.blocklist_seconds);
    }
    // The monitors know whom they refuse, also while OSDs hang.
    static std::string list_of(const std::vector<std::string>& clients) {
        std::string text;
        for (const auto& one : clients) {
            text += (text.empty() ? "" : ",") + (R"({"addr":")" + one + R"(","until":"2027-01-01T00:00:00.000000"})");
        }
        return "[" + text + "]";
    }
    said operator()(ceph::ask::pool_counters asked) const {
        const auto got = co_await cluster.counters(std::move(asked.pools), until);
        if (!got) {
            co_return refusal_of(got.error());
        }
        ceph::say::counted all;
        for (const auto& one : *got) {
            all.pools.push_back({one.pool, one.object_clones, one.object_copies, one.objects_missing_on_primary,
                                 one.objects_unfound, one.objects_degraded, one.reads, one.read_kib, one.writes,
                                 one.written_kib});
        }
        co_return all;
    }
    said operator()(ceph::ask::locks asked) const {
        const auto got = co_await locks.list(std::move(asked.image), until);
        if (!got) {
            co_return refusal_of(got.error());
        }
        ceph::say::locked all;
        for (const auto& one : *got) {
            all.locks.push_back({one.id, one.client, one.address});
        }
        co_return all;
    }
    said operator()(ceph::ask::watchers asked) const {
        const auto got = co_await locks.watchers(std::move(asked.image), until);
        if (!got) {
            co_return refusal_of(got.error());
        }
        ceph::say::watched all;
        for (const auto& one : *got) {
            all.watchers.push_back({one.client, one.address});
        }
        co_return all;
    }
    said operator()(ceph::ask::prepare_break asked) const {
        const auto got = co_await locks.prepare_break(
            std::move(asked.image), {asked.which.id, asked.which.client, asked.which.address}, block_for(asked), until);
        if (!got) {
            co_return refusal_of(got.error());
        }
        co_return ceph::say::done{};
    }
    said operator()(ceph::ask::break_lock asked) const {
        const auto got =
            co_await locks.break_lock(std::move(asked.image), {asked.which.id, asked.which.client, asked.which.address},
                                      block_for(asked), boot_time(duration(asked.not_after_ns)), until);
        if (!got) {
            co_return refusal_of(got.error());
        }
        co_return ceph::say::done{};
    }
    said operator()(ceph::ask::blocklist asked) const {
        const std::chrono::seconds time(asked.seconds);
        const boot_time not_after{duration(asked.not_after_ns)};
        const auto got = asked.by_command
                             ? co_await locks.blocklist_by_command(std::move(asked.address), time, not_after, until)
                             : co_await locks.blocklist(std::move(asked.address), time, not_after, until);
        if (!got) {
            co_return refusal_of(got.error());
        }
        co_return ceph::say::done{};
    }
    said operator()(ceph::ask::usage /*asked*/) const { co_return ceph::say::used{8UL << 20U, 14, 1}; }
};

}  // namespace

// Until somebody ends or thaws it.
async::awaitable<void> sim_ceph_helper::stand_still() {
    co_await thawed_.wait([this] { return !is_frozen && !is_mute; }, async::wait_note::work("SIGCONT"));
}

sim_ceph_helper::lane* sim_ceph_helper::threads::of(const ceph::request& asked) {
    namespace ask = ceph::ask;
    if (std::holds_alternative<ask::locks>(asked.what) || std::holds_alternative<ask::watchers>(asked.what) ||
        std::holds_alternative<ask::prepare_break>(asked.what)) {
        return &images;
    }
    const bool is_break =
        std::holds_alternative<ask::break_lock>(asked.what) || std::holds_alternative<ask::blocklist>(asked.what);
    return is_break ? &breaks : nullptr;
}

async::awaitable<ceph::answer> sim_ceph_helper::answer_to(ceph::request asked, threads& of) {
    const time_point until = clock_.now() + asked.limit;
    const answering by{cluster_, locks_, until};
    struct turn {
        lane* in;
        std::int64_t id;
        std::string pool;
        bool is_taken = false;
        turn(lane* which, const ceph::request& of) : in(which), id(of.id), pool(pool_of(of)) {
            if (in != nullptr) {
                in->waiting.emplace_back(id, pool);
            }
        }
        [[nodiscard]] bool is_next() const {
            const auto next = in->turns.next(in->waiting, [](const auto& one) { return one.second; });
            return next && in->waiting[*next].first == id;
        }
        void stop_waiting() {
            std::erase_if(in->waiting, [this](const auto& one) { return one.first == id; });
        }
        ~turn() {
            if (in != nullptr) {
                stop_waiting();
                if (is_taken) {
                    in->turns.give_back(pool);
                }
                in->changed.notify_all();
            }
        }
    } mine(of.of(asked), asked);
    if (mine.in != nullptr) {
        co_await mine.in->changed.wait([&mine] { return mine.is_next(); }, async::wait_note::work("a thread"));
        mine.stop_waiting();
        mine.in->turns.take(mine.pool);
        mine.is_taken = true;
        mine.in->changed.notify_all();
        if (clock_.now() >= until) {
            co_return ceph::answer{asked.id,
                                   ceph::say::failed{errc::timed_out, "its time was over before it was begun"}};
        }
    }
    auto said = co_await std::visit([&](auto& one) { return by(std::move(one)); }, asked.what);
    co_return ceph::answer{asked.id, std::move(said)};
}

async::awaitable<std::string> sim_ceph_helper::live(services::stream_connection& with) {
    if (is_frozen || is_mute) {
        co_await stand_still();
    }
    with.write_now(*ceph::encode(ceph::greeting{version, "simulated"}));
    std::string end = "exit status 0";
    async::mutex writing;
    threads by;
    co_await async::with_task_group("helper", [&](async::task_group& group) -> async::awaitable<void> {
        protocol::frame_reader frames;
        for (;;) {
            const auto size = co_await with.read(frames.room(), clock_.now() + std::chrono::hours(1));
            if (is_frozen) {
                co_await stand_still();
            }
            if (!size && size.error().code() == errc::timed_out) {
                continue;
            }
            if (!size || *size == 0) {
                break;
            }
            frames.filled(*size);
            for (auto next = frames.take(); next && *next; next = frames.take()) {
                auto asked = ceph::parse_request(**next);
                if (!asked) {
                    end = "exit status 1: " + asked.error().text();
                    co_return group.cancel();
                }
                group.spawn("question",
                            [this, &with, &writing, &by, what = *std::move(asked)]() -> async::awaitable<void> {
                                auto frame = ceph::encode(co_await answer_to(what, by));
                                if (is_frozen) {
                                    co_await stand_still();
                                }
                                const std::string text = spoil ? spoil(*std::move(frame)) : *std::move(frame);
                                const auto turn = co_await writing.lock("its turn to answer");
                                ignore(co_await with.write(text, clock_.now() + helper_write_limit),
                                       "its reader has gone, then");
                            });
            }
        }
        group.cancel();
    });
    co_return end;
}

}  // namespace pvc::sim
