#include "operations/operation.hpp"

#include "operations/disk_users.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/hand_over.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;

namespace {
constexpr duration list_patience = 2s;
}  // namespace

std::string operation::name() const {
    return here.name.empty() ? to_text(id) : shown(here.name);
}

placement::rbd_clearing operation::rbd_locks() const {
    return {rbd, clock(), placement::addresses_of(*node.config),
            [this](policy::act::line what) { say(std::move(what)); },
            [this](std::vector<std::string> volumes, time_point until) {
                return looks.look(*this, std::move(volumes), until);
            }};
}

void operation::say(policy::act::line what) const {
    using level = policy::act::line::level;
    switch (what.how) {
        case level::info: info(std::move(what.text)); break;
        case level::state: state(std::move(what.text)); break;
        case level::warning: warning(what.id, what.text); break;
        case level::error: error(what.id, what.text); break;
    }
}

std::string operation::address_of(std::string_view peer) const {
    const std::string& domain = node.config->networks.cluster.domain;
    return domain.empty() ? std::string(peer) : std::string(peer) + "." + domain;
}

async::awaitable<std::optional<guest_class>> operation::ask_class() {
    const std::uint64_t since = observed.events();
    auto status = co_await hv.status(id, now() + query_limit);
    if (!status && status.error().code != hypervisor::call_error::no_domain) {
        co_return std::nullopt;
    }
    observed.take_one(id, status ? *status : model::guest_status{}, since);
    co_return guest();
}

async::awaitable<bool> operation::wait_absent(time_point deadline) {
    while (guest() && !is_guest(guest_class::absent)) {
        if (now() >= deadline) {
            co_return false;
        }
        co_await wait(deadline, "the guest to be gone");
    }
    co_return is_guest(guest_class::absent);
}

async::awaitable<write_end> operation::commit(zookeeper::transaction what, written_keys sets) {
    for (const auto* lock : locks) {
        lock->add_check(what);
    }
    auto done = co_await s.zk.commit(s.limit(), std::move(what));
    if (!done) {
        table.mark(row);
        const errc code = done.error().code();
        const bool is_overtaken =
            code == errc::version_conflict || code == errc::not_found || code == errc::already_exists;
        if (!is_overtaken) {
            warning(message::domain_unwritten, "its keys were not written: " + done.error().text());
            pause(1s);
        }
        co_return is_overtaken ? write_end::overtaken : write_end::failed;
    }
    if (sets.state) {
        const auto& [state, handle] = *sets.state;
        row.state = state;
        row.state_version = done->of(handle).version;
        row.state_changed = done->of(handle).mzxid;
        here.is_handed_over = false;  // read anew with the key that says so
        here.state_since = now();
    }
    if (sets.node) {
        const auto& [to, handle] = *sets.node;
        row.node_version = done->of(handle).version;
        row.node_changed = done->of(handle).mzxid;
        row.is_owner = to == node.self();
    }
    if (sets.last_node) {
        const auto& [last, handle] = *sets.last_node;
        here.last_node = last;
        here.last_node_version = handle ? done->of(*handle).version : 0;
    }
    table.mark(row);
    co_return write_end::written;
}

async::awaitable<write_end> operation::write_state(model::vm_state state, zookeeper::transaction more) {
    zookeeper::transaction what;
    const bool is_blind = state == model::vm_state::stop && is_planted(defect::blind_stop_write);
    const auto of_state = what.set(key(model::domain_key::state), std::string(to_text(state)),
                                   is_blind ? zookeeper::any_version : row.state_version);
    what.append(std::move(more));
    what.check(key(model::domain_key::node), row.node_version);
    return commit(std::move(what), {.state = {{state, of_state}}});
}

async::awaitable<write_end> operation::write_placement(model::vm_state state, std::string to, std::string last,
                                                       zookeeper::transaction checks) {
    zookeeper::transaction what;
    const bool is_blind = is_planted(defect::blind_rollback);
    written_keys sets;
    sets.state = {state, what.set(key(model::domain_key::state), std::string(to_text(state)),
                                  is_blind ? zookeeper::any_version : row.state_version)};
    sets.node = {to, what.set(key(model::domain_key::node), to, is_blind ? zookeeper::any_version : row.node_version)};
    if (here.last_node_version < 0) {
        what.create(key(model::domain_key::last_node), last);  // it is missing, which means empty (README ruling 27)
        sets.last_node = {std::move(last), std::nullopt};
    } else {
        const auto of_last = what.set(key(model::domain_key::last_node), last, here.last_node_version);
        sets.last_node = {std::move(last), of_last};
    }
    what.append(std::move(checks));
    co_return co_await commit(std::move(what), std::move(sets));
}

async::awaitable<bool> operation::write_own(std::string_view suffix, std::string value) {
    auto stored = co_await s.zk.get(s.limit(), key(suffix));
    if (!stored && stored.error().code() != errc::not_found) {
        co_return false;
    }
    if (!stored || stored->data == value || row.state == model::vm_state::deleted) {
        co_return true;  // a key that is gone is not made again, and nothing is written once `delete` was seen
    }
    if (suffix == model::domain_key::migrate_sync_lock && stored->data == policy::hand_over_mark(id) &&
        stored->stat.mzxid >= row.state_changed) {
        table.mark(row);  // the hand-over of this `stop`, or of one that is not read yet: not ours to clear
        co_return true;
    }
    zookeeper::transaction what;
    const auto of_key = what.set(key(suffix), value, stored->stat.version);
    auto done = co_await s.zk.commit(s.limit(), std::move(what));
    if (!done && done.error().code() == errc::version_conflict) {
        const auto now = co_await s.zk.get(s.limit(), key(suffix));
        if (now && now->data == value) {
            co_return true;  // the other side of a migration clears the same word
        }
    }
    if (done && suffix == model::domain_key::migrate_sync_lock) {
        here.migration.sync_written = done->of(of_key).mzxid;
    }
    if (!done && done.error().code() != errc::not_found) {
        warning(message::domain_key_unwritten,
                "the key " + std::string(suffix) + " was not written: " + done.error().text());
    }
    co_return done || done.error().code() == errc::not_found;
}

async::awaitable<bool> operation::set_listed(bool runs) {
    here.listing.is_listed = runs || here.listing.lost_creation;
    list.set(id, here.listing.is_listed);
    const bool written = co_await list.settled(clock(), now() + list_patience);
    if (!written && s.zk.is_connected()) {
        warning(message::running_list_late, "the running list was not written in time");
    }
    co_return written;
}

}  // namespace pvc::domains
