#include "pvcnoded/policy/ceph/reachability.hpp"

#include "pvcnoded/base/utf8.hpp"

#include <algorithm>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {

constexpr duration silence_limit_of_ceph = 60s;
constexpr duration said_again_after = 60s;
constexpr std::string_view cluster_topic = "the cluster";
constexpr std::string_view manager_topic = "the manager";
constexpr std::string_view pace_topic = "its pace";

std::string cause_of(const failure& why) {
    constexpr std::size_t most = 300;
    const std::string_view cause = why.cause().empty() ? to_text(why.code()) : std::string_view(why.cause());
    return tame_text(start_to_character(cause, most));
}

}  // namespace

// ---- clients --------------------------------------------------------------------------------------------------------

void ceph_reachability::take(const ceph_round& round, time_point now, duration keepalive) {
    if (round.seen().health) {
        heard_ = now;
        published_.reset();
    }
    has_answered_ = round.has_answer();
    first_question_ = round.next_first();
    manager_paused_until_ = round.manager_paused_until();
    refusals_ = round.was_refused_at_once() ? refusals_ + 1 : 0;
    // A little less than two intervals: the next tick but one.
    next_attempt_ = refusals_ < 2 ? now : now + keepalive * 3 / 2;
}

std::optional<std::chrono::seconds> ceph_reachability::silence_to_publish(time_point now) const {
    const bool is_due =
        now - heard_ >= silence_limit_of_ceph && now - published_.value_or(heard_) >= silence_limit_of_ceph;
    return is_due ? std::optional(std::chrono::floor<std::chrono::seconds>(now - heard_)) : std::nullopt;
}

// ---- the operator ---------------------------------------------------------------------------------------------------

bool ceph_conditions::hold(std::string_view topic, std::string_view kind, std::string_view text, time_point now) {
    auto known = all_.find(topic);
    const bool is_new = known == all_.end();
    if (is_new) {
        known = all_.emplace(topic, condition{{}, now, now}).first;
    }
    condition& one = known->second;
    one.text = text;
    const auto said = one.kinds.find(kind);
    const bool is_said = said != one.kinds.end() && now - said->second < said_again_after;
    if (!is_new && is_said && now - one.told < said_again_after) {
        return false;
    }
    one.kinds.insert_or_assign(std::string(kind), now);
    one.told = now;
    return true;
}

bool ceph_conditions::end(std::string_view topic) {
    const auto known = all_.find(topic);
    if (known == all_.end()) {
        return false;
    }
    all_.erase(known);
    return true;
}

bool ceph_conditions::end_in_time(std::string_view topic, time_point now) {
    const auto known = all_.find(topic);
    return known != all_.end() && now - known->second.told >= said_again_after && end(topic);
}

namespace {

// All that one round may say.
struct speaker {
    const ceph_round& round;
    ceph_conditions& known;
    time_point now;
    std::vector<ceph_line> lines{};

    void hold(std::string_view topic, log_level level, message id, std::string_view kind, std::string text) {
        if (known.hold(topic, kind, text, now)) {
            lines.push_back({level, id, std::move(text)});
        }
    }
    void end(std::string_view topic, std::string text) {
        if (known.end(topic)) {
            lines.push_back({log_level::info, {}, std::move(text)});
        }
    }
    void say_cluster() {
        if (round.silence()) {
            hold(cluster_topic, log_level::error, message::ceph_silent, to_text(round.silence()->why.code()),
                 "Ceph does not answer, its figures stay as they are: " + cause_of(round.silence()->why));
        } else if (round.has_answer()) {
            end(cluster_topic, "Ceph answers again");
        }
    }
    void say_manager() {
        if (round.is_manager_silent()) {
            hold(manager_topic, log_level::warning, message::ceph_manager_silent, {},
                 "Ceph's manager does not answer: of OSDs only up and in are published");
        } else if (round.seen().osd_rooms || round.seen().osd_status || round.seen().recovery) {
            end(manager_topic, "Ceph's manager answers again");
        }
    }
    // What was asked and has an answer that is of no use. Silence is said above.
    void say_unusable() {
        for (const auto& one : round.refusals()) {
            const bool is_silence = round.silence() && round.silence()->what == one.what;
            const bool is_manager =
                round.is_manager_silent() && needs_manager(one.what) && one.why.code() == errc::timed_out;
            if (!is_silence && !is_manager) {
                hold(to_text(one.what), log_level::warning, message::ceph_answer_unusable, to_text(one.why.code()),
                     "Ceph's answer to \"" + std::string(to_text(one.what)) +
                         "\" is of no use, what is published of it stays: " + cause_of(one.why));
            }
        }
    }
    // What is left out is asked in a later round.
    void say_pace() {
        if (round.left_out() != ceph_question::none) {
            hold(pace_topic, log_level::warning, message::ceph_answer_unusable, {},
                 "Ceph is slow, so its figures come later: there was no time left to ask for \"" +
                     std::string(to_text(round.left_out())) + "\"");
        } else if (round.has_answer() && known.end_in_time(pace_topic, now)) {
            lines.push_back({log_level::info, {}, "Ceph answers all questions in time again"});
        }
    }
    void end_if(bool is_good, ceph_question what) {
        if (is_good) {
            end(to_text(what), "Ceph's answer to \"" + std::string(to_text(what)) + "\" is of use again");
        }
    }
    void say_usable() {
        const ceph_seen& seen = round.seen();
        end_if(seen.health.has_value(), ceph_question::health);
        end_if(seen.status.has_value(), ceph_question::status);
        end_if(seen.df.has_value(), ceph_question::df);
        end_if(seen.rooms.has_value(), ceph_question::pools);
        end_if(seen.counters.has_value(), ceph_question::counters);
        end_if(seen.recovery.has_value(), ceph_question::recovery);
        end_if(seen.osd_map.has_value(), ceph_question::osd_dump);
        end_if(seen.osd_rooms.has_value(), ceph_question::osd_df);
        end_if(seen.osd_status.has_value(), ceph_question::osd_status);
    }
};

}  // namespace

std::vector<ceph_line> ceph_lines(const ceph_round& round, ceph_conditions& known, time_point now) {
    speaker all{round, known, now};
    all.say_cluster();
    all.say_manager();
    all.say_unusable();
    all.say_pace();
    all.say_usable();
    return std::move(all.lines);
}

}  // namespace pvc::policy
