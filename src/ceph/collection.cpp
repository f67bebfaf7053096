#include "collection.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace pvc::ceph {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t writes_at_once = 16;
constexpr duration write_limit = 2s;
constexpr duration measure_limit = 1s;
// How often it is looked whether somebody else wrote what stands below /ceph, and how many keys in one request.
constexpr duration look_again = 60s;
constexpr std::size_t looks_at_once = 200;
constexpr std::string_view writing_topic = "writing";

// A line has room for some: what concerns one figure often concerns all of them.
std::string some_of(const std::vector<std::string>& all) {
    constexpr std::size_t most = 3;
    std::string text = join({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most))}, ", ");
    return all.size() <= most ? text : text + " and " + std::to_string(all.size() - most) + " more";
}

}  // namespace

// Of one term as primary: what stands there was written by another before it.
struct collection::term {
    term(std::uint64_t of_role, time_point now) : role(of_role), reach(now), look_at(now + look_again) {}

    std::uint64_t role;  // which change of the role it began with
    policy::ceph_reachability reach;
    policy::osd_memory osds;
    policy::acknowledged_figures written;
    std::set<std::string, std::less<>> missing{};  // keys of figures that were not there when they were to be set
    time_point look_at;
    std::uint64_t objects_seen = 0;
    // Of the writes that are under way.
    bool has_lost_turn = false;  // somebody else is named primary
    std::size_t acknowledged = 0;
    std::vector<std::string> refused{};  // "<path>: <why>"
};

collection::collection(core::session& s, const objects& present, storage::ceph_cluster& cluster, ceph_knowledge& known)
    : session_(s),
      present_(present),
      cluster_(cluster),
      known_(known),
      primary_node_(s.watches.add(std::string(model::key_path::primary_node), zookeeper::watch_kind::data, unheard_)) {
    known_.is_collecting = false;
    known_.conditions.clear();
}

collection::~collection() {
    known_.is_collecting = false;
}

void collection::follow_role() {
    auto& role = session_.node.role;
    if (role.is_primary() && term_ && term_->role == role.changes().version()) {
        return;
    }
    term_.reset();
    answers_ = {};
    known_.conditions.clear();
    known_.is_collecting = role.is_primary();
    if (role.is_primary()) {
        term_ = std::make_unique<term>(role.changes().version(), session_.node.clock().now());
    }
}

// Each write checks the version of /config/primary_node that named this node. The state of a role is the node's own
// word, and two nodes can say `primary` for a while (one that was not heard of, and its successor). That key names one
// node at a time: of two such nodes the writes of one pass at any moment, and what it writes is a whole value that
// stands for itself. So no version of the value is expected.
bool collection::may_write() const {
    return session_.node.role.is_primary() && primary_node_->present() &&
           model::parse_primary_node(primary_node_->data()) == session_.node.self();
}

policy::ceph_tree collection::tree() const {
    policy::ceph_tree all;
    for (const auto& [name, one] : present_.osds()) {
        if (one.is_known()) {
            all.osds.push_back({name, std::string(trim(one.node->data()))});
        }
    }
    all.pools = present_.pools();
    return all;
}

std::optional<std::string> collection::path_of(policy::ceph_key key, const std::string& name) const {
    const model::schema& table = session_.table;
    switch (key) {
        case policy::ceph_key::health: return table.path("base.storage.health");
        case policy::ceph_key::status: return table.path("base.storage");
        case policy::ceph_key::util: return table.path("base.storage.util");
        case policy::ceph_key::pool_stats: return table.path("pool.stats", name);
        case policy::ceph_key::osd_stats: return table.path("osd.stats", name);
    }
    return std::nullopt;
}

async::awaitable<void> collection::collect() {
    follow_role();
    is_loaded_ = is_loaded_ || present_.is_loaded();
    if (!term_ || !is_loaded_) {
        co_return;
    }
    // A copy: what is below /ceph may change while somebody is asked.
    auto now = tree();
    co_await round(std::move(now));
}

// ---- questions ------------------------------------------------------------------------------------------------------

async::awaitable<void> collection::round(policy::ceph_tree tree) {
    auto& clock = session_.node.clock();
    const time_point begun = clock.now();
    std::vector<policy::ceph_write> wanted;
    if (term_->reach.is_attempt_due(begun)) {
        policy::ceph_round asking({.has_osds = !tree.osds.empty(),
                                   .has_pools = !tree.pools.empty(),
                                   .begun = begun,
                                   .deadline = begun + policy::ceph_round_limit(session_.node.times.keepalive),
                                   .manager_paused_until = term_->reach.manager_paused_until(),
                                   .may_connect = !term_->reach.has_answered(),
                                   .first = term_->reach.first_question(),
                                   .answers = &answers_});
        ++known_.rounds;
        co_await ask(asking, tree.pools);
        follow_role();
        if (!term_) {
            co_return;
        }
        take_up(asking);
        wanted = policy::ceph_figures(asking.take_seen(), tree, term_->osds);
    }
    const auto health_path = path_of(policy::ceph_key::health, {});
    const auto silence = term_->reach.silence_to_publish(clock.now());
    const std::string stand_in = silence && health_path ? model::unreachable_health_text(*silence) : std::string();
    if (!stand_in.empty()) {
        wanted.push_back({policy::ceph_key::health, {}, stand_in});
    }
    co_await publish(std::move(wanted));
    if (term_ && !stand_in.empty() && !term_->written.is_news(*health_path, stand_in)) {
        term_->reach.note_published(clock.now());
    }
    if (term_) {
        tell_tick(tree);
    }
    if (term_ && term_->reach.has_answered()) {
        const auto measured = co_await cluster_.measure(clock.now() + measure_limit);
        ignore(measured, "what the helper takes is shown, nothing hangs on it");
    }
}

async::awaitable<void> collection::ask(policy::ceph_round& asking, const std::vector<std::string>& pools) {
    auto& node = session_.node;
    while (const auto next = asking.next(node.clock().now())) {
        if (!node.role.is_primary()) {
            co_return;
        }
        const time_point asked = node.clock().now();
        if (next->what == policy::ceph_question::counters) {
            auto counted = co_await cluster_.counters(pools, next->until);
            asking.take(std::move(counted), node.clock().now());
        } else {
            auto printed = co_await cluster_.command(std::string(policy::command_of(next->what)), next->until);
            asking.take(printed, node.clock().now());
        }
        const bool is_refused = !asking.refusals().empty() && asking.refusals().back().what == next->what;
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(node.clock().now() - asked);
        node.log.debug(fmt::format("{}: {} ms{}", policy::to_text(next->what), took.count(),
                                   is_refused ? ", " + asking.refusals().back().why.text() : ""),
                       "ceph-thread");
    }
}

// What the round means, apart from its figures.
void collection::take_up(const policy::ceph_round& asked) {
    const time_point now = session_.node.clock().now();
    term_->reach.take(asked, now, session_.node.times.keepalive);
    if (const auto& health = asked.seen().health) {
        known_.status = health->status;
        known_.heard = now;
    }
    for (const auto& refusal : asked.refusals()) {
        const errc code = refusal.why.code();
        const bool is_answered = code != errc::timed_out && code != errc::unavailable && code != errc::stopped;
        ++(is_answered ? known_.unusable : known_.unanswered);
    }
    for (const auto& line : policy::ceph_lines(asked, known_.conditions, now)) {
        say(line);
    }
}

void collection::say(const policy::ceph_line& line) {
    auto& log = session_.node.log;
    switch (line.level) {
        case log_level::error: return log.error(line.id, line.text);
        case log_level::warning: return log.warning(line.id, line.text);
        default: return log.info(line.text);
    }
}

// ---- writes ---------------------------------------------------------------------------------------------------------

async::awaitable<void> collection::publish(std::vector<policy::ceph_write> wanted) {
    struct pending {
        std::string path;
        std::string value;
        bool may_create;
    };
    co_await notice_others();
    if (!term_) {
        co_return;
    }
    term_->has_lost_turn = false;
    term_->acknowledged = 0;
    term_->refused.clear();
    std::vector<pending> news;
    auto missing = std::exchange(term_->missing, {});
    for (auto& one : wanted) {
        auto path = path_of(one.key, one.name);
        if (path && missing.contains(*path)) {
            term_->missing.insert(*path);
        }
        if (path && term_->written.is_news(*path, one.value)) {
            // The top of all that is stored of Ceph goes with everything below it: it is the start's to create.
            news.push_back({*std::move(path), std::move(one.value), one.key != policy::ceph_key::status});
        }
    }
    const time_point deadline = session_.limit(write_limit);
    co_await async::for_each_bounded("figures of Ceph", writes_at_once, news, [this, deadline](pending& one) {
        return write(std::move(one.path), std::move(one.value), one.may_create, deadline);
    });
    tell_unwritten();
}

void collection::tell_unwritten() {
    const auto& refused = term_->refused;
    if (refused.empty()) {
        if (term_->acknowledged != 0) {
            known_.conditions.end(writing_topic);
        }
        return;
    }
    const std::string text = "Ceph's figures could not be written: " + some_of(refused);
    if (known_.conditions.hold(writing_topic, {}, text, session_.node.clock().now())) {
        session_.node.log.warning(message::ceph_unwritten, text);
    }
}

// Values are not sent again while they are the same. So it is looked at times, and when objects came or went, whether
// they still stand there: a client may have written, or deleted and created the object anew.
async::awaitable<void> collection::notice_others() {
    auto& clock = session_.node.clock();
    const std::uint64_t objects = present_.change_count();
    if (objects == term_->objects_seen && clock.now() < term_->look_at) {
        co_return;
    }
    bool is_looked_at = true;
    std::vector<std::string> foreign;
    std::vector<std::string> paths;
    for (const auto& [path, value] : term_->written.all()) {
        paths.push_back(path);
    }
    for (std::size_t first = 0; first < paths.size(); first += looks_at_once) {
        std::vector<zookeeper::read_wish> wishes;
        const std::size_t end = std::min(paths.size(), first + looks_at_once);
        for (std::size_t at = first; at < end; ++at) {
            wishes.push_back({paths[at], zookeeper::watching::no, false});
        }
        const auto found = co_await session_.zk.read_together(clock.now() + write_limit, std::move(wishes));
        follow_role();
        if (!term_) {
            co_return;
        }
        for (std::size_t at = 0; at < found.size(); ++at) {
            is_looked_at = compare(paths[first + at], found[at], foreign) && is_looked_at;
        }
    }
    if (!foreign.empty()) {
        session_.node.log.info("somebody else wrote " + some_of(foreign) + ": it is published anew");
    }
    if (is_looked_at) {
        term_->objects_seen = objects;
        term_->look_at = clock.now() + look_again;
    }
}

// False: it could not be read.
bool collection::compare(const std::string& path, const result<zookeeper::read_reply>& found,
                         std::vector<std::string>& foreign) {
    const auto& all = term_->written.all();
    const auto known = all.find(path);
    if (!found && found.error().code() != errc::not_found) {
        return false;
    }
    if (known == all.end() || (found && found->stat.version == known->second.version &&
                               (known->second.created == 0 || known->second.created == found->stat.czxid))) {
        return true;
    }
    if (found && (known->second.created == 0 || known->second.created == found->stat.czxid)) {
        foreign.push_back(path);
    }
    term_->written.forget(path);
    return true;
}

// Looks once more whether this node is to write, and sends.
async::awaitable<void> collection::write(std::string path, std::string value, bool may_create, time_point deadline) {
    bool creates = false;
    for (;;) {
        // What there is no time for is still news to the next round.
        if (term_->has_lost_turn || !may_write() || session_.node.clock().now() >= deadline) {
            co_return;
        }
        zookeeper::transaction change;
        change.check(primary_node_->path(), primary_node_->stat().version);
        std::optional<zookeeper::set_handle> set;
        if (creates) {
            change.create(path, value);  // below what is there, or it is refused
        } else {
            set = change.overwrite(path, value);
        }
        const auto done = co_await session_.zk.commit(deadline, std::move(change));
        if (done) {
            ++term_->acknowledged;
            term_->missing.erase(path);
            const auto stat = set ? done->of(*set) : zookeeper::node_stat{};
            term_->written.note(path, {std::move(value), stat.version, stat.czxid});
            co_return;
        }
        const bool is_missing = done.error().code() == errc::not_found && done.error().subject() == path;
        if (!creates && is_missing && may_create) {
            // Whoever deletes an object may just be deleting what is below it, key by key: to create one of them now
            // would be in his way. One that is missing in the next round as well was deleted alone.
            creates = term_->missing.erase(path) != 0;
            if (creates) {
                continue;
            }
            term_->written.forget(path);
            term_->missing.insert(std::move(path));
            co_return;
        }
        co_return take_refusal(path, may_create, done.error());
    }
}

void collection::take_refusal(const std::string& path, bool is_of_an_object, const failure& why) {
    const bool is_refusal = why.code() == errc::version_conflict || why.code() == errc::not_found;
    if (is_refusal && why.subject() == primary_node_->path()) {
        term_->has_lost_turn = true;  // it names somebody else, or is about to
        return;
    }
    term_->written.forget(path);
    if (why.code() != errc::not_found || !is_of_an_object) {  // else it was deleted meanwhile, and its figures with it
        term_->refused.push_back(path + ": " + std::string(to_text(why.code())));
    }
}

// ---- the tick's line ------------------------------------------------------------------------------------------------

void collection::tell_tick(const policy::ceph_tree& tree) const {
    const auto& node = session_.node;
    if (!node.config->logging.keepalives || !node.config->logging.storage_details) {
        return;
    }
    const auto counted = policy::count_osds(term_->osds);
    const auto age =
        known_.heard
            ? fmt::format("{} s", std::chrono::floor<std::chrono::seconds>(node.clock().now() - *known_.heard).count())
            : std::string("?");
    node.log.write(log_level::tick,
                   fmt::format("Ceph: {}, OSDs: {}, up {}, in {}, here {}, pools: {}, age {}",
                               known_.status.empty() ? "?" : known_.status, tree.osds.size(), counted.up, counted.in,
                               present_.local_osds(), tree.pools.size(), age),
                   {});
}

}  // namespace pvc::ceph
