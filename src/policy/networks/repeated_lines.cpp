#include "pvcnoded/policy/networks/repeated_lines.hpp"

#include <algorithm>
#include <string>

namespace pvc::policy {

namespace {

constexpr duration one_minute = repeated_events::told_every;

template <class Minutes>
std::optional<time_point> first_end(const Minutes& minutes) {
    std::optional<time_point> due;
    for (const auto& [what, of] : minutes) {
        if (of.has_more()) {
            due = std::min(due.value_or(of.until), of.until);
        }
    }
    return due;
}

// Those that were quiet for a minute are forgotten.
template <class Minutes>
void forget_quiet(Minutes& minutes, time_point now) {
    std::erase_if(minutes, [now](const auto& one) { return one.second.until <= now && !one.second.has_more(); });
}

}  // namespace

bool repeated_events::is_first(std::string_view what, time_point now) {
    forget_quiet(minutes_, now);
    const auto [at, is_new] = minutes_.try_emplace(std::string(what), minute{now + one_minute, 0});
    at->second.times += is_new ? 0 : 1;
    return is_new;
}

std::vector<repeated_events::tally> repeated_events::take_due(time_point now) {
    forget_quiet(minutes_, now);
    std::vector<tally> out;
    for (auto& [what, of] : minutes_) {
        if (of.until <= now) {
            out.push_back({what, of.times});
            of = {now + one_minute, 0};
        }
    }
    return out;
}

std::optional<time_point> repeated_events::next_due() const {
    return first_end(minutes_);
}

bool repeated_states::is_first(std::string_view what, bool is_so, time_point now) {
    forget_quiet(minutes_, now);
    auto& of = minutes_.try_emplace(std::string(what), minute{.until = now + one_minute}).first->second;
    of.is_so = is_so;
    auto& was_told = is_so ? of.was_told_so : of.was_told_over;
    if (was_told) {
        of.times += is_so ? 1 : 0;
        return false;
    }
    was_told = true;
    of.is_told_so = is_so;
    return true;
}

std::vector<repeated_states::tally> repeated_states::take_due(time_point now) {
    forget_quiet(minutes_, now);
    std::vector<tally> out;
    for (auto& [what, of] : minutes_) {
        if (of.until <= now) {
            out.push_back({what, of.times, of.is_so});
            of = {now + one_minute, 0, of.is_so, of.is_so, true, true};
        }
    }
    return out;
}

std::optional<time_point> repeated_states::next_due() const {
    return first_end(minutes_);
}

}  // namespace pvc::policy
