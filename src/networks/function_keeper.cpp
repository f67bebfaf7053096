#include "function_keeper.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration what_comes_together = 100ms;
constexpr duration until_functions_are_read = 500ms;  // a key that was read again and has not changed tells nobody
constexpr duration shortest_wait = 1s;                // what is due and cannot be done is not asked for at once

// In this order in each row.
struct function_key {
    enum place : std::size_t {
        pf,
        mtu,
        vlan_id,
        vlan_qos,
        tx_rate_min,
        tx_rate_max,
        spoof_check,
        link_state,
        trust,
        query_rss,
        used,
        used_by,
        mac,
    };
};
constexpr std::array<std::string_view, 13> followed_names{
    "/pf",
    "/mtu",
    "/config/vlan_id",
    "/config/vlan_qos",
    "/config/tx_rate_min",
    "/config/tx_rate_max",
    "/config/spoof_check",
    "/config/link_state",
    "/config/trust",
    "/config/query_rss",
    "/used",
    "/used_by",
    "/mac",
};

}  // namespace

std::optional<std::string> function_keeper::watched_function::text(std::size_t key) const {
    return keys[key]->present() ? std::optional(keys[key]->data()) : std::nullopt;
}

bool function_keeper::watched_function::is_settled() const {
    return std::ranges::all_of(keys, [](const auto& one) { return one->known() && !one->is_outdated(); });
}

function_keeper::function_keeper(core::session& s, function_cards& cards, netlink::network_stack& stack,
                                 network_counts& counts)
    : session_(s), cards_(cards), stack_(stack), counts_(counts), records_(s, cards), machines_(s, changed_) {
    if (!s.node.config->sriov.enable) {
        return;
    }
    const auto follow_children = [&](std::string path) {
        return s.watches.add(std::move(path), zookeeper::watch_kind::children, changed_);
    };
    card_list_ = follow_children(s.own("/sriov/pf"));
    function_list_ = follow_children(s.own("/sriov/vf"));
    domain_list_ = follow_children(std::string(model::key_path::domains));
}

bool function_keeper::has_keys() const {
    return session_.table.path("node.sriov.vf", session_.node.self()).has_value();
}

void function_keeper::follow_list() {
    if (!function_list_->known()) {
        return;
    }
    const auto& names = function_list_->names();
    std::erase_if(functions_, [&](const auto& one) { return !std::ranges::binary_search(names, one.first); });
    cards_.keep(names);
    for (const auto& name : names) {
        if (functions_.contains(name)) {
            continue;
        }
        auto& keys = functions_[name].keys;
        const std::string path = policy::function_path(session_.own("/sriov"), name);
        for (const auto key : followed_names) {
            keys.push_back(session_.watches.add(path + std::string(key), zookeeper::watch_kind::data, changed_));
        }
    }
}

bool function_keeper::is_settled() const {
    const auto is_read = [](const auto& one) { return one->known() && !one->is_outdated(); };
    return is_read(card_list_) && is_read(function_list_) && card_list_->present() && function_list_->present() &&
           std::ranges::all_of(functions_, [](const auto& one) { return one.second.is_settled(); });
}

bool function_keeper::is_complete() const {
    return std::ranges::all_of(session_.node.config->sriov.devices, [this](const config::sriov_device& card) {
        const auto* const seen = cards_.seen(card.phy);
        return seen == nullptr || std::ranges::all_of(seen->functions, [&](const model::virtual_function& function) {
                   const auto found = functions_.find(model::to_text(model::function_name{card.phy, function.index}));
                   return function.pci.empty() || (found != functions_.end() && found->second.is_settled());
               });
    });
}

// A planted defect.
async::awaitable<void> function_keeper::write_back(std::string name, std::string stored) {
    const auto own = model::parse_function_name(name);
    const auto* const card = own ? cards_.seen(own->card) : nullptr;
    const auto* const function = card != nullptr ? card->find(own->index) : nullptr;
    if (function != nullptr && function->vlan && std::to_string(function->vlan->id) != stored) {
        const std::string key = policy::function_path(session_.own("/sriov"), name) + "/config/vlan_id";
        zookeeper::transaction write;
        write.overwrite(key, std::to_string(function->vlan->id));
        auto written = co_await session_.zk.commit(session_.limit(), std::move(write));
        ignore(written, "a planted defect");
    }
}

async::awaitable<void> function_keeper::pass() {
    co_await cards_.look();
    const bool was_complete = is_complete();  // else new ones have their keys in the next pass
    function_records::present known{card_list_->names(), {}};
    for (const auto& [name, one] : functions_) {
        known.functions.emplace(name, one.text(function_key::pf));
    }
    co_await records_.settle(known);
    for (const auto& [name, card] : known.functions) {
        const auto found = functions_.find(name);
        if (found == functions_.end() || policy::is_obsolete(*session_.node.config, name, card)) {
            continue;
        }
        const auto& one = found->second;
        if (is_planted(defect::function_written_back)) {
            co_await write_back(name, one.text(function_key::vlan_id).value_or(""));
        }
        policy::function_keys stored{one.text(function_key::vlan_id),     one.text(function_key::vlan_qos),
                                     one.text(function_key::tx_rate_min), one.text(function_key::tx_rate_max),
                                     one.text(function_key::spoof_check), one.text(function_key::link_state),
                                     one.text(function_key::trust),       one.text(function_key::query_rss)};
        co_await cards_.settle(name, policy::function_path(session_.own("/sriov"), name), std::move(stored),
                               one.text(function_key::mtu));
    }
    co_await cards_.look();  // what drivers made of it
    co_await settle_users();
    is_loaded_.set(is_loaded_.value() || was_complete);
}

// A list that could not be read is not an empty one.
policy::function_view function_keeper::view() const {
    policy::function_view now;
    now.self = session_.node.self();
    const bool is_read =
        domain_list_->known() && domain_list_->present() && !domain_list_->is_outdated() && session_.zk.is_connected();
    now.domains = is_read ? &domain_list_->names() : nullptr;
    for (const auto& [name, one] : functions_) {
        policy::function_use use;
        use.name = name;
        use.is_used = one.text(function_key::used) == model::boolean_text(true);
        use.used_by = one.text(function_key::used_by).value_or("");
        use.is_whole = one.keys[function_key::used]->present() && one.keys[function_key::used_by]->present();
        for (const auto key : {function_key::used, function_key::used_by, function_key::mac}) {
            use.written = std::max(use.written, one.keys[key]->present() ? one.keys[key]->stat().mzxid : 0);
        }
        now.functions.push_back(std::move(use));
    }
    return now;
}

async::awaitable<void> function_keeper::settle_users() {
    auto& clock = session_.node.clock();
    auto now = view();
    machines_.follow(now);
    machines_.put(now);
    changes_.see(clock.now(), now);
    for (auto& change : changes_.due(clock.now())) {
        const bool is_free = change.what == policy::function_change::kind::free;
        const std::string name = change.function;
        const bool is_done = co_await records_.change_user(std::move(change));
        if (is_done && is_free) {
            ++counts_.function_releases;
        }
        changes_.failed(name, clock.now());  // until its keys are seen as they were written
    }
    tell_contested();
}

void function_keeper::tell_contested() {
    told_ = session_.node.clock().now();
    std::map<std::string, std::vector<policy::network_remark>> said;
    for (const auto& [name, one] : functions_) {
        said[name];
    }
    for (const auto& one : changes_.contested(told_)) {
        said[one.function].push_back(
            {message::sriov_claimed, false,
             fmt::format("virtual function {}: the virtual machine {} has it by its XML and runs "
                         "here, but it is used by {} of this node: nothing is changed",
                         one.function, to_text(one.taker->id), to_text(one.user->id))});
    }
    for (auto& [name, remarks] : said) {
        cards_.remarks().tell("users of " + name, std::move(remarks));
    }
}

std::optional<time_point> function_keeper::next_try() const {
    std::optional<time_point> first;
    const auto read = machines_.is_settled() ? std::nullopt : std::optional(session_.node.clock().now());
    for (const auto& one : {cards_.next_try(), records_.next_try(), changes_.next(told_), read}) {
        if (one) {
            first = std::min(first.value_or(time_point::max()), *one);
        }
    }
    return first;
}

async::awaitable<void> function_keeper::follow() {
    auto& clock = session_.node.clock();
    for (;;) {
        if (!has_keys()) {
            co_await changed_.wait(async::wait_note::work("a schema with virtual functions"));
            continue;
        }
        follow_list();
        if (!is_settled()) {
            co_await changed_.wait_until(clock, clock.now() + until_functions_are_read,
                                         "the keys of virtual functions");
        } else {
            co_await pass();
            if (const auto next = next_try()) {
                const time_point until = std::max(*next, clock.now() + shortest_wait);
                co_await changed_.wait_until(clock, until, "another try");
            } else {
                co_await changed_.wait(async::wait_note::work("changes of virtual functions"));
            }
        }
        co_await async::sleep_for(clock, what_comes_together, "what changes together");
    }
}

async::awaitable<void> function_keeper::follow_links() {
    async::wakeup changed;
    const auto watch = stack_.watch(changed);
    for (;;) {
        co_await changed.wait(async::wait_note::work("a change of links"));
        cards_.want_look();
        changed_.notify();
    }
}

async::awaitable<void> function_keeper::run() {
    const async::latest<int>::observer versions(session_.node.schema_version, changed_);
    co_await async::with_task_group("virtual functions", [this](async::task_group& group) -> async::awaitable<void> {
        if (!session_.node.config->sriov.enable) {
            async::wakeup never;
            co_await never.wait(async::wait_note::work("nothing: SR-IOV is off"));
            co_return;
        }
        cards_.want_look();  // nobody watched between two sessions
        group.spawn("links of cards", [this] { return follow_links(); });
        co_await follow();
    });
}

async::awaitable<void> function_keeper::wait_loaded(time_point deadline) {
    if (!session_.node.config->sriov.enable || !has_keys()) {
        co_return;
    }
    async::wakeup loaded;
    const async::latest<bool>::observer watch(is_loaded_, loaded);
    while (!is_loaded_.value() && session_.node.clock().now() < deadline) {
        co_await loaded.wait_until(session_.node.clock(), deadline, "the virtual functions");
    }
}

}  // namespace pvc::networks
