#include "drain/shell.hpp"

#include "arrivals.hpp"
#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/domains/domain_subject.hpp"
#include "stays.hpp"

#include <variant>

namespace pvc::domains {

namespace {

constexpr std::size_t readers_max = 32;

drain::domain_keys keys_of(const placement::stored_domain& seen, bool has_no_guest) {
    drain::domain_keys out{seen.name, seen.keys, seen.state_changed, seen.node_changed};
    out.keys.has_no_guest = has_no_guest;
    return out;
}

drain::placed::how how_it_ended(placement::attempt::kind what) {
    using kind = placement::attempt::kind;
    using how = drain::placed::how;
    switch (what) {
        case kind::written: return how::written;
        case kind::needless: return how::needless;
        case kind::conflict: return how::conflict;
        case kind::locked: return how::locked;
        case kind::gone: return how::gone;
        case kind::broken: break;
    }
    return how::broken;
}

drain::state_end how_it_was_left(placement::followed_state::outcome what) {
    switch (what) {
        case placement::followed_state::outcome::left: return drain::state_end::left;
        case placement::followed_state::outcome::gone: return drain::state_end::gone;
        case placement::followed_state::outcome::late: break;
    }
    return drain::state_end::late;
}

}  // namespace

async::awaitable<void> drain_shell::run() {
    drain::answer said;
    for (;;) {
        const drain::step next = resume(said);
        if (next.is_over()) {
            co_return;
        }
        said = co_await std::visit([&](const auto& what) { return reply(what, next); }, next.what);
    }
}

drain::step drain_shell::resume(const drain::answer& said) {
    drain::outcome now = machine_({said, of_.now(), of_.order.stat().mzxid});
    for (const auto& one : now.actions) {
        std::visit([this](const auto& what) { perform(what); }, one);
    }
    return std::move(now.next);
}

// ---- acts -----------------------------------------------------------------------------------------------------------

void drain_shell::perform(const drain::act::line& what) {
    switch (what.how) {
        case drain::act::line::level::info: of_.log().info(what.text, what.about); return;
        case drain::act::line::level::state: of_.log().state(what.text, what.about); return;
        case drain::act::line::level::ok: of_.log().ok(what.text, what.about); return;
        case drain::act::line::level::warning: of_.log().warning(what.id, what.text, what.about); return;
        case drain::act::line::level::error: of_.log().error(what.id, what.text, what.about); return;
    }
}

void drain_shell::perform(const drain::act::follow& what) {
    followed_.emplace(of_.s, what.id);
    of_.here->stayed_here().follow(what.id);
}

void drain_shell::perform(const drain::act::unfollow& /*what*/) {
    followed_.reset();
    of_.here->stayed_here().unfollow();
}

void drain_shell::perform(const drain::act::drop_arrival& what) {
    of_.here->arrived_here().drop(what.id);
}

void drain_shell::perform(const drain::act::drop_arrivals& /*what*/) {
    of_.here->arrived_here().drop_all();
}

void drain_shell::perform(const drain::act::settled& what) {
    of_.settled = what.zxid;
}

// ---- questions ------------------------------------------------------------------------------------------------------

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::better_session& /*what*/,
                                                   const drain::step& /*asked*/) {
    co_await placement::wait_better(of_.s);
    co_return drain::woken{};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::time& /*what*/, const drain::step& asked) {
    co_await async::sleep_until(of_.s.node.clock(), asked.until, asked.reason);
    co_return drain::woken{};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::fault& what, const drain::step& /*asked*/) {
    co_return of_.here->stayed_here().of(what.target);
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::present& /*what*/, const drain::step& /*asked*/) {
    co_return drain::domains_here{of_.here->present()};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::listed& /*what*/, const drain::step& /*asked*/) {
    co_return drain::domains_here{of_.here->listed()};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::list_write& /*what*/, const drain::step& asked) {
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer watch(of_.here->list_writes(), changed);
    co_await changed.wait_until(of_.s.node.clock(), asked.until, asked.reason);
    co_return drain::woken{};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::arrival& /*what*/, const drain::step& /*asked*/) {
    const arrivals& late = of_.here->arrived_here();
    co_return drain::arrived{late.any() ? std::optional(late.first()) : std::nullopt};
}

// Those that are gone meanwhile are left out; the first reading that fails makes all of them unknown.
async::awaitable<drain::answer> drain_shell::reply(const drain::ask::all_keys& /*what*/, const drain::step& /*asked*/) {
    drain::all_read out;
    const auto names = co_await of_.s.zk.children(of_.s.limit(), std::string(model::key_path::domains));
    if (!names) {
        co_return out;
    }
    std::vector<uuid> all;
    for (const auto& name : names->names) {
        if (const auto id = parse_uuid(name)) {
            all.push_back(*id);
        }
    }
    out.is_known = true;
    co_await async::for_each_bounded("reads of domains", readers_max, all,
                                     [&](const uuid& id) -> async::awaitable<void> {
                                         if (!out.is_known) {
                                             co_return;
                                         }
                                         const auto seen = co_await placement::read_domain(of_.s, id);
                                         if (seen) {
                                             out.domains.emplace(id, seen->keys);
                                         } else if (seen.error().code() != errc::not_found) {
                                             out.is_known = false;
                                         }
                                     });
    co_return out;
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::keys& what, const drain::step& /*asked*/) {
    using how = drain::keys_read::how;
    const auto seen = co_await placement::read_domain(of_.s, what.id);
    if (seen) {
        co_return drain::keys_read{how::read, keys_of(*seen, of_.here->has_no_guest(what.id)), {}};
    }
    if (seen.error().code() != errc::not_found) {
        co_return drain::keys_read{how::failed, {}, {}};
    }
    const std::string path = seen.error().subject();
    const bool is_removed = path == model::domain_path(to_text(what.id));
    co_return drain::keys_read{is_removed ? how::removed : how::key_missing, {}, path};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::other_state& what, const drain::step& asked) {
    const auto goes_on = [through = what.through](model::vm_state state) { return drain::lasts(through, state); };
    const auto end = co_await followed_->wait_while(goes_on, what.since, asked.until - of_.now(), asked.reason);
    co_return how_it_was_left(end);
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::place& what, const drain::step& /*asked*/) {
    placement::attempt tried = co_await placement::place_domain(
        of_.as_order(), what.id,
        [this, id = what.id](const placement::stored_domain& now) { return decide_under_lock(id, now); });
    co_return drain::placed{how_it_ended(tried.what), tried.zxid, std::move(tried.why)};
}

async::awaitable<result<placement::decision>> drain_shell::decide_under_lock(uuid id,
                                                                             const placement::stored_domain& now) {
    placement::decision out;
    drain::step next = resume(drain::under_lock{keys_of(now, of_.here->has_no_guest(id))});
    while (const auto* wanted = std::get_if<drain::ask::target>(&next.what)) {
        PVC_CO_TRY(auto found, co_await placement::choose_target(of_.s, wanted->id, of_.self(), wanted->but));
        out.checks = std::move(found.checks);
        next = resume(drain::target_found{std::move(found.choice), std::move(found.nodes)});
    }
    if (const auto* overtaken = std::get_if<drain::ask::decide_again>(&next.what)) {
        co_return failure(errc::version_conflict, overtaken->name, "its state was changed");
    }
    if (const auto* wanted = std::get_if<drain::ask::write>(&next.what)) {
        out.write = wanted->what;
    }
    co_return out;
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::order_key& /*what*/,
                                                   const drain::step& /*asked*/) {
    using how = drain::order_read::how;
    const auto stored = co_await of_.s.zk.get(of_.s.limit(), of_.order.path());
    if (!stored) {
        const bool is_gone = stored.error().code() == errc::not_found;
        co_return drain::order_read{is_gone ? how::gone : how::failed, {}, 0, 0};
    }
    co_return drain::order_read{how::read, model::parse_domain_state(stored->data), stored->stat.mzxid,
                                stored->stat.version};
}

async::awaitable<drain::answer> drain_shell::reply(const drain::ask::write_word& what, const drain::step& /*asked*/) {
    using how = drain::word_written::how;
    const auto running = [this] {
        return of_.here != nullptr ? of_.here->running_text().value_or(std::string()) : std::string();
    };
    zookeeper::transaction write;
    write.set(of_.order.path(), std::string(to_text(what.word)), what.version);
    std::optional<result<zookeeper::commit_reply>> done;
    if (what.with_list) {
        done = co_await of_.s.record.write(model::node_key::running_domains, running, of_.s.limit(), write);
    } else {
        done = co_await of_.s.zk.commit(of_.s.limit(), write);
    }
    if (*done) {
        co_return drain::word_written{how::written, (*done)->zxid(), still_here()};
    }
    const bool is_overtaken = done->error().code() == errc::version_conflict;
    co_return drain::word_written{is_overtaken ? how::overtaken : how::failed, 0, {}};
}

std::vector<std::string> drain_shell::still_here() const {
    if (of_.here == nullptr) {
        return {};
    }
    std::vector<std::string> names = of_.here->listed_names();
    for (const auto& id : of_.here->strangers()) {
        names.push_back(to_text(id) + " (which the cluster does not know)");
    }
    return names;
}

template <class Question>
async::awaitable<drain::answer> drain_shell::reply(const Question& /*what*/, const drain::step& /*asked*/) {
    assertion_failed("a question that is asked with the lock of a domain held");
    co_return drain::woken{};
}

}  // namespace pvc::domains
