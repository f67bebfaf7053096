// The part of the firewall that goes through the nft program: what it has made, and what is done beside that.
#include "firewall_keeper.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <utility>

namespace pvc::networks {

// Only what differs, where it is known what nft made; else all of it.
async::awaitable<bool> firewall_keeper::converge_by_nft(const model::filter_state& seen, std::uint64_t wants) {
    auto signature = loader_.text_of(wanted_);
    const bool is_loaded = !must_load_ && !loader_.is_load_due() && last_ && last_->files == loader_.files();
    if (is_loaded && last_->signature == signature && last_->number == seen.table && last_->chains == seen.chains &&
        seen.flags == 0) {
        tell_nft();
        is_right(wants, seen.table);
        co_return false;
    }
    const auto plan = local_plan(seen);
    if (plan && plan->changes.empty()) {
        last_->signature = std::move(signature);
        last_->chains = seen.chains;
        loader_.note_in_force(policy::made_by_nft(wanted_));
        tell_nft();
        is_right(wants, seen.table);
        co_return false;
    }
    tell_damage(seen);
    const auto needed = plan ? policy::for_nft(*plan) : std::vector<std::string>();
    if (!loader_.is_usable() && (!plan || !needed.empty())) {
        // What needs nft, and is not as it was, cannot be made now: that alone, where all else is known.
        for (const auto& tag : needed) {
            loader_.drop_in_force(tag);
        }
        if (!plan) {
            forget_last();
        }
        is_stale_ = true;
        co_return true;
    }
    bool again = false;
    if (!plan) {
        again = co_await load_all(seen, std::move(signature));
    } else if (!needed.empty()) {
        again = co_await change_by_nft(*plan, seen, std::move(signature));
    } else {
        again = co_await commit(*plan, seen.generation);
    }
    co_return again;
}

void firewall_keeper::remember(last_table table) {
    last_ = std::move(table);
    loader_.note_in_force(last_->marks ? policy::made_by_nft(wanted_) : std::set<std::string, std::less<>>());
}

void firewall_keeper::forget_last() {
    last_.reset();
    loader_.note_in_force({});
}

bool firewall_keeper::is_held(const model::filter_state& seen) const {
    return !loader_.is_usable() && last_ && last_->marks && last_->number == seen.table && !must_rebuild_ &&
           !last_->files.empty() && loader_.has_any_files();
}

// While nft cannot be asked what it made is held, whatever its files say now.
std::optional<policy::filter_plan> firewall_keeper::local_plan(const model::filter_state& seen) const {
    const bool is_for_all = must_load_ || loader_.is_load_due() || (last_ && last_->files != loader_.files());
    if (must_rebuild_ || !last_ || !last_->marks || last_->number != seen.table ||
        (is_for_all && (loader_.is_usable() || !is_held(seen)))) {
        return std::nullopt;
    }
    auto plan = policy::plan_beside(wanted_, seen, *last_->marks);
    return plan && !plan->is_rebuild ? std::move(plan) : std::nullopt;
}

async::awaitable<bool> firewall_keeper::change_by_nft(const policy::filter_plan& plan, const model::filter_state& seen,
                                                      std::string signature) {
    auto end = co_await loader_.change(policy::nft_text(plan, wanted_));
    auto made = co_await filter_.look(node_.clock().now() + filter_look_limit);
    const bool is_as_before =
        made && made->table == seen.table && made->chains == seen.chains && made->flags == seen.flags;
    if (!end.is_done && (end.guilty || end.is_trouble) && is_as_before) {
        // Of a place that somebody took away meanwhile nft says the same as of a bad rule.
        loader_.take_failure(std::move(end));
        is_stale_ = true;
        tell_nft();
        co_return true;
    }
    auto marks = made ? policy::marks_of(wanted_, *made, loader_.knowledge().static_chains) : std::nullopt;
    if (!end.is_done || !marks || made->table != seen.table || made->generation != seen.generation + 1) {
        forget_last();  // what is there is not known
        is_stale_ = true;
        co_return true;
    }
    ++counts_.filter_changes;
    node_.log.debug(fmt::format("firewall: {} changes in one batch by nft", plan.changes.size()));
    remember({std::move(signature), loader_.files(), made->table, std::move(made->chains), std::move(marks)});
    co_return true;
}

async::awaitable<bool> firewall_keeper::load_all(const model::filter_state& seen, std::string signature) {
    auto files = loader_.files();
    const bool is_loaded = co_await loader_.load(wanted_);
    if (!is_loaded) {
        is_stale_ = true;  // without what cannot be loaded the rest is made all the same
        tell_nft();
        co_return true;
    }
    tell_nft();
    auto made = co_await filter_.look(node_.clock().now() + filter_look_limit);
    if (!made) {
        failed("it cannot be looked at: " + made.error().text());
        co_return false;
    }
    if (made->flags != 0) {
        failed("table inet filter has flags behind a load, which this daemon did not give it");
        co_return false;
    }
    if (made->generation == seen.generation) {
        loader_.did_nothing();
        is_stale_ = true;
        tell_nft();
        co_return true;
    }
    ++counts_.filter_changes;
    // What nft made cannot be told from its rules, only from nobody else having been there since the last look. Where
    // somebody always is, it is enough that nothing of it is missing.
    const bool is_alone = made->generation == seen.generation + 1;
    if (!is_alone && (++conflicts_ <= most_conflicts || !policy::has_at_least(wanted_, *made))) {
        if (conflicts_ <= most_conflicts) {
            co_return true;
        }
        conflicts_ = 0;
        failed("others change it all the time");
        co_return false;
    }
    conflicts_ = 0;
    must_rebuild_ = false;
    must_load_ = false;
    may_hold_files_ = !files.empty();
    auto marks = is_alone ? policy::marks_of(wanted_, *made, loader_.knowledge().static_chains) : std::nullopt;
    remember({std::move(signature), std::move(files), made->table, std::move(made->chains), std::move(marks)});
    co_return true;
}

void firewall_keeper::tell_nft() {
    std::vector<policy::network_remark> said;
    if (const auto& why = loader_.knowledge().unusable; !why.empty()) {
        said.push_back({message::network_firewall, true, "firewall: " + why + ", what it would add is left out"});
    }
    remarks_.tell("nft", std::exchange(said, {}));
    if (const auto& why = loader_.unlisted(); !why.empty()) {
        said.push_back({message::network_firewall, true,
                        "firewall: static files cannot be listed: " + why + ", those that were read last stay"});
    }
    remarks_.tell("static files", std::move(said));
    auto told = std::exchange(told_files_, {});
    for (const auto& [name, why] : loader_.file_problems()) {
        const auto about = "static file " + shown(name);
        remarks_.tell(about,
                      {{message::network_firewall, true, fmt::format("firewall: {}: {}, it is left out", about, why)}});
        told.erase(about);
        told_files_.insert(about);
    }
    for (const auto& about : told) {
        remarks_.tell(about, {});
    }
    std::vector<policy::network_remark> shared;
    for (const auto& one : loader_.shared_tables()) {
        shared.push_back({message::network_firewall, false,
                          fmt::format("firewall: table {} of a static file was there before: what the file puts into "
                                      "it comes again with each load",
                                      one)});
    }
    remarks_.tell("tables of static files", std::move(shared));
}

}  // namespace pvc::networks
