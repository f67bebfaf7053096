#include "pvcnoded/membership/tree_repair.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/model/schema_apply.hpp"

#include <deque>

namespace pvc::membership {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t workers = 32;  // requests in flight while thousands of objects are looked at

struct checked_object {
    model::key_group group;
    std::string path;
};

// True for what makes going on pointless; an object that vanished or appeared meanwhile is not.
bool is_fatal(const failure& error) {
    return error.code() != errc::not_found && error.code() != errc::already_exists;
}

async::awaitable<result<std::vector<std::string>>> list(core::session& s, std::string path) {
    auto listed = co_await s.zk.children(s.limit(), path);
    if (!listed) {
        if (listed.error().code() == errc::not_found) {
            co_return std::vector<std::string>();
        }
        co_return listed.error();
    }
    co_return std::move(listed->names);
}

async::awaitable<result<void>> create_keys(core::session& s, std::vector<model::key_value> keys) {
    zookeeper::transaction all;
    for (const auto& key : keys) {
        all.create(key.path, key.value);
    }
    auto done = co_await s.zk.commit(s.limit(), std::move(all));
    if (done) {
        co_return result<void>();
    }
    if (is_fatal(done.error()) && done.error().code() != errc::outcome_unknown) {
        co_return done.error();
    }
    // Somebody else creates them too, or the object is going away: one by one, and what exists is fine.
    for (const auto& key : keys) {
        auto one = co_await s.zk.create(s.limit(), key.path, key.value);
        if (!one && one.error().code() == errc::outcome_unknown) {
            one = co_await s.zk.create(s.limit(), key.path, key.value);
        }
        if (!one && is_fatal(one.error())) {
            co_return one.error();
        }
    }
    co_return result<void>();
}

async::awaitable<result<void>> repair_object(core::session& s, checked_object object) {
    model::path_set existing;
    for (const auto& container : model::containers_to_list(s.table, object.group, object.path)) {
        auto names = co_await list(s, container);
        if (!names) {
            co_return names.error();
        }
        model::add_children(existing, container, *names);
    }
    const auto missing = model::missing_keys(s.table, object.group, object.path, existing);
    if (missing.empty()) {
        co_return result<void>();
    }
    auto created = co_await create_keys(s, missing);
    if (created) {
        s.node.log.warning(message::keys_missing, model::missing_keys_text(object.group, object.path, missing.size()),
                           "schema");
    }
    co_return created;
}

// Runs the work of every object, a bounded number at once. The first failure ends it.
async::awaitable<result<void>> repair_all(core::session& s, std::deque<checked_object> todo) {
    result<void> outcome;
    if (todo.empty()) {
        co_return outcome;
    }
    co_await async::for_each_bounded("objects", workers, todo, [&](checked_object& one) -> async::awaitable<void> {
        if (outcome) {
            auto done = co_await repair_object(s, std::move(one));
            if (!done && outcome) {
                outcome = done;
            }
        }
    });
    co_return outcome;
}

async::awaitable<result<std::deque<checked_object>>> find_objects(core::session& s, std::string container, int levels,
                                                                  model::key_group group) {
    std::deque<checked_object> found;
    auto names = co_await list(s, container);
    if (!names) {
        co_return names.error();
    }
    for (const auto& name : *names) {
        const std::string path = model::child_path(container, name);
        if (levels == 1) {
            found.push_back({group, path});
            continue;
        }
        auto below = co_await find_objects(s, path, levels - 1, group);
        if (!below) {
            co_return below.error();
        }
        found.insert(found.end(), below->begin(), below->end());
    }
    co_return found;
}

async::awaitable<result<void>> walk(core::session& s) {
    auto base = co_await repair_object(s, {model::key_group::base, "/"});
    if (!base) {
        co_return base.error();
    }
    for (const auto& source : model::checked_objects()) {
        auto objects = co_await find_objects(s, std::string(source.container), source.levels, source.group);
        if (!objects) {
            co_return objects.error();
        }
        std::deque<checked_object> networks;
        if (source.group == model::key_group::network) {
            networks = *objects;
        }
        auto repaired = co_await repair_all(s, *std::move(objects));
        if (!repaired) {
            co_return repaired.error();
        }
        for (const auto& network : networks) {
            for (const auto& entry : model::checked_network_entries()) {
                auto entries =
                    co_await find_objects(s, network.path + std::string(entry.container), entry.levels, entry.group);
                if (!entries) {
                    co_return entries.error();
                }
                auto done = co_await repair_all(s, *std::move(entries));
                if (!done) {
                    co_return done.error();
                }
            }
        }
    }
    co_return result<void>();
}

async::awaitable<result<void>> repair(core::session& s, foreign_keys foreign) {
    auto done = co_await walk(s);
    if (!done) {
        co_return done.error();
    }
    if (foreign == foreign_keys::remove) {
        for (const auto& path : s.table.foreign_base_paths()) {
            auto removed = co_await remove_recursively(s, path);
            if (!removed) {
                co_return removed.error();
            }
        }
    }
    co_return result<void>();
}

}  // namespace

async::awaitable<result<void>> remove_recursively(core::session& s, std::string path) {
    for (int attempt = 0; attempt < 5; ++attempt) {
        auto removed = co_await s.zk.remove(s.limit(), path, zookeeper::any_version);
        if (removed || removed.error().code() == errc::not_found) {
            co_return result<void>();
        }
        if (removed.error().code() == errc::outcome_unknown) {
            continue;  // gone or not: the next attempt tells
        }
        if (removed.error().code() != errc::not_empty) {
            co_return removed.error();
        }
        auto names = co_await list(s, path);
        if (!names) {
            co_return names.error();
        }
        for (const auto& name : *names) {
            auto below = co_await remove_recursively(s, model::child_path(path, name));
            if (!below) {
                co_return below.error();
            }
        }
    }
    co_return failure(errc::not_empty, path, "somebody keeps adding children");
}

async::awaitable<result<void>> repair_tree(core::session& s, duration lock_limit, foreign_keys foreign) {
    zookeeper::lock_request lock;
    lock.path = std::string(model::key_path::schema_version);
    lock.kind = model::lock_kind::exclusive;
    lock.deadline = s.limit(lock_limit);
    lock.create_ancestors = false;
    lock.task = "schema";
    lock.reason = "validate and apply";
    bool entered = false;
    auto outcome =
        co_await s.locks.with_lock(std::move(lock), [&](zookeeper::held_lock&) -> async::awaitable<result<void>> {
            entered = true;
            co_return co_await repair(s, foreign);
        });
    if (outcome || entered) {
        co_return outcome;
    }
    if (outcome.error().code() == errc::session_lost || outcome.error().code() == errc::suspended) {
        co_return outcome;
    }
    s.node.log.warning(
        message::schema_lock,
        "the lock on /schema/version is not to be had (" + outcome.error().text() + "), validating without it",
        "schema");
    co_return co_await repair(s, foreign);
}

}  // namespace pvc::membership
