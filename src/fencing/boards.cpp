#include "pvcnoded/fencing/boards.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {
// A name server that is slower is gone: the address that was probed is used.
constexpr duration resolved_within = 5s;
constexpr std::array<std::string_view, 3> entry_keys = {"/ipmihostname", "/ipmiusername", "/ipmipassword"};
}  // namespace

policy::known_board boards::known_of(const std::string& node) const {
    const auto found = known_.find(node);
    return found == known_.end() ? policy::known_board() : found->second;
}

void boards::keep_only(const std::vector<std::string>& nodes) {
    std::erase_if(known_, [&](const auto& one) { return std::ranges::find(nodes, one.first) == nodes.end(); });
}

std::string boards::why_unusable(const std::string& node) const {
    const auto own = known_.find(node_.self());
    return policy::why_board_unusable(node, known_, node_.self(), node_.config->ipmi.host,
                                      own == known_.end() ? std::string() : own->second.address);
}

power::board_access boards::access_of(const std::string& node) const {
    const auto known = known_of(node);
    const auto configured = node_.config->ipmi.cipher_suite;
    return {known.address, known.entry.user, known.entry.password, configured ? configured : known.suite,
            known.as_operator};
}

boards::turn& boards::turn_of(const std::string& address) {
    auto& found = turns_[address];
    if (!found) {
        found = std::make_unique<turn>();
    }
    return *found;
}

void boards::heard_of(turn& one, power::board_command what, const result<power::board_answer>& heard) const {
    one.was_silent = went_unanswered(heard).value_or(one.was_silent);
    if (what == power::board_command::status && heard && heard->status == 0) {
        counts_.answers.add(heard->took);
    }
}

async::awaitable<result<power::board_access>> boards::reach(std::string node, policy::board_entry entry,
                                                            duration limit) {
    auto before = known_of(node);
    if (before.entry != entry) {
        before = policy::known_board();
    }
    power::board_access to{before.address, entry.user, entry.password, before.suite, before.as_operator};
    if (node_.config->ipmi.cipher_suite) {
        to.cipher_suite = node_.config->ipmi.cipher_suite;
    }
    const auto found = co_await port_.resolve(entry.host, limit);
    if (found) {
        if (std::ranges::find(*found, to.address) == found->end()) {
            to.address = found->front();
        }
        co_return to;
    }
    if (found.error().code() == errc::invalid || before.address.empty() || before.guid.empty()) {
        co_return found.error();
    }
    const auto heard = co_await command(to, power::board_command::guid, boot_time::max());
    if (!heard) {
        co_return heard.error();
    }
    if (policy::read_board_guid(heard->status, heard->output) != before.guid) {
        co_return failure(errc::refused, to.address,
                          "the name " + entry.host + " does not resolve, and here is not the board that was probed");
    }
    co_return to;
}

async::awaitable<result<power::board_answer>> boards::command(power::board_access to, power::board_command what,
                                                              boot_time not_after, duration limit) {
    turn& mine = turn_of(to.address);
    struct wish {
        explicit wish(turn& of) : at(of) { ++at.fencers; }
        wish(const wish&) = delete;
        wish& operator=(const wish&) = delete;
        ~wish() { --at.fencers; }
        turn& at;
    };
    const wish wanted(mine);
    if (mine.question != nullptr) {
        mine.question->cancel();
    }
    const time_point deadline = node_.clock().now() + limit;
    const auto place = co_await mine.order.lock_until(node_.clock(), deadline, "the board of a node");
    if (!place) {
        co_return failure(errc::timed_out, to.address, "another command to this board does not end");
    }
    const boot_time latest = is_planted(defect::fence_stale_guard) ? boot_time::max() : not_after;
    std::optional<async::ordered_semaphore<std::uint64_t>::place> among_silent;
    if (mine.was_silent) {
        const duration until_latest = latest - node_.clock().boot_now();
        const bool is_guarded = until_latest < deadline - node_.clock().now();
        auto free = co_await silent_places_.take_until(next_silent_++, node_.clock(),
                                                       is_guarded ? node_.clock().now() + until_latest : deadline,
                                                       "its turn among boards that do not answer");
        if (!free) {
            co_return failure(is_guarded ? errc::stopped : errc::timed_out, to.address,
                              "too many boards that do not answer are asked already");
        }
        among_silent.emplace(*std::move(free));
    }
    auto heard = co_await port_.ask(std::move(to), what, latest, deadline - node_.clock().now());
    heard_of(mine, what, heard);
    co_return heard;
}

async::awaitable<result<power::board_answer>> boards::question(power::board_access to, power::board_command what,
                                                               duration limit) {
    turn& mine = turn_of(to.address);
    const time_point deadline = node_.clock().now() + limit;
    const auto place = co_await mine.order.lock_until(node_.clock(), deadline, "the board of a node");
    if (!place) {
        co_return failure(errc::timed_out, to.address, "another command to this board does not end");
    }
    if (mine.fencers > 0) {
        co_return failure(errc::stopped, to.address, "a fence has this board");
    }
    std::optional<result<power::board_answer>> heard;
    struct mark {
        mark(turn& of, async::task_group& scope) : at(of) { at.question = &scope; }
        mark(const mark&) = delete;
        mark& operator=(const mark&) = delete;
        ~mark() { at.question = nullptr; }
        turn& at;
    };
    std::optional<mark> under_way;
    co_await async::with_task_group("question to a board", [&](async::task_group& scope) -> async::awaitable<void> {
        under_way.emplace(mine, scope);
        scope.spawn("ipmitool", [&]() -> async::awaitable<void> {
            auto answer = co_await port_.ask(to, what, boot_time::max(), deadline - node_.clock().now());
            heard.emplace(std::move(answer));
        });
        co_return;
    });
    under_way.reset();
    if (!heard) {
        co_return failure(errc::stopped, to.address, "a fence has this board");
    }
    heard_of(mine, what, *heard);
    co_return std::move(*heard);
}

std::optional<bool> went_unanswered(const result<power::board_answer>& heard) {
    if (!heard) {
        return heard.error().code() == errc::timed_out ? std::optional(true) : std::nullopt;
    }
    return !heard->status || (*heard->status != 0 && heard->took >= policy::board_probe::silence);
}

async::awaitable<result<board_keys>> read_board_keys(core::session& s, std::string node) {
    std::vector<zookeeper::read_wish> wishes;
    for (const auto key : entry_keys) {
        wishes.push_back({.path = model::node_path(node, key)});
    }
    std::vector<std::string> others;
    for (const auto& one : s.others.all()) {
        if (one.name != node) {
            others.push_back(one.name);
            wishes.push_back({.path = model::node_path(one.name, entry_keys.front())});
        }
    }
    const auto got = co_await s.zk.read_together(s.limit(), std::move(wishes));
    std::vector<std::optional<std::string>> values;
    for (const auto& one : got) {
        if (!one && one.error().code() != errc::not_found) {
            co_return one.error();
        }
        values.push_back(one ? std::optional(one->data) : std::nullopt);
    }
    auto read = policy::board_entry_of(values[0], values[1], values[2]);
    if (!read.trouble.empty()) {
        co_return failure(errc::invalid, node, read.trouble);
    }
    board_keys keys{.entry = std::move(read.entry), .other_hosts = {}};
    for (std::size_t at = 0; at < others.size(); ++at) {
        keys.other_hosts[others[at]] = values[entry_keys.size() + at].value_or("");
    }
    co_return keys;
}

async::awaitable<result<power::board_access>> reach_board_of(core::session& s, boards& all, std::string node,
                                                             board_keys keys) {
    PVC_CO_TRY(auto found, co_await all.reach(node, keys.entry, resolved_within));
    const std::string own_host = s.node.config->ipmi.host;
    std::string own_address = all.known_of(s.node.self()).address;
    if (own_address.empty() && !own_host.empty()) {
        // No probe has looked it up yet.
        const auto own = co_await all.resolve(own_host, resolved_within);
        own_address = own ? own->front() : std::string();
    }
    const auto known = policy::boards_read_anew(all.known(), node, keys.entry, found.address, keys.other_hosts);
    const auto other = policy::who_shares_board(node, known, s.node.self(), own_host, own_address);
    if (!other.empty()) {
        co_return failure(errc::refused, found.address,
                          "the board of node " + node + " is the same as that of node " + other);
    }
    co_return found;
}

}  // namespace pvc::fencing
