#include "link_keeper.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/networks/names_of_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration between_looks = 100ms;
constexpr int share_of_looks = 10;
constexpr duration longest_between_looks = 5s;
constexpr int most_changes_in_row = 3;
constexpr duration device_limit = 30s;  // for the device of the cluster network, before ZooKeeper
constexpr duration running_limit = 3s;  // for bridges to run
constexpr duration running_check = 500ms;
constexpr duration names_again = 10s;
constexpr duration least_names_pause = 100ms;
constexpr duration most_names_pause = 5s;
constexpr int share_of_names = 10;

}  // namespace

link_keeper::link_keeper(core::node_context& node, netlink::network_stack& stack, network_counts& counts,
                         bridge_record& bridges)
    : node_(node),
      work_(node, stack, counts),
      remarks_(node.log, &node.clock()),
      damages_(node.log, node.clock()),
      host_(node, work_, remarks_, damages_, bridges),
      clients_(node, work_, remarks_, damages_, bridges),
      bridges_(bridges) {
    bridges_.on_noted = [this] { noted(); };
    node_.bridges.begin();
    node_.bridges.on_wanted = [this] { changed_.notify(); };
}

link_keeper::~link_keeper() {
    node_.bridges.on_wanted = nullptr;
}

std::optional<time_point> link_keeper::next_try() const {
    if (look_pause_.until()) {
        return look_pause_.until();  // nothing is tried on what cannot be seen
    }
    std::optional<time_point> first;
    for (const auto& one : {host_.next_try(), clients_.next_try(), remarks_.next_due(), damages_.next_due()}) {
        if (one) {
            first = std::min(first.value_or(time_point::max()), *one);
        }
    }
    return first;
}

async::awaitable<bool> link_keeper::settle() {
    remarks_.tell_due();
    damages_.tell_due();
    const time_point begun = node_.clock().now();
    node_.bridges.begin_look();
    auto seen = co_await work_.look();
    looked_ = node_.clock().now();
    look_time_ = looked_ - begun;
    if (!seen) {
        look_pause_.failed(node_.clock().now());
        const std::string text = "the links of this machine cannot be looked at: " + seen.error().text();
        std::vector<policy::network_remark> said{{message::network_unseen, true, text + ", trying again"}};
        remarks_.tell("look", std::move(said));
        co_return false;
    }
    look_pause_.succeeded();
    remarks_.tell("look", {});
    bridges_.note_unknown(*seen);
    note_machines(*seen);
    work_.name_devices(*seen);
    bool has_changed = co_await host_.settle(*seen);
    if (are_settings_made_) {
        // Of links that came late too, and what somebody changed (routing daemons do).
        co_await host_.apply_settings(*seen);
    }
    if (!has_changed) {
        has_changed = co_await clients_.settle(*seen);
        if (clients_.take_names_wanted()) {
            names_due_.notify();
        }
    }
    changes_in_row_ = has_changed ? changes_in_row_ + 1 : 0;
    // Of what was made now the next look tells the indexes. Where somebody changes links all the time there is no
    // other.
    if (!has_changed || changes_in_row_ >= most_changes_in_row) {
        tell_filtered();  // rules wait for no record
        waits_for_note_ = !bridges_.is_noted();
        if (!waits_for_note_) {
            tell_networks();
        }
    }
    if (!has_changed && !waits_for_note_) {
        on_look(*seen);
    }
    tell_bridges(*seen, has_changed);
    settles_.set(settles_.value() + 1);
    co_return has_changed;
}

void link_keeper::tell_bridges(const model::network_state& seen, bool has_changed) {
    core::host_bridges::look now;
    for (const auto& link : seen.links()) {
        if (link.kind == "bridge") {
            now.there.insert(link.name);
        }
    }
    now.knows_networks = clients_.is_told();
    for (const auto& [vni, row] : clients_.rows()) {
        if (row.is_gone) {
            continue;
        }
        const std::string name = fmt::format("vmbr{}", vni);
        now.wanted.emplace(name, row.wanted ? row.trouble : "its keys cannot be used");
        if (row.wanted && row.plan && row.plan->is_refused) {
            const auto& said = row.plan->remarks;
            const auto why = std::ranges::find_if(said, &policy::network_remark::is_error);
            now.refused.emplace(name, why == said.end() ? "it is refused" : why->text);
        }
    }
    const bool is_filtered = !are_filtered || are_filtered() || is_planted(defect::rules_not_awaited);
    node_.bridges.set(std::move(now), !has_changed && is_settled() && is_filtered);
}

void link_keeper::note_machines(const model::network_state& seen) {
    with_machines_.clear();
    for (const auto& link : seen.links()) {
        const auto vni = link.kind == "bridge" ? model::vni_of(link.name, "vmbr") : std::nullopt;
        const auto is_machine = [](const auto* port) { return port->kind != "vxlan" && port->kind != "vlan"; };
        if (vni && std::ranges::any_of(seen.ports_of(link.index), is_machine)) {
            with_machines_.insert(*vni);
        }
    }
}

void link_keeper::noted() {
    if (std::exchange(waits_for_note_, false)) {
        tell_networks();
        changed_.notify();
    }
}

async::awaitable<void> link_keeper::set_up_host() {
    async::wakeup changed;
    const auto watch = work_.stack().watch(changed);
    const time_point until = node_.clock().now() + device_limit;
    for (;;) {
        bool has_changed = co_await settle();
        for (int again = 0; has_changed && again < 3; ++again) {
            has_changed = co_await settle();
        }
        if (!host_.is_cluster_device_missing() && !look_pause_.until()) {
            co_return;
        }
        const time_point next = std::min(until, next_try().value_or(until));
        co_await changed.wait_until(node_.clock(), next, "the device of the cluster network");
        if (node_.clock().now() >= until) {
            co_return;  // it was said
        }
        co_await async::sleep_for(node_.clock(), between_looks, "what changes together");
    }
}

async::awaitable<void> link_keeper::finish_host() {
    auto links = co_await work_.look();
    co_await host_.apply_settings(links ? std::optional(*std::move(links)) : std::nullopt);
    are_settings_made_ = true;
    async::wakeup changed;
    const auto watch = work_.stack().watch(changed);
    const time_point until = node_.clock().now() + running_limit;
    for (;;) {
        auto seen = co_await work_.look();
        const auto waiting = seen ? policy::bridges_not_running(work_.config(), *seen) : std::vector<std::string>();
        if (seen && waiting.empty()) {
            co_return;
        }
        if (node_.clock().now() >= until) {
            for (const auto& one : waiting) {
                node_.log.warning(message::network_not_running, one + " does not run yet: no port of it has a carrier");
            }
            co_return;
        }
        const time_point next = std::min(until, node_.clock().now() + running_check);
        co_await changed.wait_until(node_.clock(), next, "the bridges to run");
    }
}

async::awaitable<void> link_keeper::run() {
    const auto watch = work_.stack().watch(changed_);
    for (;;) {
        bool has_changed = co_await settle();
        for (int again = 1; has_changed && again < most_changes_in_row; ++again) {
            has_changed = co_await settle();
        }
        const auto next = next_try();
        if (next) {
            co_await changed_.wait_until(node_.clock(), *next, "another try");
        } else {
            co_await changed_.wait(async::wait_note::work("a change of links or networks"));
        }
        // A look that hung long ago delays no other one.
        const duration share = std::clamp<duration>(look_time_ * share_of_looks, between_looks, longest_between_looks);
        const time_point now = node_.clock().now();
        const time_point next_look = std::max(now + between_looks, looked_ + share);
        co_await async::sleep_for(node_.clock(), next_look - now, "what changes together");
    }
}

// A disk that hangs holds up no network.
async::awaitable<void> link_keeper::follow_names() {
    policy::named_links known;  // what counts: while a part cannot be read also all that was named before
    bool has_any = false;
    std::optional<policy::named_links> kept;
    std::string not_kept;
    std::string lost;  // why what was named before is not known
    for (;;) {
        const auto wishes = clients_.wanted_count();
        const time_point begun = node_.clock().now();
        auto read = co_await names_of_host(node_.port.host);
        const duration pause =
            std::clamp<duration>((node_.clock().now() - begun) * share_of_names, least_names_pause, most_names_pause);
        const bool is_whole = read.is_whole();
        std::vector<policy::network_remark> said;
        if (is_whole) {
            known = std::move(read.named);
            lost.clear();
        } else {
            if (!has_any) {
                auto record = co_await kept_names(node_.port.host);
                known = std::move(record.named);
                lost = std::move(record.unread);
            }
            known.add(read.named);
            read.unread += lost.empty() ? "" : "; and of before: " + lost;
            said.push_back({message::network_left_alone, false, unread_words(read)});
        }
        has_any = true;
        remarks_.tell("names of the host's links", std::move(said));
        bridges_.set_named(known, is_whole);
        clients_.set_named(known,
                           is_whole        ? names_known::all
                           : read.has_hung ? names_known::until_disk_answers
                                           : names_known::in_part,
                           wishes);
        changed_.notify();
        if (is_whole && kept != known) {
            const auto done = co_await keep_names(node_.port.host, known);
            kept = done ? std::optional(known) : std::nullopt;
            const auto why = done ? std::string() : done.error().text();
            if (why != std::exchange(not_kept, why) && !why.empty()) {
                node_.log.info("what the network configuration of this host names is not kept for a restart: " + why);
            }
        }
        // A network that comes waits for it: only what comes soon after another one waits longer.
        const time_point next = node_.clock().now() + pause;
        if (is_whole) {
            co_await names_due_.wait(async::wait_note::work("a change of client networks"));
        } else {
            co_await names_due_.wait_until(node_.clock(), node_.clock().now() + names_again,
                                           "another look at what this host's configuration names");
        }
        co_await async::sleep_for(node_.clock(), std::max(next - node_.clock().now(), duration::zero()),
                                  "what changes together");
    }
}

void link_keeper::want(const stored_networks& all) {
    clients_.want(all);
    names_due_.notify();
    changed_.notify();
}

link_keeper::news link_keeper::now() const {
    return {clients_.wanted_count(), clients_.refused()};
}

void link_keeper::tell_filtered() {
    if (!is_settled()) {
        return;
    }
    const filter_news now_wanted{now(), clients_.left_behind()};
    if (filtered_ != now_wanted) {
        filtered_ = now_wanted;
        on_filtered(clients_.filtered());
    }
}

void link_keeper::tell_networks() {
    gateway_news news_of_gateways{now(), clients_.changing(), clients_.reach()};
    if (is_settled() && told_ != news_of_gateways) {
        told_ = std::move(news_of_gateways);
        on_networks(clients_.tell_gateways());
    }
}

}  // namespace pvc::networks
