#include "pvcnoded/policy/ceph/round.hpp"

#include "pvcnoded/policy/intervals.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {

constexpr duration ceph_command_limit = 2s;
constexpr duration ceph_connect_limit = 3s;
constexpr duration manager_pause = 30s;
constexpr duration at_once = 1s;

struct question_words {
    std::string_view name;
    std::string_view command;
};
constexpr std::array<question_words, 9> questions{{
    {"health", R"({"prefix":"health","format":"json"})"},
    {"status", R"({"prefix":"status","format":"plain"})"},
    {"df", R"({"prefix":"df","format":"plain"})"},
    {"df as JSON", R"({"prefix":"df","format":"json"})"},
    {"counters of pools", ""},
    {"osd pool stats", R"({"prefix":"osd pool stats","format":"json"})"},
    {"osd dump", R"({"prefix":"osd dump","format":"json"})"},
    {"osd df", R"({"prefix":"osd df","format":"json"})"},
    {"osd status", R"({"prefix":"osd status","format":"json"})"},
}};

// The cluster, or the way to it, is not there: no other question would fare better.
bool is_silence(const failure& why) {
    return why.code() == errc::timed_out || why.code() == errc::unavailable || why.code() == errc::stopped;
}

// The first of those that are published together, for which they have to be answered in one round.
ceph_question group_of(ceph_question what) {
    switch (what) {
        case ceph_question::counters:
        case ceph_question::recovery: return ceph_question::pools;
        case ceph_question::osd_df:
        case ceph_question::osd_status: return ceph_question::osd_dump;
        default: return what;
    }
}

// Round and round.
ceph_question behind(ceph_question what) {
    const auto next = static_cast<ceph_question>(static_cast<int>(what) + 1);
    return next == ceph_question::none ? ceph_question::health : next;
}

}  // namespace

std::string_view command_of(ceph_question what) {
    return questions.at(static_cast<std::size_t>(what)).command;
}

std::string_view to_text(ceph_question what) {
    return what == ceph_question::none ? "nothing" : questions.at(static_cast<std::size_t>(what)).name;
}

bool needs_manager(ceph_question what) {
    return what == ceph_question::recovery || what == ceph_question::osd_df || what == ceph_question::osd_status;
}

duration ceph_round_limit(duration keepalive) {
    return std::max(figures_budget(keepalive), ceph_connect_limit);
}

bool ceph_round::is_wanted(ceph_question what, time_point now) const {
    switch (what) {
        case ceph_question::pools:
        case ceph_question::counters: return about_.has_pools;
        case ceph_question::recovery:
            return about_.has_pools && now >= about_.manager_paused_until && seen_.counters &&
                   std::ranges::any_of(*seen_.counters, [](const auto& one) { return one.objects_degraded > 0; });
        case ceph_question::osd_dump: return about_.has_osds;
        // Without a dump nothing of an OSD is published.
        case ceph_question::osd_df:
        case ceph_question::osd_status: return seen_.osd_map && now >= about_.manager_paused_until;
        default: return true;
    }
}

void ceph_round::go_on() {
    at_ = behind(at_);
    if (at_ == about_.first) {
        at_ = ceph_question::none;
    }
}

ceph_question ceph_round::next_first() const {
    if (left_out_ == ceph_question::none) {
        return ceph_question::health;
    }
    if (!has_taken_) {
        return about_.first;  // there was no time at all
    }
    // It had all of the round for itself, and that was not enough: the others have their turn.
    ceph_question next = group_of(left_out_);
    while (group_of(next) == group_of(about_.first)) {
        next = behind(next);
    }
    return next;
}

std::optional<ceph_round::ask> ceph_round::next(time_point now) {
    while (at_ != ceph_question::none && !is_wanted(at_, now)) {
        go_on();
    }
    if (at_ == ceph_question::none) {
        return std::nullopt;
    }
    const bool is_first = !has_taken_;
    time_point until = now + (is_first && about_.may_connect ? ceph_connect_limit : ceph_command_limit);
    if (is_first && now < about_.deadline) {
        // With a short interval the round is as long as this limit, and a moment of it has passed by now.
        until = std::min(until, about_.deadline);
    }
    if (until > about_.deadline) {
        left_out_ = std::exchange(at_, ceph_question::none);
        return std::nullopt;
    }
    return ask{at_, until};
}

void ceph_round::refuse(failure why, time_point now) {
    const bool is_timeout = why.code() == errc::timed_out;
    refusals_.push_back({at_, std::move(why)});
    const ceph_refusal& last = refusals_.back();
    if (needs_manager(at_) && is_timeout) {
        is_manager_silent_ = true;
        about_.manager_paused_until = now + manager_pause;
        go_on();  // past what else needs it
    } else if (is_silence(last.why)) {
        was_refused_at_once_ = !has_taken_ && !is_timeout && now - about_.begun < at_once;
        silence_ = last;
        at_ = ceph_question::none;
    } else {
        go_on();
    }
    has_taken_ = true;
}

// Keeps what was read, or says why there is nothing.
template <class T>
result<void> ceph_round::keep(std::optional<T> ceph_seen::* where, std::string_view printed,
                              result<T> (*parse)(std::string_view)) {
    auto* const known = about_.answers;
    std::string* const before = known == nullptr ? nullptr : &known->printed.at(static_cast<std::size_t>(at_));
    if (before != nullptr && known->seen.*where && *before == printed) {
        seen_.*where = known->seen.*where;
        return {};
    }
    auto read = parse(printed);
    if (!read) {
        return std::move(read).error();
    }
    if (before != nullptr && printed.size() <= ceph_answers::bytes_max) {
        *before = printed;
        known->seen.*where = *read;
    }
    seen_.*where = *std::move(read);
    return {};
}

result<void> ceph_round::read(std::string_view printed) {
    switch (at_) {
        case ceph_question::health: return keep(&ceph_seen::health, printed, model::parse_ceph_health);
        case ceph_question::status: return keep(&ceph_seen::status, printed, model::parse_ceph_text);
        case ceph_question::df: return keep(&ceph_seen::df, printed, model::parse_ceph_text);
        case ceph_question::pools: return keep(&ceph_seen::rooms, printed, model::parse_pool_rooms);
        case ceph_question::recovery: return keep(&ceph_seen::recovery, printed, model::parse_pool_recovery);
        case ceph_question::osd_dump: return keep(&ceph_seen::osd_map, printed, model::parse_osd_dump);
        case ceph_question::osd_df: return keep(&ceph_seen::osd_rooms, printed, model::parse_osd_df);
        case ceph_question::osd_status: return keep(&ceph_seen::osd_status, printed, model::parse_osd_status);
        default: return failure(errc::invalid, std::string(to_text(at_)), "an answer to nothing");
    }
}

void ceph_round::take(const result<std::string>& printed, time_point now) {
    if (!printed) {
        return refuse(printed.error(), now);
    }
    if (auto usable = read(*printed); !usable) {
        return refuse(std::move(usable).error(), now);
    }
    has_taken_ = true;
    go_on();
}

void ceph_round::take(result<std::vector<model::pool_counters>> counted, time_point now) {
    if (!counted) {
        return refuse(std::move(counted).error(), now);
    }
    seen_.counters = *std::move(counted);
    has_taken_ = true;
    go_on();
}

}  // namespace pvc::policy
