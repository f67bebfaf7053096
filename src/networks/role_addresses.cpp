#include "role_addresses.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/core/heartbeat_note.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/policy/networks/gateway_addresses.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "role_addresses_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;
using model::router_state;
using policy::address_wish;
using policy::placed_address;

namespace {

constexpr duration action_limit = 10s;
constexpr duration list_limit = 3s;
constexpr duration another_try = 5s;     // after a failure
constexpr duration another_look = 30s;   // somebody may have taken a wanted one away
constexpr duration leftover_check = 1s;  // their record grows older while the machine sleeps, and timers stand still
constexpr std::size_t at_once = 4;

}  // namespace

// A phase is under way, until it ends or is cancelled; then everything is looked at.
class role_addresses::phase_mark {
public:
    explicit phase_mark(role_addresses& of) : of_(of) {
        ++of_.phases_;
        ++of_.last_phase_;
    }
    phase_mark(const phase_mark&) = delete;
    phase_mark& operator=(const phase_mark&) = delete;
    ~phase_mark() {
        --of_.phases_;
        of_.must_look_ = true;
        of_.changed_.notify();
    }

private:
    role_addresses& of_;
};

role_addresses::role_addresses(core::node_context& node, netlink::addresses& port, netlink::network_stack& stack,
                               std::shared_ptr<bridge_record> bridges)
    : node_(node),
      port_(port),
      stack_(stack),
      bridges_(std::move(bridges)),
      all_(policy::role_addresses(*node.config)) {
    port_.announce_if([this] { return may_hold(); });
}

role_addresses::~role_addresses() {
    port_.announce_if({});
}

void role_addresses::set_gateways(std::vector<policy::role_address> now) {
    std::erase_if(all_, [](const auto& one) { return one.taken_up == policy::role_phase::f; });
    for (auto& one : now) {
        one.wish = gateway_wish_;
        all_.push_back(std::move(one));
    }
    for (const auto& one : added_) {
        if (is_stray(one)) {
            dropped_.push_back(one);
        }
    }
    std::erase_if(added_, [this](const auto& one) { return is_stray(one); });
    std::erase_if(dropped_, [this](const auto& one) { return !is_stray(one); });
    knows_gateways_ = true;
    must_look_ = true;
    changed_.notify();
}

bool role_addresses::knows(const placed_address& where) const {
    return std::ranges::find(all_, where, &policy::role_address::where) != all_.end();
}

bool role_addresses::has(const placed_address& where) const {
    return std::ranges::find(added_, where) != added_.end();
}

bool role_addresses::is_stray(const placed_address& where) const {
    return where.device.starts_with("vmbr") && std::ranges::none_of(all_, [&](const auto& one) {
               return one.where.device == where.device && one.where.address.address == where.address.address;
           });
}

policy::address_work role_addresses::work_with(const places& found) const {
    auto work = policy::work_on(all_, found);
    if (may_remove_strays()) {
        for (const auto& one : found) {
            if (is_stray(one)) {
                work.remove.push_back(one);
            }
        }
    }
    return work;
}

void role_addresses::on_look(const model::network_state& seen) {
    note_hardware(seen);
    if (phases_ > 0) {
        return;
    }
    const auto found = found_in(seen);
    note_routes(seen, found);
    if (work_with(found).is_done() && routes_lost_in(seen).empty() && back_.empty()) {
        return;
    }
    must_look_ = true;
    changed_.notify();
}

async::awaitable<result<void>> role_addresses::prepare(core::preparation in) {
    read_note();
    bridges_->read();
    in.attempt.spawn("addresses", [this] { return keep(); });
    co_return result<void>();
}

std::unique_ptr<core::session_part> role_addresses::begin(core::session& s) {
    return std::make_unique<of_session>(*this, s);
}

void role_addresses::read_note() {
    const auto text = node_.port.host.read_file(core::heartbeat_note_path(node_));
    const auto note = text ? core::parse_heartbeat_note(*text) : std::nullopt;
    const auto before = core::role_of_note(note, node_.machine.boot_id, node_.clock().boot_now());
    was_primary_ = before.was_primary;
    beat_before_ = before.beat;
}

policy::leftover_view role_addresses::leftovers() const {
    policy::leftover_view view;
    view.self = node_.self();
    view.primary = session_ == nullptr ? std::nullopt : session_->named();
    view.was_primary = was_primary_;
    const auto last = std::max(beat_before_, node_.heartbeat_sent);
    view.heartbeat_age = last ? std::optional<duration>(node_.clock().boot_now() - *last) : std::nullopt;
    view.times = node_.times;
    return view;
}

void role_addresses::give_all_up(std::string why) {
    gone_because_ = std::move(why);
    all_must_go_ = true;
    gateway_wish_ = address_wish::unwanted;
    for (auto& one : all_) {
        one.wish = address_wish::unwanted;
    }
    must_look_ = true;
}

// What appears later does not go for what was known, or not yet known, when this daemon began.
void role_addresses::tell_reason_anew() {
    if (had_role_) {
        return;
    }
    const auto view = leftovers();
    auto decision = policy::decide_leftovers(view);
    if (view.primary && decision.must_go) {
        gone_because_ = std::move(decision.reason);
    }
}

std::optional<duration> role_addresses::settle_wishes() {
    const auto role = node_.role.now();
    if (role != router_state::secondary && role != router_state::client) {
        had_role_ = true;  // its phases say what is wanted
        return std::nullopt;
    }
    if (gateway_wish_ == address_wish::unwanted &&
        std::ranges::all_of(all_, [](const auto& one) { return one.wish == address_wish::unwanted; })) {
        tell_reason_anew();
        return std::nullopt;
    }
    if (had_role_) {
        give_all_up("this node is secondary");
        return std::nullopt;
    }
    const auto view = leftovers();
    auto decision = policy::decide_leftovers(view);
    if (decision.must_go) {
        give_all_up(std::move(decision.reason));
        return std::nullopt;
    }
    if (view.primary) {
        return leftover_check;  // once the connection is away nobody says that it counts no more
    }
    return decision.decide_again_in ? std::optional(std::min(*decision.decide_again_in, leftover_check)) : std::nullopt;
}

async::awaitable<void> role_addresses::keep() {
    const async::latest<router_state>::observer role(node_.role.changes(), changed_);
    for (;;) {
        const auto ask_again_in = settle_wishes();
        if (!unheard_.empty()) {
            is_missing_.notify();  // the role may be here to stay again
        }
        const time_point now = node_.clock().now();
        const bool is_due = must_look_ || (next_look_ && *next_look_ <= now);
        if (is_due && may_look()) {
            co_await look(time_point::max());
            continue;
        }
        damages_.tell_due();
        std::optional<time_point> until = may_look() ? next_look_ : std::nullopt;
        if (const auto due = damages_.next_due()) {
            until = std::min(until.value_or(*due), *due);
        }
        if (ask_again_in) {
            until = std::min(until.value_or(time_point::max()), now + *ask_again_in);
        }
        if (until) {
            co_await changed_.wait_until(node_.clock(), *until, "another look at the addresses of the primary");
        } else {
            co_await changed_.wait(async::wait_note::work("a change of the role or of who is primary"));
        }
    }
}

role_addresses::places role_addresses::found_in(const model::network_state& seen) const {
    std::set<std::string_view> devices;
    for (const auto& one : all_) {
        devices.insert(one.where.device);
    }
    // The file may call devices by other names that they have.
    const auto config = policy::with_own_names(*node_.config, policy::names_to_resolve(*node_.config, seen));
    places found = policy::addresses_beside(all_, seen);
    // What its owner gave to a bridge of his own, which has come in the place of a network's, is his.
    std::erase_if(found, [&](const auto& one) {
        return is_stray(one) && !is_dropped(one) &&
               !policy::is_bridge_of_network(one.device, config, seen, bridges_->known(), bridges_->whose());
    });
    auto left = policy::gateways_left_behind(config, seen, bridges_->known(), bridges_->whose());
    // Likewise on bridges that the record does not have yet.
    for (const auto& one : dropped_) {
        const auto* link = seen.find(one.device);
        const auto there = link == nullptr ? std::vector<model::link_address>() : seen.addresses_of(link->index);
        const bool is_there = std::ranges::find(there, one.address, &model::link_address::address) != there.end();
        if (is_there && std::ranges::find(left, one) == left.end()) {
            left.push_back(one);
        }
    }
    for (auto& one : left) {
        if (!devices.contains(one.device)) {
            found.push_back(std::move(one));
        }
    }
    return found;
}

role_addresses::lost_routes role_addresses::routes_lost_in(const model::network_state& seen) const {
    lost_routes lost;
    for (const auto& one : added_) {
        const auto* link = seen.find(one.device);
        const auto there = link == nullptr ? std::vector<model::link_address>() : seen.addresses_of(link->index);
        const auto found = std::ranges::find(there, one.address, &model::link_address::address);
        if (found == there.end()) {
            continue;
        }
        if (auto route = policy::lost_connected_route(seen, *link, one.address)) {
            auto steps = policy::steps_for_lost(*route, one.device, *found);
            lost.push_back({one, *std::move(route), std::move(steps)});
        }
    }
    return lost;
}

async::awaitable<void> role_addresses::add_lost_routes(lost_routes lost, time_point until) {
    for (auto& [where, route, steps] : lost) {
        if (!may_hold() || !is_wanted(where)) {
            continue;  // it went with its address, or goes
        }
        const bool may_be_elsewhere = route.is_local && where.address.address.is_v6();
        damages_.tell(message::network_damaged,
                      fmt::format("the {} over {}, of {}, was gone{}, adding it again", model::to_text(route),
                                  where.device, where.address.text(),
                                  may_be_elsewhere ? ", or another machine answered for it (`dadfailed`: look for one "
                                                     "that has it)"
                                                   : ""));
        const std::string step = "add the " + model::to_text(route) + " over " + where.device;
        // An address that must go for it is missed by the next look, and added as any other: by who may.
        const time_point end = std::min(until, action_deadline());
        result<void> done;
        if (std::holds_alternative<model::remove_address>(steps.front())) {
            auto staying = co_await let_routes_go(where);
            done = co_await port_.remove(where.device, where.address, std::move(staying), end);
            must_look_ = true;
        } else {
            done = co_await stack_.apply(std::move(steps.front()), end);
        }
        if (done) {
            succeeded(step);
        } else {
            failed(step, done.error());
        }
    }
}

async::awaitable<role_addresses::places> role_addresses::present(time_point until) {
    const std::string step = "look at the addresses of this machine";
    auto seen = co_await stack_.look(until);
    is_seen_ = seen.has_value();
    places found;
    if (seen) {
        succeeded(step);
        seen_at_ = node_.clock().now();
        devices_.clear();
        for (const auto& link : seen->links()) {
            devices_.insert(link.name);
        }
        note_withheld(*seen);
        found = found_in(*seen);
        lost_ = routes_lost_in(*seen);
        note_routes(*seen, found);
        co_return found;
    }
    lost_.clear();
    failed(step, seen.error());
    // What there is is not known: what has to go is taken away blindly.
    for (const auto& one : all_) {
        if (must_go(one.where)) {
            found.push_back(one.where);
        }
    }
    co_return found;
}

// What a phase is about to do is not done twice; but what must go goes at once, however long a phase takes.
bool role_addresses::may_look() const {
    return phases_ == 0 || all_must_go_;
}

async::awaitable<void> role_addresses::look(time_point until) {
    must_look_ = false;
    const std::uint64_t before = failures_;
    const std::uint64_t phase = last_phase_;
    const auto found = co_await present(std::min(until, node_.clock().now() + list_limit));
    if (phase != last_phase_ && !all_must_go_) {
        must_look_ = true;  // a phase has changed what was seen
        co_return;
    }
    auto work = work_with(found);
    co_await async::for_each_bounded(
        "removals", at_once, work.remove, [&](const placed_address& one) -> async::awaitable<void> {
            if (!must_go(one)) {
                co_return;  // it was taken up meanwhile
            }
            const std::string step = "remove " + one.text();
            if (is_seen_ && !gone_because_.empty() && !troubles_.contains(step)) {
                node_.log.info(step + ": " + gone_because_);
            } else if (is_seen_ && is_stray(one) && may_hold() && !is_dropped(one) && !troubles_.contains(step)) {
                damages_.tell(message::network_damaged,
                              one.text() + " is none of its network's addresses, removing it");
            }
            co_await remove(one, std::min(until, action_deadline()));
        });
    co_await add_lost_routes(std::exchange(lost_, {}), until);
    co_await add_routes_again(until);
    if (!is_seen_ && !is_planted(defect::blind_look_believed)) {
        // A look that failed sees nothing (README ruling 88): what was missing before still is, and nothing else.
        std::erase_if(missing_, [this](const auto& one) { return has(one) || !is_wanted(one); });
    } else {
        auto all = phase == last_phase_ ? work_with(found).add : places();
        // Of what became of an addition nobody knew: it is there, and was never announced.
        for (const auto& one : phase == last_phase_ ? found : places()) {
            if (is_wanted(one) && !has(one) && std::ranges::find(all, one) == all.end()) {
                all.push_back(one);
            }
        }
        note_missing(std::move(all));
    }
    if (!missing_.empty() || !unheard_.empty()) {
        is_missing_.notify();
    }
    plan_next_look(failures_ != before);
}

void role_addresses::note_missing(places all) {
    missing_ = std::move(all);
    // The bridge of a network that is not there yet comes with a look.
    std::erase_if(missing_, [this](const auto& one) {
        return foreign_.contains(one.device) || (is_gateway(one) && !devices_.contains(one.device));
    });
    for (const auto& one : missing_) {
        // It was there, and its device is: somebody took it away.
        if (devices_.contains(one.device) && std::erase(added_, one) > 0) {
            damages_.tell(message::network_damaged, one.text() + " was gone, adding it again");
        }
    }
}

void role_addresses::plan_next_look(bool has_failed) {
    const auto has_wish = [this](address_wish which) {
        return std::ranges::any_of(all_, [which](const auto& one) { return one.wish == which; });
    };
    is_clean_ = !has_failed && !has_wish(address_wish::wanted) && !has_wish(address_wish::as_found);
    next_look_.reset();
    std::erase_if(unheard_, [this](const auto& one) { return !has(one) || !is_wanted(one); });
    if (has_failed || !missing_.empty() || !unheard_.empty()) {
        next_look_ = node_.clock().now() + another_try;
    } else if (has_wish(address_wish::wanted)) {
        next_look_ = node_.clock().now() + another_look;
    }
}

async::awaitable<void> role_addresses::add_missing(core::session& s) {
    places missing = missing_;
    std::erase_if(missing, [this](const auto& one) { return !is_wanted(one); });
    if (may_hold() && !missing.empty()) {
        co_await add(std::move(missing), s);
    }
    co_await announce_unheard(s);
}

bool role_addresses::may_hold() const {
    const auto role = node_.role.now();
    return role == router_state::takeover || role == router_state::primary;
}

bool role_addresses::is_wanted(const placed_address& where) const {
    return !foreign_.contains(where.device) && std::ranges::any_of(all_, [&](const auto& one) {
        return one.where == where && one.wish == address_wish::wanted;
    });
}

bool role_addresses::is_dropped(const placed_address& where) const {
    return std::ranges::find(dropped_, where) != dropped_.end();
}

bool role_addresses::must_go(const placed_address& where) const {
    std::vector<policy::role_address> here;
    for (const auto& one : all_) {
        if (one.where.device == where.device && one.where.address.address == where.address.address) {
            here.push_back(one);
        }
    }
    return here.empty() ? is_stray(where) && may_remove_strays()
                        : !policy::work_on(here, std::array{where}).remove.empty();
}

bool role_addresses::may_remove_strays() const {
    return knows_gateways_ || gateway_wish_ == address_wish::unwanted;
}

bool role_addresses::is_gateway(const placed_address& where) {
    return where.device.starts_with("vmbr");
}

role_addresses::places role_addresses::places_of(policy::role_phase which) const {
    places all;
    for (const auto& one : all_) {
        if (one.taken_up == which && std::ranges::find(all, one.where) == all.end()) {
            all.push_back(one.where);
        }
    }
    return all;
}

time_point role_addresses::action_deadline() const {
    return node_.clock().now() + action_limit;
}

// Told once for as long as it stays the same.
void role_addresses::failed(const std::string& step, const failure& why) {
    ++failures_;
    std::string what = why.text();
    if (!why.subject().empty() && step.ends_with(why.subject()) && what.starts_with(why.subject() + ": ")) {
        what.erase(0, why.subject().size() + 2);  // the step names it
    }
    const std::string text = fmt::format("cannot {}: {}, trying again", step, what);
    if (text != std::exchange(troubles_[step], text)) {
        node_.log.error(message::role_address, text);
    }
}

void role_addresses::succeeded(const std::string& step) {
    if (troubles_.erase(step) > 0) {
        node_.log.ok("this could be done after all: " + step);
    }
}

async::awaitable<void> role_addresses::remove(placed_address where, time_point until) {
    if (is_planted(defect::address_kept) || (is_gateway(where) && is_planted(defect::gateway_kept))) {
        co_return;
    }
    const std::string step = "remove " + where.text();
    std::erase(added_, where);
    auto staying = co_await let_routes_go(where);
    auto removed = co_await port_.remove(where.device, where.address, std::move(staying), until);
    if (removed) {
        std::erase(dropped_, where);
        ++removals_;
        succeeded(step);
    } else {
        failed(step, removed.error());
    }
}

async::awaitable<void> role_addresses::take_up(policy::role_phase which, core::session& s) {
    places wanted = places_of(which);
    had_role_ = true;
    if (which == policy::role_phase::f) {
        gateway_wish_ = address_wish::wanted;
    }
    if (wanted.empty()) {
        co_return;
    }
    const phase_mark mark(*this);
    gone_because_.clear();
    all_must_go_ = false;
    for (auto& one : all_) {
        one.wish = one.taken_up == which ? address_wish::wanted : one.wish;
    }
    // Equal addresses on one bridge are added once. What was only found there is added anew, which announces it.
    std::erase_if(wanted, [this](const auto& one) { return has(one); });
    if (which == policy::role_phase::f && !wanted.empty()) {
        co_await add(std::move(wanted), s);  // there may be hundreds
        co_return;
    }
    for (const auto& one : wanted) {
        co_await add({one}, s);
    }
}

async::awaitable<void> role_addresses::give_up(policy::role_phase which, core::session* /*s*/) {
    const places unwanted = places_of(which);
    had_role_ = true;
    if (which == policy::role_phase::f) {
        gateway_wish_ = address_wish::unwanted;
    }
    if (unwanted.empty()) {
        co_return;
    }
    const phase_mark mark(*this);
    for (auto& one : all_) {
        one.wish = one.taken_up == which ? address_wish::unwanted : one.wish;
    }
    std::erase_if(unheard_, [this](const auto& one) { return !is_wanted(one); });
    for (const auto& one : unwanted) {
        if (must_go(one)) {
            co_await remove(one, action_deadline());
        }
    }
}

async::awaitable<void> role_addresses::end(time_point deadline) {
    if (!had_role_ && !node_.stopping.value()) {
        co_return;
    }
    if (!is_clean_) {
        give_all_up("the daemon is stopping");
        co_await look(deadline);
    }
}

void role_addresses::report(std::vector<std::string>& lines) const {
    lines.push_back(
        fmt::format("addresses of the primary: {} added and kept, {} missing; {} additions, {} removals, "
                    "{} failures since the start",
                    added_.size(), missing_.size(), additions_, removals_, failures_));
    if (!is_seen_ && seen_at_ != time_point{}) {
        const auto age = std::chrono::floor<std::chrono::seconds>(node_.clock().now() - seen_at_);
        lines.push_back(fmt::format("addresses of the primary: as they were seen {} s ago", age.count()));
    }
    for (const auto& [step, text] : troubles_) {
        lines.push_back("addresses of the primary: " + text);
    }
    for (const auto& text : leaving_) {
        lines.push_back("addresses of the primary: " + text);
    }
}

}  // namespace pvc::networks
