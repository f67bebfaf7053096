// After an operator's word that a node is off nobody of ours switches it on (README ruling 43), until it has sent a
// heartbeat: he may have his hands in it.
#include "pvcnoded/model/fence_power.hpp"
#include "sim/subjects/fencing/fence_rules.hpp"
#include "sim/subjects/fencing/fencing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration order_is_under_way = 3s;  // from when it is written until the board has it
constexpr duration order_was_open = 55s;     // a word that comes so soon after it is not taken

struct words_seen {
    struct word {
        std::string to;  // the coordinator
        std::string node;
        time_point at;
        std::shared_ptr<core::awaited_explanation> answer;
    };
    struct order {
        std::string by;
        std::string node;
        time_point at;
    };
    std::vector<word> open;
    std::vector<order> orders;  // to switch on, by ours
    struct note {
        std::string by;
        time_point at;
    };
    std::map<std::string, word> taken;               // by node: the last one
    std::map<std::string, std::vector<note>> noted;  // by node: words in the store, the last one last
    std::map<std::string, order> claims;             // by node: the last order before it was given, likewise
};

// No heartbeat came after it.
bool stands(const judge& of, const std::string& node, time_point at) {
    const auto& beats = of.state<fences_seen>().beat;
    const auto found = beats.find(node);
    return found == beats.end() || found->second < at;
}

void power_on_is_sent(judge& of, const std::string& by, const std::string& node) {
    if (of.world.find(by) == nullptr) {
        return;  // nodes of the reference know nothing of words
    }
    ++of.transitions["fence on"];
    auto& all = of.state<words_seen>();
    const time_point now = of.world.now();
    if (const auto word = all.taken.find(node); word != all.taken.end() && stands(of, node, word->second.at)) {
        of.say("fence_word_holds",
               fmt::format("{} switches {} on, which is off by a word that {} has taken", by, node, word->second.to));
    }
    const auto& notes = all.noted[node];
    const auto claim = all.claims.find(node);
    const bool is_under_way = claim != all.claims.end() && !notes.empty() && claim->second.by == by &&
                              claim->second.at <= notes.back().at && now - claim->second.at <= order_is_under_way;
    if (!notes.empty() && stands(of, node, notes.back().at) && !is_under_way) {
        of.say("fence_word_holds", fmt::format("{} switches {} on, and a word that it is off was noted {:.1f} s ago",
                                               by, node, std::chrono::duration<double>(now - notes.back().at).count()));
    }
    all.orders.push_back({by, node, now});
}

void listen_to_words(judge& of) {
    if (!of.world.has_boards) {
        return;
    }
    auto& powers = powers_of(of.world);
    powers.on_command.emplace_back([&of](const std::string& by, const std::string& node, const std::string& verb) {
        if (verb == "on") {
            power_on_is_sent(of, by, node);
        }
    });
    powers.on_word.emplace_back([&of](const std::string& to, const std::string& node, const auto& answer) {
        ++of.transitions["fence word"];
        of.state<words_seen>().open.push_back({to, node, of.world.now(), answer});
    });
}

void follow_power_key(judge& of, const seen_change& seen) {
    constexpr std::string_view nodes = "/nodes/";
    const std::string& path = seen.what.path;
    if (!path.starts_with(nodes) || !path.ends_with("/fencepower")) {
        return;
    }
    auto& all = of.state<words_seen>();
    const std::string node = path.substr(nodes.size(), path.rfind('/') - nodes.size());
    const bool is_there = seen.what.what != recorded_kind::remove;
    const auto said = is_there ? model::parse_fence_power(seen.what.data) : std::nullopt;
    auto& notes = all.noted[node];
    std::erase_if(notes, [&](const auto& one) { return !stands(of, node, one.at); });
    if (!is_there || (said && said->is_on)) {
        notes.clear();
    } else if (!said) {
        // Taken back: that of another coordinator, which it was written over, holds as before.
        if (!notes.empty()) {
            notes.pop_back();
        }
    } else {
        const auto before = std::ranges::find(notes, said->coordinator, &words_seen::note::by);
        if (before != notes.end()) {
            notes.erase(std::next(before), notes.end());
        } else {
            notes.push_back({said->coordinator, of.world.now()});
        }
    }
    if (said && said->is_on) {
        all.claims[node] = {said->coordinator, node, of.world.now()};
    }
}

void a_word_is_taken(judge& of, const words_seen::word& word) {
    auto& all = of.state<words_seen>();
    ++of.transitions["fence word taken"];
    for (const auto& order : all.orders) {
        if (order.node == word.node && word.at - order.at < order_was_open && stands(of, word.node, order.at)) {
            of.say(
                "fence_word_holds",
                fmt::format("{} takes a word that {} is off, which {} ordered on {:.1f} s before it was said", word.to,
                            word.node, order.by, std::chrono::duration<double>(word.at - order.at).count()));
        }
    }
    all.taken[word.node] = word;
}

void look_for_answers(judge& of) {
    auto& all = of.state<words_seen>();
    std::vector<words_seen::word> taken;
    std::erase_if(all.open, [&](const words_seen::word& one) {
        const auto& answer = one.answer->answer;
        if (answer && *answer) {
            taken.push_back(one);
        }
        return answer.has_value();
    });
    for (const auto& one : taken) {
        a_word_is_taken(of, one);
    }
    std::erase_if(all.orders, [&](const auto& one) { return of.world.now() - one.at > 5min; });
}

constexpr rule word_rules[] = {
    {.name = "fence_word_holds",
     .meaning = "nobody of ours switches a node on after an operator's word that it is off, and before its heartbeat",
     .on_begin = listen_to_words,
     .on_change = follow_power_key,
     .on_second = look_for_answers},
};

}  // namespace

void add_word_rules(registry& to) {
    to.add(word_rules);
}

}  // namespace pvc::sim
