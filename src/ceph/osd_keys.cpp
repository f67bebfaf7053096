#include "osd_keys.hpp"

#include <algorithm>
#include <array>

namespace pvc::ceph {

using namespace std::chrono_literals;

namespace {

constexpr int write_attempts = 5;
constexpr duration write_pause = 100ms;
constexpr duration connection_limit = 30s;  // a session that is away for longer is lost
constexpr std::size_t paths_max = 100;      // below one object

// What anybody writes at any time says nothing of where an OSD is.
constexpr std::array guarded{std::string_view("osd.node"),  std::string_view("osd.device"),
                             std::string_view("osd.ofsid"), std::string_view("osd.cfsid"),
                             std::string_view("osd.vg"),    std::string_view("osd.lv")};

bool may_be_tried_again(errc code) {
    switch (code) {
        case errc::version_conflict:
        case errc::already_exists:
        case errc::not_found:
        case errc::not_empty:
        case errc::outcome_unknown:
        case errc::suspended:
        case errc::timed_out: return true;
        default: return false;
    }
}

// All paths of a tree, parents first.
async::awaitable<result<std::vector<std::string>>> paths_below(core::session& s, std::string root) {
    std::vector<std::string> all{std::move(root)};
    for (std::size_t at = 0; at < all.size(); ++at) {
        const std::string parent = all[at];
        auto read = co_await s.zk.children(s.limit(), parent);
        if (!read && read.error().code() == errc::not_found && at > 0) {
            continue;
        }
        if (!read) {
            co_return std::move(read).error();
        }
        for (const auto& name : read->names) {
            all.push_back(model::child_path(parent, name));
        }
        if (all.size() > paths_max) {
            co_return failure(errc::too_large, all.front(), "more than 100 keys are below it");
        }
    }
    co_return all;
}

// One attempt after the other while the failure may be due to what others write, or to the connection.
async::awaitable<result<void>> tried(core::session& s, std::function<async::awaitable<result<void>>()> attempt) {
    for (int tries = 1;; ++tries) {
        auto done = co_await attempt();
        if (done || tries == write_attempts || !may_be_tried_again(done.error().code())) {
            co_return done;
        }
        auto connected = co_await s.zk.wait_connected(s.limit(connection_limit));
        if (!connected) {
            co_return connected.error();
        }
        co_await async::sleep_for(s.node.clock(), write_pause, "another attempt to write an OSD's keys");
    }
}

}  // namespace

async::awaitable<result<osd_keys>> read_osd_keys(core::session& s, std::string id) {
    osd_keys read;
    read.id = std::move(id);
    const auto keys = s.table.keys(model::key_group::osd);
    std::vector<zookeeper::read_wish> wishes;
    for (const auto* key : keys) {
        wishes.push_back({*s.table.path(key->id, read.id)});
    }
    auto answers = co_await s.zk.read_together(s.limit(), std::move(wishes));
    for (std::size_t at = 0; at < keys.size(); ++at) {
        auto& answer = answers[at];
        if (!answer && answer.error().code() != errc::not_found) {
            co_return std::move(answer).error();
        }
        policy::stored_key one{keys[at]->id};
        if (answer) {
            one.value = std::move(answer->data);
            read.stats.emplace(keys[at]->id, answer->stat);
        }
        read.stored.push_back(std::move(one));
    }
    co_return read;
}

zookeeper::transaction write_of(const core::session& s, const osd_keys& read,
                                const std::vector<policy::key_value>& writes) {
    zookeeper::transaction write;
    for (const auto key : guarded) {
        const auto found = read.stats.find(key);
        if (found != read.stats.end() && std::ranges::find(writes, key, &policy::key_value::key) == writes.end()) {
            write.check(*s.table.path(key, read.id), found->second.version);
        }
    }
    for (const auto& one : writes) {
        const std::string path = *s.table.path(one.key, read.id);
        const auto found = read.stats.find(one.key);
        if (found == read.stats.end()) {
            write.create(path, one.value);
        } else {
            write.set(path, one.value, found->second.version);
        }
    }
    return write;
}

async::awaitable<result<void>> write_osd(core::session& s, std::string id, std::vector<policy::key_value> wanted,
                                         write_guard guard) {
    const auto attempt = [&]() -> async::awaitable<result<void>> {
        PVC_CO_TRY(const auto read, co_await read_osd_keys(s, id));
        const auto writes = policy::differing(read.stored, wanted);
        if (writes.empty()) {
            co_return result<void>();
        }
        auto write = write_of(s, read, writes);
        guard(write);
        auto written = co_await s.zk.commit(s.limit(), std::move(write));
        co_return written ? result<void>() : result<void>(written.error());
    };
    auto done = co_await tried(s, attempt);
    co_return done;
}

async::awaitable<result<void>> remove_osd(core::session& s, std::string id, write_guard guard) {
    const auto attempt = [&]() -> async::awaitable<result<void>> {
        auto paths = co_await paths_below(s, *s.table.path("osd.id", id));
        if (!paths) {
            const bool is_gone = paths.error().code() == errc::not_found;
            co_return is_gone ? result<void>() : result<void>(paths.error());
        }
        zookeeper::transaction write;
        for (auto path = paths->rbegin(); path != paths->rend(); ++path) {
            write.remove(*path, zookeeper::any_version);
        }
        guard(write);
        auto written = co_await s.zk.commit(s.limit(), std::move(write));
        co_return written ? result<void>() : result<void>(written.error());
    };
    auto done = co_await tried(s, attempt);
    co_return done;
}

}  // namespace pvc::ceph
