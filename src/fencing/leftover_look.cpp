#include "leftover_look.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/fencing/fence_ledger.hpp"
#include "pvcnoded/model/fence_record.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace pvc::fencing {

namespace {

using answer = result<zookeeper::read_reply>;

constexpr std::array<const char*, 4> guest_suffixes{"", model::domain_key::state, model::domain_key::node_autostart,
                                                    model::domain_key::rbd_list};

std::vector<std::string> node_keys(const std::string& node) {
    return {model::node_path(node, model::node_key::daemon_state), model::node_path(node, model::node_key::keepalive),
            model::node_path(node, "/fenceproof"), model::node_path(node, model::node_key::domain_state),
            model::node_path(node, model::node_key::running_domains)};
}

// A key that is missing is an answer.
async::awaitable<result<std::vector<answer>>> read_all_of(core::session& s, std::vector<std::string> paths) {
    std::vector<zookeeper::read_wish> wishes;
    for (auto& path : paths) {
        wishes.push_back({.path = std::move(path)});
    }
    auto answers = co_await s.zk.read_together(s.limit(), std::move(wishes));
    for (const auto& one : answers) {
        if (!one && one.error().code() != errc::not_found) {
            co_return one.error();
        }
    }
    co_return answers;
}

std::set<uuid> listed_in(const answer& list) {
    std::set<uuid> out;
    for (const auto& one : model::parse_running_domains(list ? list->data : std::string())) {
        if (const auto id = parse_uuid(one)) {
            out.insert(*id);
        }
    }
    return out;
}

// The machines that belong to it or stand in its list, with what decides whether they are left over.
async::awaitable<result<std::vector<policy::leftover_guest>>> guests_of(core::session& s, std::string node,
                                                                        std::set<uuid> listed) {
    PVC_CO_TRY(const auto all, co_await s.zk.children(s.limit(), std::string(model::key_path::domains)));
    std::vector<uuid> ids;
    std::vector<std::string> paths;
    for (const auto& one : all.names) {
        if (const auto id = parse_uuid(one)) {
            ids.push_back(*id);
            paths.push_back(model::domain_path(to_text(*id), model::domain_key::node));
        }
    }
    PVC_CO_TRY(const auto owners, co_await read_all_of(s, std::move(paths)));
    std::vector<policy::leftover_guest> out;
    paths.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (owners[i] && (owners[i]->data == node || listed.contains(ids[i]))) {
            out.push_back({.id = ids[i], .name = {}, .node = owners[i]->data, .is_listed = listed.contains(ids[i])});
            for (const char* suffix : guest_suffixes) {
                paths.push_back(model::domain_path(to_text(ids[i]), suffix));
            }
        }
    }
    PVC_CO_TRY(const auto states, co_await read_all_of(s, std::move(paths)));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto& name = states[guest_suffixes.size() * i];
        const auto& state = states[guest_suffixes.size() * i + 1];
        const auto& autostart = states[guest_suffixes.size() * i + 2];
        const auto& disks = states[guest_suffixes.size() * i + 3];
        out[i].has_rbd = disks && !trim(disks->data).empty();
        out[i].name = name && !name->data.empty() ? shown(name->data) : to_text(out[i].id);
        out[i].state = state ? model::vm_state_or_fallback(state->data) : model::vm_state::unknown;
        out[i].state_id = state ? state->stat.mzxid : 0;
        out[i].autostart = autostart && model::parse_boolean(autostart->data).value_or(false);
        out[i].autostart_id = autostart ? autostart->stat.mzxid : 0;
    }
    co_return out;
}

}  // namespace

async::awaitable<result<leftover_look>> look_at_leftovers(core::session& s, std::string node) {
    PVC_CO_TRY(const auto keys, co_await read_all_of(s, node_keys(node)));
    leftover_look out;
    if (!keys[0] || !keys[1]) {
        co_return failure(errc::not_found, node);
    }
    out.order = {.node = node,
                 .proof = policy::fence_proof::none,
                 .mark_id = keys[0]->stat.mzxid,
                 .heartbeat_id = keys[1]->stat.mzxid};
    const auto proof = keys[2] ? model::parse_fence_proof(keys[2]->data) : std::nullopt;
    if (proof) {
        out.proof_id = keys[2]->stat.mzxid;
        out.order.proof = proof_of(proof->kind);
        out.proof = {.record = proof->record, .by = proof->coordinator, .which = out.order.proof};
        out.proof.is_valid = out.order.mark_id <= out.proof_id && out.order.heartbeat_id <= out.proof_id;
    }
    out.stands = model::parse_daemon_state(keys[0]->data) == model::daemon_state::fenced && proof && out.proof.is_valid;
    out.is_recovering = keys[3] && model::parse_domain_state(keys[3]->data) == model::domain_state::fence_flush;
    if (out.stands && !out.is_recovering) {
        PVC_CO_TRY(const auto guests, co_await guests_of(s, node, listed_in(keys[4])));
        out.left = policy::leftovers_of(node, guests, out.proof_id);
        for (const auto& one : guests) {
            const bool is_left = std::ranges::find(out.left, one.id) != out.left.end();
            out.has_any_without_ceph = out.has_any_without_ceph || (is_left && !one.has_rbd);
            out.names[one.id] = one.name;
        }
    }
    co_return out;
}

async::awaitable<result<void>> shorten_list(core::session& s, recovery_order order, const fence_hold& under,
                                            std::vector<uuid> left) {
    PVC_CO_TRY(const auto keys, co_await read_all_of(s, node_keys(order.node)));
    const bool stands = keys[0] && keys[1] && keys[4] && keys[0]->stat.mzxid == order.mark_id &&
                        keys[1]->stat.mzxid == order.heartbeat_id;
    if (!stands) {
        co_return result<void>();
    }
    std::vector<std::string> rest;
    for (const auto& one : listed_in(keys[4])) {
        if (std::ranges::find(left, one) != left.end()) {
            rest.push_back(to_text(one));
        }
    }
    std::string text = model::running_domains_text(rest);
    if (text == keys[4]->data) {
        co_return result<void>();
    }
    zookeeper::transaction write;
    write.set(model::node_path(order.node, model::node_key::running_domains), std::move(text), keys[4]->stat.version);
    write.check(model::node_path(order.node, model::node_key::daemon_state), keys[0]->stat.version);
    write.check(model::node_path(order.node, model::node_key::keepalive), keys[1]->stat.version);
    under.add_check(write);
    const auto written = co_await s.zk.commit(s.limit(), std::move(write));
    co_return written ? result<void>() : written.error();
}

}  // namespace pvc::fencing
