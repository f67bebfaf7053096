#include "guest_view.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace pvc::fencing {

using reply = result<zookeeper::read_reply>;

namespace {

// In this order: those that are read again, then the rest.
constexpr std::size_t victim_state = 0;
constexpr std::size_t victim_heartbeat = 1;
constexpr std::size_t own_lock = 2;
constexpr std::size_t state_key = 3;
constexpr std::size_t node_key = 4;
constexpr std::size_t name_key = 5;
constexpr std::size_t last_node_key = 6;
constexpr std::size_t autostart_key = 7;
constexpr std::size_t xml_key = 8;
constexpr std::size_t rbd_list_key = 9;
constexpr std::size_t node_limit_key = 10;
constexpr std::size_t node_selector_key = 11;
constexpr std::size_t all_keys = 12;
constexpr std::size_t keys_again = 5;

bool is_missing(const reply& one) {
    return !one && one.error().code() == errc::not_found;
}

// Nobody answered: nothing is known.
bool is_unknown(const reply& one) {
    return !one && one.error().code() != errc::not_found;
}

std::string text_of(const reply& one) {
    return one ? one->data : std::string();
}

std::int32_t version_of(const reply& one) {
    return one ? one->stat.version : -1;
}

void take_definition(guest_view& into, policy::guest_keys& keys, const reply& xml, const reply& rbd_list) {
    model::domain_xml stored;
    if (is_missing(xml)) {
        keys.unreadable = "it has none";
    } else if (auto parsed = model::parse_domain_xml(xml->data)) {
        stored = *std::move(parsed);
    } else {
        keys.unreadable = parsed.error().cause().empty() ? parsed.error().text() : parsed.error().cause();
    }
    keys.volumes = model::rbd_volumes(text_of(rbd_list), stored);
    keys.are_all_rbd = keys.unreadable.empty() && !stored.disks.empty() &&
                       std::ranges::all_of(stored.disks, [](const model::disk_view& disk) { return disk.is_rbd; });
    into.memory_mib = stored.memory_mib;
    into.vcpus = stored.vcpus;
}

}  // namespace

std::string guest_reader::key(std::string_view suffix) const {
    return model::domain_path(to_text(id_), suffix);
}

// Where the lock is lost a key that nobody has.
std::string guest_reader::lock_path() const {
    const std::string child = under_.child();
    return child.empty() ? std::string(model::key_path::fence_lock) + "/lost" : child;
}

std::vector<zookeeper::read_wish> guest_reader::wishes() const {
    using namespace model;
    return {{.path = node_path(order_.node, model::node_key::daemon_state)},
            {.path = node_path(order_.node, model::node_key::keepalive)},
            {.path = lock_path(), .with_data = false},
            {.path = key(domain_key::state)},
            {.path = key(domain_key::node)},
            {.path = key({})},
            {.path = key(domain_key::last_node)},
            {.path = key(domain_key::node_autostart)},
            {.path = key(domain_key::xml)},
            {.path = key(domain_key::rbd_list)},
            {.path = key(domain_key::node_limit)},
            {.path = key(domain_key::node_selector)}};
}

void guest_reader::take_victim(guest_view& into, std::span<const reply> answers) const {
    const auto& state = answers[victim_state];
    const auto& heartbeat = answers[victim_heartbeat];
    policy::victim_seen victim;
    victim.is_gone = is_missing(state) || is_missing(heartbeat);
    if (state) {
        victim.state = model::parse_daemon_state(state->data);
        victim.state_id = state->stat.mzxid;
        into.sent = state->sent;
    }
    if (heartbeat) {
        victim.heartbeat_id = heartbeat->stat.mzxid;
    }
    into.said.victim = victim;
    into.said.has_lock = under_.holds() && answers[own_lock].has_value();
    into.versions.victim_state = version_of(state);
    into.versions.victim_heartbeat = version_of(heartbeat);
}

void guest_reader::take_guest(guest_view& into, std::span<const reply> answers) const {
    if (is_missing(answers[state_key]) || is_missing(answers[node_key])) {
        into.said.guest.reset();
        return;
    }
    policy::guest_keys& keys = *into.said.guest;
    keys.state = model::vm_state_or_fallback(answers[state_key]->data);
    keys.state_id = answers[state_key]->stat.mzxid;
    keys.node = answers[node_key]->data;
    into.versions.state = version_of(answers[state_key]);
    into.versions.node = version_of(answers[node_key]);
}

async::awaitable<guest_view> guest_reader::read(time_point until) const {
    const auto answers = co_await session_.zk.read_together(until, wishes());
    guest_view out;
    if (answers.size() != all_keys || std::ranges::any_of(answers, is_unknown)) {
        co_return out;
    }
    take_victim(out, answers);
    if (is_missing(answers[name_key])) {
        co_return out;
    }
    policy::guest_keys& keys = out.said.guest.emplace();
    const auto& last = answers[last_node_key];
    const auto& autostart = answers[autostart_key];
    keys.last_node = model::is_no_value(text_of(last)) ? std::string() : text_of(last);
    keys.autostart = model::parse_boolean(text_of(autostart)).value_or(false);
    keys.autostart_id = autostart ? autostart->stat.mzxid : 0;
    take_definition(out, keys, answers[xml_key], answers[rbd_list_key]);
    out.name = answers[name_key]->data.empty() ? to_text(id_) : shown(answers[name_key]->data);
    out.versions.last_node = version_of(last);
    out.versions.autostart = version_of(autostart);
    out.node_limit = text_of(answers[node_limit_key]);
    out.node_selector = text_of(answers[node_selector_key]);
    take_guest(out, answers);
    const bool is_going_off = out.said.guest && out.said.guest->state == model::vm_state::shutdown;
    if (is_going_off && out.said.guest->node == order_.node) {
        co_return co_await read_with_lists(std::move(out), until);
    }
    co_return out;
}

// The lists of the others in one view with the rest: who lists it has it.
async::awaitable<guest_view> guest_reader::read_with_lists(guest_view before, time_point until) const {
    guest_view out = std::move(before);
    const auto names = co_await nodes_but(session_, order_.node, until);
    auto all = wishes();
    all.resize(keys_again);
    for (const auto& name : names ? *names : std::vector<std::string>()) {
        all.push_back({.path = model::node_path(name, model::node_key::running_domains)});
    }
    const auto answers = co_await session_.zk.read_together(until, std::move(all));
    if (!names || std::ranges::any_of(answers, is_unknown)) {
        out.said.victim.reset();
        co_return out;
    }
    for (std::size_t i = 0; i < names->size(); ++i) {
        if (model::lists_domain(text_of(answers[keys_again + i]), id_)) {
            out.said.guest->listed_by.push_back((*names)[i]);
        }
    }
    take_victim(out, answers);
    take_guest(out, answers);
    co_return out;
}

async::awaitable<guest_view> guest_reader::read_again(const guest_view& before, time_point until) const {
    auto all = wishes();
    all.resize(keys_again);
    const auto answers = co_await session_.zk.read_together(until, std::move(all));
    guest_view out = before;
    if (std::ranges::any_of(answers, is_unknown) || !before.said.guest) {
        out.said.victim.reset();
        co_return out;
    }
    take_victim(out, answers);
    take_guest(out, answers);
    co_return out;
}

async::awaitable<result<std::vector<std::string>>> nodes_but(core::session& s, std::string one, time_point until) {
    auto names = co_await s.zk.children(until, std::string(model::key_path::nodes));
    if (!names) {
        co_return names.error();
    }
    std::erase(names->names, one);
    co_return std::move(names->names);
}

}  // namespace pvc::fencing
