#include "pvcnoded/policy/fencing/probe.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {

constexpr duration probed_every = 10min;
constexpr duration distrusted_every = 1min;
constexpr duration said_every = 1h;

bool is_same_board(const std::string& one_host, const std::string& one_address, const std::string& other_host,
                   const std::string& other_address) {
    const bool is_same_text = !one_host.empty() && one_host == other_host;
    const bool is_same_place = !one_address.empty() && (one_address == other_address || one_address == other_host);
    return is_same_text || is_same_place || (!other_address.empty() && other_address == one_host);
}

std::vector<std::optional<int>> suites_to_try(std::optional<int> configured, const known_board& before) {
    if (configured) {
        return {configured};
    }
    std::vector<std::optional<int>> all;
    if (before.suite) {
        all.emplace_back(before.suite);
    }
    for (const std::optional<int> one : {std::optional<int>(), std::optional(17), std::optional(3)}) {
        if (std::ranges::find(all, one) == all.end()) {
            all.push_back(one);
        }
    }
    return all;
}

std::string seconds_text(duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

std::string board_lies(const std::string& address) {
    return fmt::format("its board {} said off while the node checked in: it is another's, or lies", address);
}

}  // namespace

void take_board(known_boards& all, const std::string& node, known_board found) {
    known_board& mine = all[node];
    const bool is_of_before = mine.entry.host == found.entry.host;
    found.own_guid = is_of_before ? mine.own_guid : std::string();
    const bool is_of_another = std::ranges::any_of(all, [&](const auto& one) {
        return one.first != node && (one.second.own_guid == found.guid || one.second.guid == found.guid);
    });
    if (!found.guid.empty() && !is_of_another) {
        found.own_guid = found.guid;
    }
    mine = std::move(found);
}

std::string who_shares_board(const std::string& node, const known_boards& all, const std::string& self,
                             const std::string& own_host, const std::string& own_address) {
    const auto mine = all.find(node);
    if (mine == all.end()) {
        return {};
    }
    const auto& board = mine->second;
    if (is_same_board(board.entry.host, board.address, own_host, own_address)) {
        return self;
    }
    const auto other = std::ranges::find_if(all, [&](const auto& one) {
        const bool is_same_guid =
            !board.guid.empty() && (board.guid == one.second.guid || board.guid == one.second.own_guid);
        return one.first != node && (is_same_guid || is_same_board(board.entry.host, board.address,
                                                                   one.second.entry.host, one.second.address));
    });
    return other == all.end() ? std::string() : other->first;
}

known_boards boards_read_anew(known_boards known, const std::string& node, const board_entry& entry,
                              const std::string& address, const std::map<std::string, std::string>& other_hosts) {
    known_board& mine = known[node];
    if (mine.entry != entry || mine.address != address) {
        mine = known_board();
    }
    mine.entry = entry;
    mine.address = address;
    for (const auto& [other, host] : other_hosts) {
        if (other != node) {
            known[other].entry.host = host;  // with the address that it had: it may be the same board by another name
        }
    }
    return known;
}

std::string why_board_unusable(const std::string& node, const known_boards& all, const std::string& self,
                               const std::string& own_host, const std::string& own_address) {
    const auto mine = all.find(node);
    if (mine == all.end()) {
        return known_board().trouble;
    }
    if (const auto other = who_shares_board(node, all, self, own_host, own_address); !other.empty()) {
        return "its board is the same as that of node " + other;
    }
    return mine->second.trouble;
}

std::optional<due_probe> next_probe(const std::vector<probe_candidate>& all, time_point now) {
    std::optional<due_probe> first;
    for (const auto& one : all) {
        if (one.is_being_fenced) {
            continue;
        }
        due_probe due{one.node, std::nullopt};
        if (one.probed && !one.is_wanted) {
            due.at = *one.probed + (one.is_distrusted ? distrusted_every : probed_every);
        }
        if (one.again && !one.is_wanted) {
            due.at = std::max(due.at.value_or(*one.again), *one.again);
        }
        // Who was never asked comes first.
        if (!first || due.at.value_or(time_point::min()) < first->at.value_or(time_point::min())) {
            first = due;
        }
    }
    if (first && first->at && *first->at <= now) {
        first->at.reset();
    }
    return first;
}

board_probe::board_probe(board_entry entry, const known_board& before, std::optional<int> configured, bool runs)
    : is_run(runs) {
    if (before.entry == entry) {
        found = before;
    }
    was_answering = found.power != board_power::unknown;
    guid_before = found.guid;
    suites = suites_to_try(configured, found);
    found.entry = std::move(entry);
    found.power = board_power::unknown;
    found.trouble.clear();
}

probe_question board_probe::next() const {
    probe_question question{probe_question_kind::none, found.address, suite, found.as_operator};
    switch (at) {
        case step::resolve: question.what = probe_question_kind::resolve; break;
        case step::status: question.what = probe_question_kind::status; break;
        case step::guid: question.what = probe_question_kind::guid; break;
        case step::heartbeat: question.what = probe_question_kind::heartbeat; break;
        case step::over: break;
    }
    return question;
}

void board_probe::resolved(const std::vector<std::string>& addresses, std::string_view why_none) {
    const bool is_kept = std::ranges::find(addresses, found.address) != addresses.end();
    if (!addresses.empty() && !is_kept) {
        found.address = addresses.front();
    }
    is_kept_address = addresses.empty();
    if (addresses.empty() && (found.address.empty() || guid_before.empty())) {
        found.trouble =
            fmt::format("the name of its board, {}, does not resolve ({})", shown(found.entry.host), shown(why_none));
        at = step::over;
        return;
    }
    suite = suites.front();
    suites.erase(suites.begin());
    at = step::status;
}

void board_probe::answered(const probe_heard& heard) {
    if (at == step::status) {
        take_status(heard);
        return;
    }
    if (at != step::guid) {
        return;
    }
    found.guid = read_board_guid(heard.failed.empty() ? heard.status : std::nullopt, heard.output);
    if (is_kept_address && found.guid != guid_before) {
        found.trouble = fmt::format("the name of its board, {}, does not resolve, and at {} answers another one",
                                    shown(found.entry.host), found.address);
        found.guid = guid_before;
        found.power = board_power::unknown;
        at = step::over;
        return;
    }
    if (found.guid.empty()) {
        found.guid = guid_before;  // it did not answer this time
    }
    const bool is_strange = found.power == board_power::off && is_run;
    at = is_strange ? step::heartbeat : step::over;
}

void board_probe::take_status(const probe_heard& heard) {
    auto answer = read_power(heard.failed.empty() ? heard.status : std::nullopt, heard.output, heard.errors);
    if (!heard.failed.empty()) {
        answer.why = heard.failed;
    }
    const bool is_known = answer.power != board_power::unknown;
    const bool has_spoken = heard.failed.empty() && heard.status == 0;
    all_tried.push_back({suite, std::move(answer), heard.took, heard.as_operator, has_spoken});
    const bool is_silent = !is_known && (heard.took >= silence || !heard.failed.empty()) && was_answering;
    if ((is_known && heard.took <= fast) || suites.empty() || is_silent) {
        choose();
        return;
    }
    suite = suites.front();
    suites.erase(suites.begin());
}

void board_probe::choose() {
    for (std::size_t i = 0; i < all_tried.size(); ++i) {
        const bool is_known = all_tried[i].answer.power != board_power::unknown;
        if (is_known && (!best || all_tried[i].took < all_tried[*best].took)) {
            best = i;
        }
    }
    if (!best) {
        // The first one was what would have been used.
        const auto& first = all_tried.front();
        found.trouble =
            fmt::format("its board {} {} ({})", found.address,
                        first.has_spoken ? "gives no answer that is understood" : "does not answer", first.answer.why);
        at = step::over;
        return;
    }
    const auto& chosen = all_tried[*best];
    suite = chosen.suite;
    found.suite = chosen.suite;
    found.as_operator = chosen.as_operator;
    found.power = chosen.answer.power;
    found.latency = chosen.took;
    found.is_distrusted = found.is_distrusted && found.power != board_power::on;
    if (found.is_distrusted) {
        found.trouble = board_lies(found.address);
    }
    at = step::guid;
}

void board_probe::heartbeat_seen(bool has_moved) {
    if (at != step::heartbeat) {
        return;
    }
    if (has_moved) {
        found.is_distrusted = true;
        found.trouble = board_lies(found.address);
    }
    at = step::over;
}

probe_news news_of_probe(const std::string& node, const known_board& after, std::string_view unusable_for,
                         const std::optional<probe_said>& said, std::optional<int> configured, time_point now) {
    using kind = probe_news::kind;
    const bool is_old = !said || now - said->at >= said_every;
    if (!unusable_for.empty()) {
        if (!is_old && said->why == unusable_for) {
            return {};
        }
        const bool is_foreign = after.is_distrusted || unusable_for.find("same as") != std::string_view::npos;
        return {is_foreign ? kind::foreign : kind::unusable,
                fmt::format("node {} could not be fenced now: {}", node, unusable_for)};
    }
    const bool is_over = said && !said->why.empty();
    const bool is_slow = after.latency > board_probe::fast;
    if (is_slow && (is_old || is_over || !said->is_slow)) {
        const std::string hint =
            configured
                ? fmt::format("fencing.ipmi.cipher_suite is {} here, another may be faster", *configured)
                : std::string("no cipher suite that was tried is faster, so look at the board and the way to it");
        return {
            kind::slow,
            fmt::format("{}the board {} of node {} takes {} for an answer, which every step of a fence waits for; {}",
                        is_over ? "node " + node + " can be fenced, but " : std::string(), after.address, node,
                        seconds_text(after.latency), hint)};
    }
    if (is_over) {
        return {kind::usable, fmt::format("node {} can be fenced: its board {} answers within {}", node, after.address,
                                          seconds_text(after.latency))};
    }
    return {};
}

}  // namespace pvc::policy
