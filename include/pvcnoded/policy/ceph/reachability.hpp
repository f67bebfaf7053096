// Whether Ceph can be reached, as the primary tells clients and the operator: what is written in place of a health that
// nobody says, when an attempt is due, and which lines the log gets, once for each change and then once a minute.
// Specification: storage.md 4.7, 4.8; cases 9, 12, 13.
#pragma once

#include "pvcnoded/base/log_record.hpp"
#include "pvcnoded/policy/ceph/round.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// Of one term as primary.
class ceph_reachability {
public:
    explicit ceph_reachability(time_point since) : heard_(since) {}

    // A health that can be published, or not, of a round that is over.
    void take(const ceph_round& round, time_point now, duration keepalive);
    // Since when nothing of the kind was heard, if clients must be told now.
    [[nodiscard]] std::optional<std::chrono::seconds> silence_to_publish(time_point now) const;
    void note_published(time_point now) { published_ = now; }

    // Refused at once and again, it is asked every second tick only.
    [[nodiscard]] bool is_attempt_due(time_point now) const { return now >= next_attempt_; }
    [[nodiscard]] time_point manager_paused_until() const { return manager_paused_until_; }
    [[nodiscard]] bool has_answered() const { return has_answered_; }
    // With which the next round begins.
    [[nodiscard]] ceph_question first_question() const { return first_question_; }

private:
    time_point heard_;
    std::optional<time_point> published_;
    time_point next_attempt_{};
    time_point manager_paused_until_{};
    int refusals_ = 0;
    bool has_answered_ = false;  // the last round did
    ceph_question first_question_ = ceph_question::health;
};

// What is the matter, each with what was said of it and since when.
class ceph_conditions {
public:
    struct condition {
        std::string text;
        time_point since{};
        time_point told{};
        std::map<std::string, time_point, std::less<>> kinds{};  // when each of them was said, if it was
    };
    // It holds. True: it is to be said now, as it is new, of a kind that was not said for a minute, or nothing of it
    // was said for a minute. Of one kind the words may differ from time to time, or two of them take turns: none is
    // news.
    bool hold(std::string_view topic, std::string_view kind, std::string_view text, time_point now);
    // It does not hold (any more). True: it did.
    bool end(std::string_view topic);
    // Likewise, of what comes and goes: only a minute after it was said.
    bool end_in_time(std::string_view topic, time_point now);
    void clear() { all_.clear(); }
    [[nodiscard]] const std::map<std::string, condition, std::less<>>& all() const { return all_; }

private:
    std::map<std::string, condition, std::less<>> all_;
};

struct ceph_line {
    log_level level = log_level::info;
    message id{};  // of errors and warnings
    std::string text;

    friend bool operator==(const ceph_line&, const ceph_line&) = default;
};

// What the log gets after a round.
[[nodiscard]] std::vector<ceph_line> ceph_lines(const ceph_round& round, ceph_conditions& known, time_point now);

}  // namespace pvc::policy
