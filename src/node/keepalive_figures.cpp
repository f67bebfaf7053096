// The figures of the tick and what else the node publishes of itself: one transaction, one writer at a time.
// Specification: node-lifecycle.md 6.2 to 6.4; zookeeper-schema.md 3.2.
#include "pvcnoded/node/domains.hpp"
#include "pvcnoded/node/keepalive.hpp"

#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/system_figures.hpp"
#include "pvcnoded/node/registration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace pvc::node {

namespace {
constexpr std::string_view another_write = "another write of own figures";
}

const std::vector<model::key_value>& keepalive::wanted_figures() {
    node_context& node = session_.node;
    if (std::exchange(constants_of_, session_.table.version()) != session_.table.version()) {
        wanted_ = constant_keys(session_);
        constant_count_ = wanted_.size();
    }
    std::size_t at = constant_count_;
    const auto add = [&](std::string_view suffix, std::string value) {
        if (at == wanted_.size() || !wanted_[at].path.ends_with(suffix)) {
            wanted_.resize(at);  // the first tick, or other figures could be read last time
            wanted_.push_back({session_.own(suffix), {}});
        }
        wanted_[at].value = std::move(value);
        ++at;
    };
    auto meminfo = node.port.host.meminfo();
    const auto memory = meminfo ? model::parse_memory_info(*meminfo) : std::nullopt;
    if (memory) {
        const auto figures = model::figures_of(*memory, session_.table.version());
        used_mib_ = figures.used_mib;
        free_mib_ = figures.free_mib;
        add("/memtotal", std::to_string(figures.total_mib));
        add("/memused", std::to_string(figures.used_mib));
        add("/memfree", std::to_string(figures.free_mib));
    }
    auto loadavg = node.port.host.loadavg();
    const auto load = loadavg ? model::parse_load_average(*loadavg) : std::nullopt;
    if (load) {
        load_ = *load;
        add("/cpuload", model::cpu_load_text(*load));
    }
    if (domains_ != nullptr) {
        if (const auto running = domains_->running_text()) {
            add("/runningdomains", *running);
        }
        if (const auto& guests = domains_->figures()) {
            add("/memalloc", std::to_string(guests->allocated_mib));
            add("/memprov", std::to_string(guests->provisioned_mib));
            add("/vcpualloc", std::to_string(guests->vcpus));
            add("/domainscount", std::to_string(guests->active));
        }
    }
    wanted_.resize(at);
    return wanted_;
}

async::awaitable<void> keepalive::read_repairs(time_point deadline) {
    const auto paths = own_keys_.repairs();
    std::vector<zookeeper::read_wish> wishes;
    wishes.reserve(paths.size());
    for (const auto& path : paths) {
        wishes.push_back({path});
    }
    const auto all = co_await session_.zk.read_together(deadline, std::move(wishes));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (all[i]) {
            own_keys_.learned(paths[i], all[i]->data, all[i]->stat.version);
        } else if (all[i].error().code() == errc::not_found) {
            own_keys_.missing(paths[i]);
        }
    }
}

// A key that was deleted and created again by somebody may have the version that is checked, and any value: the entry's
// count of created and deleted children tells.
async::awaitable<void> keepalive::notice_recreated_keys(time_point deadline) {
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

void keepalive::warn_of_foreign_values(const policy::own_keys_plan& plan) {
    const auto constants = std::span(wanted_).first(constant_count_);
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

async::awaitable<result<void>> keepalive::publish(std::string_view suffix, std::function<std::string()> text,
                                                  time_point deadline) {
    const auto turn = co_await writing_.lock_until(session_.node.clock(), deadline, another_write);
    if (!turn) {
        co_return failure(errc::timed_out, session_.own(suffix), "a tick is still writing");
    }
    const std::string path = session_.own(suffix);
    const std::string value = text();
    zookeeper::transaction write;
    const auto of_value = write.overwrite(path, value);
    auto done = co_await session_.zk.commit(deadline, std::move(write));
    if (!done) {
        if (done.error().code() == errc::not_found) {
            own_keys_.missing(path);  // the next tick makes it again
        } else {
            own_keys_.forget();
        }
        co_return done.error();
    }
    own_keys_.learned(path, value, done->of(of_value).version);
    co_return result<void>();
}

async::awaitable<result<zookeeper::commit_reply>> keepalive::publish_with(std::string_view suffix,
                                                                          std::function<std::string()> value,
                                                                          time_point deadline,
                                                                          zookeeper::transaction more) {
    const std::string path = session_.own(suffix);
    const auto turn = co_await writing_.lock_until(session_.node.clock(), deadline, another_write);
    if (!turn) {
        co_return failure(errc::timed_out, path, "a tick is still writing");
    }
    const std::string text = value();
    zookeeper::transaction write;
    const auto of_text = write.overwrite(path, text);
    write.append(std::move(more));
    auto done = co_await session_.zk.commit(deadline, std::move(write));
    if (done) {
        own_keys_.learned(path, text, done->of(of_text).version);
    } else if (done.error().code() == errc::not_found && done.error().subject() == path) {
        own_keys_.missing(path);
    } else if (done.error().code() != errc::version_conflict && done.error().code() != errc::not_found) {
        own_keys_.forget();
    }
    co_return done;
}

async::awaitable<void> keepalive::figures(time_point deadline) {
    if (domains_ != nullptr) {
        // Whatever becomes of it, the figures are written in this tick.
        const duration for_writing =
            std::min<duration>(std::chrono::seconds(1), (deadline - session_.node.clock().now()) / 4);
        co_await domains_->survey(session_, deadline - for_writing);
    }
    const auto turn = co_await writing_.lock_until(session_.node.clock(), deadline, another_write);
    if (turn) {
        co_await write_figures(deadline);
    }
}

async::awaitable<void> keepalive::write_figures(time_point deadline) {
    const auto& wanted = wanted_figures();
    co_await notice_recreated_keys(deadline);
    if (!own_keys_.repairs().empty()) {
        co_await read_repairs(deadline);
    }
    auto plan = own_keys_.plan(wanted);
    if (!own_keys_.repairs().empty() && plan.creates.empty() && plan.sets.empty()) {
        co_await read_repairs(deadline);  // the first tick of a session: little was known yet
        plan = own_keys_.plan(wanted);
    }
    if (std::exchange(reread_, false)) {
        warn_of_foreign_values(plan);
    }
    // A refused key is left out and the rest sent again: every key at most once, and never endlessly.
    for (std::size_t attempt = 0; attempt <= wanted.size(); ++attempt) {
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
            told_unwritten_.clear();
            std::vector<std::int32_t> versions;
            versions.reserve(plan.sets.size());
            for (const auto& one : sets_) {
                versions.push_back(done->of(one).version);
            }
            own_keys_.committed(plan, versions);
            reread_ = std::exchange(read_again_, false);
            if (reread_) {
                own_keys_.forget();  // what the checks could not see is found at the next tick
            } else {
                told_.clear();
            }
            co_return;
        }
        const failure& error = done.error();
        if (error.code() == errc::version_conflict || error.code() == errc::not_found ||
            error.code() == errc::already_exists) {
            session_.node.log.warning(message::figures_key_refused, own_keys_.failed(error.subject()));
            told_.push_back(error.subject());
            plan = own_keys_.plan(wanted);
            continue;
        }
        own_keys_.forget();
        if (std::exchange(told_unwritten_, error.text()) != error.text()) {
            session_.node.log.warning(message::figures_unwritten,
                                      "the node's figures were not written: " + error.text());
        }
        co_return;
    }
}

}  // namespace pvc::node
