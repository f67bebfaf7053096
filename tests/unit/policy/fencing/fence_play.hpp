// A fence that is played against a small world: a dead node's keys, its board, the disk of the record. Time goes on in
// waits and in commands; what is done to the world at a time is said beforehand. What comes of it is a list of effects
// with their times ("65 power off"), in seconds since the node's last heartbeat (node-lifecycle.md B.4).
#pragma once

#include "pvcnoded/policy/fencing/attempt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::policy {

class fence_play {
public:
    using lines = std::vector<std::string>;

    fence_attempt fence;
    fence_seen seen;
    victim_seen victim;
    bool in_maintenance = false;
    fence_said::maintenance_key maintenance{.created = 3, .version = 4};
    bool is_no_board = false;    // that can be asked
    bool is_asked_late = false;  // too late after the read: nothing goes to the board
    bool majority_stays = true;
    bool is_disk_good = true;
    bool is_store_there = true;
    bool is_on = true;  // the node's power
    duration command_time{};
    std::string says_on = "Chassis Power is on";
    std::string says_off = "Chassis Power is off";
    int off_status = 0;
    int status_status = 0;
    bool obeys_off = true;
    bool obeys_on = true;
    std::optional<int> on_status{};  // empty: as of an off
    fence_said::recovered recovery{.how = fence_said::recovered::end::finished, .left = {}};
    fence_said::written::end write_end = fence_said::written::end::written;
    time_point now = start + std::chrono::seconds(35);
    lines done;
    std::vector<fence_act::any> acts;
    fence_step step;

    fence_play() {
        using namespace std::chrono_literals;
        fence.node = "hv3";
        fence.record = "r1";
        fence.rules = {.keepalive = 5s, .recovers = true, .recovers_after_failure = false};
        fence.is_coordinator = true;
        fence.heartbeat_id = 20;
        fence.mark_id = 10;
        fence.silent_since = start;
        seen.has_lock = seen.has_turn = true;
        seen.has_board_said_on = true;
        seen.fences_in_an_hour = 0;
        victim.state = model::daemon_state::run;
        victim.state_id = 10;
        victim.heartbeat_id = 20;
    }
    // As it is once it was marked by somebody: D0 is 11.
    void is_dead(fence_origin why) {
        victim.state = model::daemon_state::dead;
        victim.state_id = fence.mark_id = 11;
        fence.origin = why;
    }
    // By ruling 76, this second.
    void is_told_off(int second) {
        fence.origin = fence_origin::seen_off;
        fence.told_off_at = now = start + std::chrono::seconds(second);
    }
    void at(int second, std::function<void()> what) {
        events_.emplace_back(start + std::chrono::seconds(second), std::move(what));
    }
    // Until it is over, or waits for what does not come.
    lines run() {
        step = resume(fence_said::woken{}, 0);
        for (int steps = 0; steps < 5000 && !step.is_over(); ++steps) {
            if (!play()) {
                done.emplace_back("waits");
                break;
            }
        }
        done.emplace_back(step.is_over() ? std::string(to_text(fence.end)) : "unfinished");
        return done;
    }
    [[nodiscard]] bool has_said(fence_news what) const {
        return std::ranges::any_of(acts, [what](const auto& one) {
            const auto* const line = std::get_if<fence_act::say>(&one);
            return line != nullptr && line->what == what;
        });
    }
    [[nodiscard]] std::string words_of(fence_news what) const {
        for (const auto& one : acts) {
            const auto* const line = std::get_if<fence_act::say>(&one);
            if (line != nullptr && line->what == what) {
                return line->text;
            }
        }
        return {};
    }
    void beats() { victim.heartbeat_id = ++last_id_; }
    void writes(model::daemon_state state) {
        victim.state = state;
        victim.state_id = ++last_id_;
    }
    static fence_said::board says(int status, std::string output) {
        return {.is_begun = true, .status = status, .output = std::move(output), .errors = {}};
    }
    [[nodiscard]] int second() const { return static_cast<int>((now - start) / std::chrono::seconds(1)); }
    [[nodiscard]] lines of_board() const {
        lines out;
        std::ranges::copy_if(done, std::back_inserter(out),
                             [](const std::string& one) { return one.find("power") != std::string::npos; });
        return out;
    }
    [[nodiscard]] int count(const std::string& what) const {
        return static_cast<int>(std::ranges::count_if(
            done, [&what](const std::string& one) { return one.find(what) != std::string::npos; }));
    }

    static constexpr time_point start{std::chrono::hours(1)};

private:
    fence_step resume(const fence_said::any& said, std::uint32_t number) {
        fence_attempt copy = fence;
        std::vector<fence_act::any> of_copy;
        const auto same = copy.resume({seen, said, number, now}, of_copy);
        auto next = fence.resume({seen, said, number, now}, acts);
        EXPECT_EQ(same.what, next.what);
        EXPECT_TRUE(next.is_over() || !next.reason.empty());
        // What nobody asked for any more changes nothing.
        if (!next.is_over()) {
            fence_attempt other = fence;
            const auto kept = other.resume({seen, fence_said::synced{true}, next.number - 1, now}, of_copy);
            EXPECT_TRUE(std::holds_alternative<fence_ask::change>(next.what) || kept.number == next.number);
        }
        return next;
    }
    void pass_to(time_point then) {
        while (true) {
            const auto due =
                std::ranges::min_element(events_, {}, &std::pair<time_point, std::function<void()>>::first);
            if (due == events_.end() || due->first > then) {
                break;
            }
            now = std::max(now, due->first);
            const auto what = due->second;
            events_.erase(due);
            what();
        }
        now = std::max(now, then);
    }
    void tell(const std::string& what) { done.push_back(fmt::format("{} {}", second(), what)); }
    bool play() {
        pass_to(now);
        const auto number = step.number;
        const auto what = step.what;
        if (std::holds_alternative<fence_ask::change>(what)) {
            time_point then = step.until;
            for (const auto& one : events_) {
                then = std::min(then, one.first);
            }
            if (then == time_point::max()) {
                return false;
            }
            pass_to(then);
            step = resume(fence_said::woken{}, 0);
        } else if (const auto* const read = std::get_if<fence_ask::guarded_read>(&what)) {
            fence_said::read said{.victim = is_store_there ? std::optional(victim) : std::nullopt,
                                  .has_lock = seen.has_lock,
                                  .in_maintenance = in_maintenance,
                                  .maintenance = maintenance,
                                  .majority_stays = majority_stays && read->counts_coordinators,
                                  .sent = boot_time(now.time_since_epoch())};
            step = resume(said, number);
        } else if (const auto* const write = std::get_if<fence_ask::write>(&what)) {
            tell(to_text(what));
            step = resume(apply(*write), number);
        } else if (const auto* const power = std::get_if<fence_ask::power>(&what)) {
            EXPECT_LE(now - start,
                      boot_time(power->sent) - boot_time(start.time_since_epoch()) + std::chrono::seconds(2));
            tell(to_text(what));
            if (power->what == board_command::status && now + command_time > step.until) {
                pass_to(step.until);  // it is ended
                step = resume(fence_said::woken{}, 0);
                return true;
            }
            pass_to(now + command_time);
            step = resume(carry_out(power->what), number);
        } else if (std::holds_alternative<fence_ask::record>(what)) {
            tell(to_text(what));
            step = resume(fence_said::synced{is_disk_good}, number);
        } else {
            tell(to_text(what));
            step = resume(recovery, number);
        }
        return true;
    }
    fence_said::written apply(const fence_ask::write& write) {
        using model::daemon_state;
        if (write_end == fence_said::written::end::overtaken) {
            return {write_end, 0};
        }
        if (write.what == fence_write::mark) {
            writes(daemon_state::dead);
        } else if (write.what == fence_write::fenced) {
            writes(daemon_state::fenced);
            victim.is_recovering = write.recovers;
            victim.proof = {.record = fence.record, .by = "hv1", .which = write.proof, .is_valid = true};
        } else if (write.what == fence_write::flush) {
            victim.is_recovering = true;
            ++last_id_;
        } else if (write.what == fence_write::flushed) {
            victim.is_recovering = false;
        }
        return {write_end, write_end == fence_said::written::end::written ? last_id_ : 0};
    }
    fence_said::board carry_out(board_command what) {
        if (is_no_board) {
            return {.is_no_board = true, .status = {}, .output = {}, .errors = "not asked"};
        }
        if (is_asked_late) {
            return {};
        }
        switch (what) {
            case board_command::off:
                is_on = is_on && !(off_status == 0 && obeys_off);
                return says(off_status, "Chassis Power Control: Down/Off");
            case board_command::on:
                is_on = is_on || (on_status.value_or(off_status) == 0 && obeys_on);
                return says(on_status.value_or(off_status), "Chassis Power Control: Up/On");
            case board_command::status: break;
        }
        return says(status_status, is_on ? says_on : says_off);
    }

    std::vector<std::pair<time_point, std::function<void()>>> events_;
    std::int64_t last_id_ = 100;
};

}  // namespace pvc::policy
