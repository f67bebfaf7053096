#include "contract/zookeeper/differential_transcript.hpp"

#include <algorithm>
#include <iterator>

namespace pvc::contract::differential {

namespace {

// Where several clients write at once, or watches are sent again after a reconnect, the order of events is nobody's
// promise: they are compared as a set, and apart from the answers.
bool is_order_of_events_open(step_kind what) {
    switch (what) {
        case step_kind::together:
        case step_kind::drop:
        case step_kind::lost_answers:
        case step_kind::no_way:
        case step_kind::reopen:
        case step_kind::expire:
        case step_kind::contend: return true;
        default: return false;
    }
}

std::vector<entry> comparable(step_kind what, const std::vector<entry>& log) {
    if (!is_order_of_events_open(what)) {
        return log;
    }
    std::vector<entry> out;
    std::vector<entry> events;
    for (const auto& one : log) {
        (one.is_event ? events : out).push_back(one);
    }
    std::ranges::sort(events, {}, &entry::text);
    out.insert(out.end(), events.begin(), events.end());
    return out;
}

// The transaction numbers of both worlds, paired as they appear.
class number_pairs {
public:
    void leave_order_open(const step_record& memory, const step_record& real) {
        if (memory.before_zxid != 0) {
            open_memory_[memory.after_zxid] = memory.before_zxid;
            open_real_[real.after_zxid] = real.before_zxid;
        }
    }
    bool fits(std::int64_t memory, std::int64_t real) {
        const auto [at, is_new] = by_memory_.emplace(memory, real);
        if (!is_new) {
            return at->second == real;
        }
        const bool before = at == by_memory_.begin() || in_order(*std::prev(at), *at);
        const bool after = std::next(at) == by_memory_.end() || in_order(*at, *std::next(at));
        return known_real_.emplace(real, memory).second && before && after;
    }

private:
    using pair = std::pair<const std::int64_t, std::int64_t>;
    bool in_order(const pair& older, const pair& newer) const {
        const auto phase = phase_of(open_memory_, older.first);
        if (phase != 0 && phase == phase_of(open_memory_, newer.first)) {
            return phase_of(open_real_, older.second) != 0 &&
                   phase_of(open_real_, older.second) == phase_of(open_real_, newer.second);
        }
        return older.second < newer.second;
    }
    // The end of the phase without an order that the number lies in; 0 = none.
    static std::int64_t phase_of(const std::map<std::int64_t, std::int64_t>& phases, std::int64_t zxid) {
        const auto next = phases.upper_bound(zxid);
        if (next == phases.begin()) {
            return 0;
        }
        const auto& [after, before] = *std::prev(next);
        return zxid > after && zxid < before ? before : 0;
    }

    std::map<std::int64_t, std::int64_t> by_memory_;
    std::map<std::int64_t, std::int64_t> known_real_;
    std::map<std::int64_t, std::int64_t> open_memory_;
    std::map<std::int64_t, std::int64_t> open_real_;
};

std::string text_of(const std::vector<entry>& log) {
    std::string out;
    for (const auto& one : log) {
        out += "\n      " + one.text;
        for (const auto zxid : one.zxids) {
            out += ' ' + std::to_string(zxid);
        }
    }
    return out.empty() ? "\n      nothing" : out;
}

bool agree(const std::vector<entry>& memory, const std::vector<entry>& real, number_pairs& numbers, std::string& why) {
    for (std::size_t i = 0; i < std::max(memory.size(), real.size()); ++i) {
        if (i >= memory.size() || i >= real.size() || memory[i].text != real[i].text ||
            memory[i].zxids.size() != real[i].zxids.size()) {
            why = "line " + std::to_string(i + 1);
            return false;
        }
        for (std::size_t k = 0; k < memory[i].zxids.size(); ++k) {
            if (!numbers.fits(memory[i].zxids[k], real[i].zxids[k])) {
                why = "line " + std::to_string(i + 1) + ": the order of transaction numbers";
                return false;
            }
        }
    }
    return true;
}

}  // namespace

std::optional<std::string> difference(const scenario& what, const transcript& memory, const transcript& real) {
    for (const auto* one : {&memory, &real}) {
        if (!one->problems.empty()) {
            return (one == &memory ? "in memory, " : "in the other world, ") + one->problems.front();
        }
    }
    number_pairs numbers;
    for (std::size_t i = 0; i < std::min(memory.steps.size(), real.steps.size()); ++i) {
        numbers.leave_order_open(memory.steps[i], real.steps[i]);
        for (std::size_t client = 0; client < clients; ++client) {
            const auto ours = comparable(what.steps[i].what, memory.steps[i].logs[client]);
            const auto theirs = comparable(what.steps[i].what, real.steps[i].logs[client]);
            std::string why;
            if (!agree(ours, theirs, numbers, why)) {
                return "step " + std::to_string(i) + ": " + text_of(what.steps[i]) + "\n  client " +
                       std::to_string(client) + " saw, in memory:" + text_of(ours) +
                       "\n  and in the other world:" + text_of(theirs) + "\n  first difference: " + why;
            }
        }
    }
    if (memory.steps.size() != real.steps.size()) {
        return "one of them did not reach the end: " + std::to_string(memory.steps.size()) + " and " +
               std::to_string(real.steps.size()) + " steps";
    }
    return std::nullopt;
}

}  // namespace pvc::contract::differential
