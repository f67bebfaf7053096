#include "pvcnoded/core/own_record.hpp"

#include "pvcnoded/core/session.hpp"

#include <algorithm>
#include <span>

namespace pvc::core {

namespace {
constexpr std::string_view another_write = "another write of own keys";
}

void own_record::forget(bool with_entry) {
    keys_.forget();
    if (with_entry) {
        entry_created_ = 0;
    }
}

async::awaitable<result<zookeeper::commit_reply>> own_record::write(std::string_view suffix,
                                                                    std::function<std::string()> text,
                                                                    time_point deadline, zookeeper::transaction more) {
    const std::string path = session_.own(suffix);
    const auto turn = co_await writing_.lock_until(session_.node.clock(), deadline, another_write);
    if (!turn) {
        co_return failure(errc::timed_out, path, "a tick is still writing");
    }
    const std::string value = text();
    zookeeper::transaction write;
    const auto of_value = write.overwrite(path, value);
    write.append(std::move(more));
    auto done = co_await session_.zk.commit(deadline, std::move(write));
    if (done) {
        keys_.learned(path, value, done->of(of_value).version);
    } else if (done.error().code() == errc::not_found && done.error().subject() == path) {
        keys_.missing(path);  // the next tick makes it again
    } else if (done.error().code() != errc::version_conflict && done.error().code() != errc::not_found) {
        keys_.forget();
    }
    co_return done;
}

async::awaitable<void> own_record::read_repairs(time_point deadline) {
    const auto paths = keys_.repairs();
    std::vector<zookeeper::read_wish> wishes;
    wishes.reserve(paths.size());
    for (const auto& path : paths) {
        wishes.push_back({path});
    }
    const auto all = co_await session_.zk.read_together(deadline, std::move(wishes));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (all[i]) {
            keys_.learned(paths[i], all[i]->data, all[i]->stat.version);
        } else if (all[i].error().code() == errc::not_found) {
            keys_.missing(paths[i]);
        }
    }
}

// A key that was deleted and created again by somebody may have the version that is checked, and any value: the entry's
// count of created and deleted children tells.
async::awaitable<void> own_record::notice_recreated_keys(time_point deadline) {
    auto entry = co_await session_.zk.exists(deadline, session_.own());
    if (!entry) {
        co_return;
    }
    const auto& stat = entry->stat;
    if (stat.czxid != entry_created_ || stat.cversion != entry_children_) {
        read_again_ = entry_created_ != 0;
        entry_created_ = stat.czxid;
        entry_children_ = stat.cversion;
    }
}

void own_record::warn_of_foreign_values(const wanted_keys& wanted, const policy::own_keys_plan& plan) {
    const auto constants = std::span(wanted.keys).first(wanted.constant_count);
    const auto warn = [&](const std::vector<model::key_value>& keys) {
        for (const auto& key : keys) {
            const bool is_told = std::ranges::find(told_, key.path) != told_.end();
            if (!is_told && std::ranges::find(constants, key.path, &model::key_value::path) != constants.end()) {
                session_.node.log.warning(message::figures_key_restored,
                                          key.path + " was deleted or replaced by somebody else, restoring it");
            }
        }
    };
    warn(plan.creates);
    warn(plan.sets);
    told_.clear();
}

async::awaitable<void> own_record::write_all(std::function<const wanted_keys&()> make, time_point deadline) {
    const auto turn = co_await writing_.lock_until(session_.node.clock(), deadline, another_write);
    if (turn) {
        co_await write_wanted(make(), deadline);
    }
}

void own_record::take_answer(const policy::own_keys_plan& plan, const zookeeper::commit_reply& answer) {
    told_unwritten_.clear();
    std::vector<std::int32_t> versions;
    versions.reserve(plan.sets.size());
    for (const auto& one : sets_) {
        versions.push_back(answer.of(one).version);
    }
    keys_.committed(plan, versions);
    reread_ = std::exchange(read_again_, false);
    if (reread_) {
        keys_.forget();  // what the checks could not see is found at the next tick
    } else {
        told_.clear();
    }
}

// True: the rest goes on without the key that was in the way.
bool own_record::take_refusal(const failure& error) {
    if (error.code() == errc::version_conflict || error.code() == errc::not_found ||
        error.code() == errc::already_exists) {
        session_.node.log.warning(message::figures_key_refused, keys_.failed(error.subject()));
        told_.push_back(error.subject());
        return true;
    }
    keys_.forget();
    if (std::exchange(told_unwritten_, error.text()) != error.text()) {
        session_.node.log.warning(message::figures_unwritten, "the node's figures were not written: " + error.text());
    }
    return false;
}

async::awaitable<void> own_record::write_wanted(const wanted_keys& wanted, time_point deadline) {
    co_await notice_recreated_keys(deadline);
    if (!keys_.repairs().empty()) {
        co_await read_repairs(deadline);
    }
    auto plan = keys_.plan(wanted.keys);
    if (!keys_.repairs().empty() && plan.creates.empty() && plan.sets.empty()) {
        co_await read_repairs(deadline);  // the first tick of a session: little was known yet
        plan = keys_.plan(wanted.keys);
    }
    if (std::exchange(reread_, false)) {
        warn_of_foreign_values(wanted, plan);
    }
    // A refused key is left out and the rest sent again: every key at most once, and never endlessly.
    for (std::size_t attempt = 0; attempt <= wanted.keys.size(); ++attempt) {
        zookeeper::transaction write;
        write.reserve(plan.creates.size() + plan.sets.size() + plan.checks.size());
        for (const auto& key : plan.creates) {
            write.create(key.path, key.value);
        }
        sets_.clear();
        for (const auto& key : plan.sets) {
            sets_.push_back(write.overwrite(key.path, key.value));
        }
        for (auto& key : plan.checks) {
            write.check(std::move(key.path), key.version);
        }
        if (write.empty()) {
            co_return;
        }
        auto done = co_await session_.zk.commit(deadline, std::move(write));
        if (done) {
            take_answer(plan, *done);
            co_return;
        }
        if (!take_refusal(done.error())) {
            co_return;
        }
        plan = keys_.plan(wanted.keys);
    }
}

}  // namespace pvc::core
