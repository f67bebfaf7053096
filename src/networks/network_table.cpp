#include "network_table.hpp"

#include "firewall_keeper.hpp"
#include "link_keeper.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/client_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration together = 100ms;
constexpr duration until_read = 500ms;  // a key that was read again and has not changed tells nobody
constexpr duration guarded_write = 5s;
constexpr duration in_between = 2s;
constexpr std::size_t type_key = 1;

// What the links and the gateways hang on; the node's own data is its description.
constexpr std::array<std::string_view, 7> followed_keys{
    "", "/nettype", "/mtu", "/ip4_network", "/ip4_gateway", "/ip6_network", "/ip6_gateway"};

std::string path_of(std::string_view name) {
    return std::string(model::key_path::networks).append("/").append(name);
}

}  // namespace

bool network_table::watched_network::is_settled() const {
    return std::ranges::all_of(keys, [](const auto& one) { return one->known() && !one->is_outdated(); }) &&
           std::ranges::all_of(acls, &watched_acls::is_settled);
}

network_table::watched_network::version network_table::watched_network::now() const {
    version all;
    for (const auto& key : keys) {
        all.keys += key->changes();
    }
    std::ranges::transform(acls, all.acls.begin(), &watched_acls::now);
    return all;
}

void network_table::watched_network::read(std::string_view name) {
    std::map<std::string, std::string, std::less<>> stored;
    for (std::size_t at = 0; at < followed_keys.size(); ++at) {
        if (keys[at]->present()) {
            stored.emplace(followed_keys[at], keys[at]->data());
        }
    }
    for (const auto& one : acls) {
        one.add_to(stored);
    }
    auto parsed = model::parse_client_network(name, stored);
    if (parsed.network && parsed.network->type == model::network_type::bridged) {
        stored["/nettype"] = "managed";
        parsed.as_managed = model::parse_client_network(name, stored).network;
    }
    last = std::make_shared<const model::parsed_network>(std::move(parsed));
    last_of = now();
}

network_table::network_table(core::session& s, link_keeper& keeper, firewall_keeper& firewall)
    : session_(s), keeper_(keeper), firewall_(firewall) {
    list_ = s.watches.add(std::string(model::key_path::networks), zookeeper::watch_kind::children, changed_);
}

// A tree without /networks says nothing: what is there stays.
void network_table::follow_list() {
    if (!list_->known() || !list_->present()) {
        return;
    }
    if (std::exchange(followed_, list_->changes()) != list_->changes()) {
        follow_names();
    }
    for (auto& [name, network] : networks_) {
        std::ranges::for_each(network.acls, &watched_acls::follow);
    }
}

void network_table::follow_names() {
    const auto& names = list_->names();
    std::erase_if(networks_, [&](const auto& one) { return !std::ranges::binary_search(names, one.first); });
    for (const auto& name : names) {
        if (networks_.contains(name)) {
            continue;
        }
        if (!model::vni_of(name, "")) {
            if (told_names_.size() < 100 && told_names_.insert(name).second) {
                session_.node.log.error(
                    message::network_value,
                    path_of(ascii_only(name)) + ": expected a number from 1 to 16777215 as the name, it is ignored");
            }
            continue;
        }
        auto& network = networks_[name];
        network.rank = rank_of(*model::vni_of(name, ""));
        for (const auto key : followed_keys) {
            network.keys.push_back(
                session_.watches.add(path_of(name).append(key), zookeeper::watch_kind::data, changed_, network.rank));
        }
        for (const auto* direction : {"in", "out"}) {
            network.acls.emplace_back(session_.watches, path_of(name), direction, changed_, network.rank);
        }
    }
}

zookeeper::watch_rank network_table::rank_of(std::uint32_t vni) const {
    return keeper_.has_machines(vni) ? zookeeper::watch_rank::here : zookeeper::watch_rank::elsewhere;
}

void network_table::rank_networks() {
    for (auto& [name, network] : networks_) {
        const auto rank = rank_of(*model::vni_of(name, ""));
        if (std::exchange(network.rank, rank) == rank) {
            continue;
        }
        for (const auto& key : network.keys) {
            session_.watches.set_rank(*key, rank);
        }
        for (auto& acls : network.acls) {
            acls.set_rank(rank);
        }
    }
}

void network_table::tell_budget() {
    const std::size_t unwatched = session_.watches.unwatched();
    if (unwatched > 0 && !std::exchange(has_told_budget_, true)) {
        session_.node.log.warning(
            message::watch_budget,
            fmt::format("{} keys of client networks are beyond the watch budget: a change of one is noticed within "
                        "60 s, of a network that has machines here within 15 s",
                        unwatched));
    }
}

bool network_table::is_settled() const {
    return list_->known() && !list_->is_outdated() &&
           std::ranges::all_of(networks_, [](const auto& one) { return one.second.is_settled(); });
}

bool network_table::is_in_between(watched_network& network) {
    if (network.keys[type_key]->present()) {
        network.untyped_since.reset();
        return false;
    }
    const time_point now = session_.node.clock().now();
    network.untyped_since = network.untyped_since.value_or(now);
    const time_point until = *network.untyped_since + in_between;
    if (now < until) {
        look_again_ = std::min(look_again_.value_or(until), until);
    }
    return now < until;
}

void network_table::hand_over() {
    stored_networks all;
    look_again_.reset();
    for (auto& [name, network] : networks_) {
        // Its node went and the list is not read yet.
        if (!network.keys.front()->present()) {
            continue;
        }
        auto& parsed = all[*model::vni_of(name, "")];
        if (is_in_between(network)) {
            // What was said of it is not over with that.
            parsed = network.last ? network.last : std::make_shared<const model::parsed_network>();
            continue;
        }
        if (network.last_of != network.now()) {
            network.read(name);
        }
        parsed = network.last;
    }
    is_handed_over_ = true;
    keeper_.want(all);
}

void network_table::tell_of_list() {
    const bool is_missing = !list_->present();
    if (is_missing && !has_told_missing_) {
        session_.node.log.warning(
            message::network_value,
            std::string(model::key_path::networks) + " is missing: the links of client networks stay as they are");
    }
    has_told_missing_ = is_missing;
}

async::awaitable<void> network_table::follow() {
    for (;;) {
        follow_list();
        if (is_settled()) {
            tell_of_list();
            tell_budget();
            if (list_->present()) {
                hand_over();
            }
            if (look_again_) {
                const time_point again = *look_again_;
                co_await changed_.wait_until(session_.node.clock(), again, "the type of a network");
            } else {
                co_await changed_.wait(async::wait_note::work("changes below /networks"));
            }
        } else {
            const time_point again = session_.node.clock().now() + until_read;
            co_await changed_.wait_until(session_.node.clock(), again, "the keys of client networks");
        }
        co_await async::sleep_for(session_.node.clock(), together, "what changes together");
    }
}

async::awaitable<void> network_table::run() {
    co_await async::with_task_group("client networks", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("networks", [this] { return follow(); });
        group.spawn("keys without a watch", [this] { return session_.watches.look_in_rounds(); });
        group.spawn("networks with machines", [this] { return follow_looks(); });
        co_await write_mtus();
    });
}

async::awaitable<void> network_table::wait_loaded(time_point deadline) {
    async::wakeup looked;
    const async::latest<std::uint64_t>::observer watch(keeper_.settles(), looked);
    const async::latest<std::uint64_t>::observer filtered(firewall_.settles(), looked);
    while (!is_handed_over_ || !keeper_.is_settled() || !firewall_.is_settled()) {
        co_await looked.wait_until(session_.node.clock(), deadline,
                                   "the links of the client networks, and the firewall");
        if (session_.node.clock().now() >= deadline) {
            session_.node.log.warning(
                message::network_late,
                "the links of the client networks, or their firewall, are not all there, going on");
            co_return;
        }
    }
}

async::awaitable<void> network_table::follow_looks() {
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer looks(keeper_.settles(), changed);
    for (;;) {
        rank_networks();
        co_await changed.wait(async::wait_note::work("a look at the links"));
    }
}

// By the primary alone, and only into a key that is there and empty (zookeeper-schema.md 13, hazard 24): whoever
// removes a network removes its keys one by one, and one that came back would keep the network.
async::awaitable<void> network_table::write_mtus() {
    const bool has_key = session_.table.path("network.mtu", "1").has_value();
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer looks(keeper_.settles(), changed);
    const async::latest<model::router_state>::observer role(session_.node.role.changes(), changed);
    for (;;) {
        if (has_key && session_.node.role.is_primary()) {
            const auto wanted = keeper_.mtus_to_write();
            for (const auto& [vni, mtu] : wanted) {
                co_await write_mtu(vni, mtu);
            }
        }
        co_await changed.wait(async::wait_note::work("an MTU to write"));
    }
}

async::awaitable<void> network_table::write_mtu(std::uint32_t vni, int mtu) {
    const std::string path = path_of(std::to_string(vni)) + "/mtu";
    const std::string primary(model::key_path::primary_node);
    const time_point until = session_.limit(guarded_write);
    auto named = co_await session_.zk.get(until, primary);
    if (!named || !guarded(named->data == session_.node.self())) {
        co_return;
    }
    auto stored = co_await session_.zk.get(until, path);
    if (!stored || (!stored->data.empty() && stored->data != "None")) {
        co_return;
    }
    zookeeper::transaction write;
    write.check(primary, named->stat.version);
    write.set(path, std::to_string(mtu), stored->stat.version);
    auto written = co_await session_.zk.commit(until, std::move(write));
    if (!written && written.error().code() != errc::version_conflict && written.error().code() != errc::not_found) {
        session_.node.log.info(fmt::format("network {}: its MTU was not written: {}", vni, written.error().text()));
    }
}

}  // namespace pvc::networks
