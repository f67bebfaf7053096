// Doubles of the service ports: service manager, supervisor, log output; the host is in sim_host.hpp. They keep what
// they were told and fail or take long as a test or a scenario asks. They belong to the machine, not to a daemon: they
// outlive its restarts.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/services/log_output.hpp"
#include "pvcnoded/services/notifier.hpp"
#include "pvcnoded/services/service_manager.hpp"
#include "sim/sim_host.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace pvc::sim {

using namespace std::chrono_literals;

// Units that nobody mentioned exist, are inactive, and are up as soon as they are started.
class sim_service_manager final : public services::service_manager {
public:
    static constexpr duration port_limit = 5s;

    struct unit {
        bool running = false;  // started, maybe not active yet
        time_point active_from{};
        duration takes = 0ms;  // from its start until it is active
        bool never_active = false;
        std::optional<failure> refuses{};  // what all requests answer
        bool enabled = false;
    };
    struct call {
        std::string verb;
        std::string unit;
        time_point at;
    };

    explicit sim_service_manager(async::timers& clock) : clock_(clock) {}

    unit& operator[](const std::string& name) { return units_[name]; }
    // How long every answer takes; from 5 s on none comes.
    void set_answer_time(duration time) { answer_time_ = time; }
    void set_present(bool present) { present_ = present; }
    // A killed daemon: nothing that it still does reaches the machine.
    bool cut = false;

    [[nodiscard]] const std::vector<call>& calls() const { return calls_; }
    [[nodiscard]] std::vector<time_point> times(std::string_view verb, std::string_view unit) const {
        std::vector<time_point> times;
        for (const auto& one : calls_) {
            if (one.verb == verb && one.unit == unit) {
                times.push_back(one.at);
            }
        }
        return times;
    }
    [[nodiscard]] bool is_up(const std::string& name) const {
        const auto found = units_.find(name);
        return found != units_.end() && is_active_now(found->second);
    }
    [[nodiscard]] bool is_enabled(const std::string& name) const {
        const auto found = units_.find(name);
        return found != units_.end() && found->second.enabled;
    }
    void lose_power() {
        for (auto& [name, one] : units_) {
            one.running = false;
        }
    }
    // The unit ends by itself.
    void fail(const std::string& name) { units_[name].running = false; }

    async::awaitable<result<void>> start(std::string name) override {
        PVC_CO_TRY(unit* const target, co_await ask("start", name));
        if (target->refuses) {
            co_return *target->refuses;
        }
        if (!target->running) {
            begin(*target);
        }
        co_return result<void>();
    }
    async::awaitable<result<void>> restart(std::string name) override {
        PVC_CO_TRY(unit* const target, co_await ask("restart", name));
        if (target->refuses) {
            co_return *target->refuses;
        }
        begin(*target);
        co_return result<void>();
    }
    async::awaitable<result<void>> stop(std::string name) override {
        PVC_CO_TRY(unit* const target, co_await ask("stop", name));
        if (target->refuses) {
            co_return *target->refuses;
        }
        target->running = false;
        co_return result<void>();
    }
    async::awaitable<result<void>> enable_now(std::string name) override {
        PVC_CO_TRY(unit* const target, co_await ask("enable", name));
        if (target->refuses) {
            co_return *target->refuses;
        }
        target->enabled = true;
        if (!target->running) {
            begin(*target);
        }
        co_return result<void>();
    }
    async::awaitable<result<void>> disable_now(std::string name) override {
        PVC_CO_TRY(unit* const target, co_await ask("disable", name));
        if (target->refuses) {
            co_return *target->refuses;
        }
        target->enabled = target->running = false;
        co_return result<void>();
    }
    async::awaitable<result<bool>> is_active(std::string name) override {
        PVC_CO_TRY(const unit* const target, co_await ask("is-active", name));
        co_return is_active_now(*target);
    }

private:
    async::awaitable<result<unit*>> ask(std::string verb, std::string name) {
        if (cut) {
            co_return failure(errc::stopped, name);
        }
        calls_.push_back({std::move(verb), name, clock_.now()});
        co_await async::sleep_for(clock_, std::min(answer_time_, port_limit), "systemctl");
        if (!present_) {
            co_return failure(errc::unavailable, name, "no service manager");
        }
        if (answer_time_ >= port_limit) {
            co_return failure(errc::timed_out, name);
        }
        co_return &units_[name];
    }
    void begin(unit& target) const {
        target.running = true;
        target.active_from = clock_.now() + target.takes;
    }
    [[nodiscard]] bool is_active_now(const unit& target) const {
        return target.running && !target.never_active && clock_.now() >= target.active_from;
    }

    async::timers& clock_;
    std::map<std::string, unit> units_;
    std::vector<call> calls_;
    duration answer_time_ = 2ms;
    bool present_ = true;
};

class sim_notifier final : public services::notifier {
public:
    struct message {
        std::string text;
        time_point at;
    };
    explicit sim_notifier(const clock& time) : clock_(time) {}

    void send(std::string_view text) override {
        if (!cut) {
            messages_.push_back({std::string(text), clock_.now()});
            readies_ += has_line(text, "READY=1") ? 1 : 0;
        }
    }
    bool cut = false;
    // How many messages said READY=1: cheap to ask at every step.
    [[nodiscard]] std::size_t readies() const { return readies_; }

    [[nodiscard]] const std::vector<message>& messages() const { return messages_; }
    // How many messages hold this line.
    [[nodiscard]] std::size_t count(std::string_view line) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(messages_, [line](const message& one) { return has_line(one.text, line); }));
    }

private:
    static bool has_line(std::string_view text, std::string_view line) {
        return ('\n' + std::string(text) + '\n').find('\n' + std::string(line) + '\n') != std::string::npos;
    }

    const clock& clock_;
    std::vector<message> messages_;
    std::size_t readies_ = 0;
};

class sim_log_output final : public services::log_output {
public:
    result<void> write(std::string_view bytes) override {
        if (fails) {
            return *fails;
        }
        text_ += bytes;
        if (tap) {
            tap(bytes);
        }
        return {};
    }
    std::function<void(std::string_view)> tap;  // told of what is written
    result<void> reopen() override {
        ++reopened_;
        return fails ? result<void>(*fails) : result<void>();
    }
    // Whole blocks were written back, the end was not.
    void lose_power() { text_.resize(text_.size() / 4096 * 4096); }
    std::optional<failure> fails;  // while set
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] int reopened() const { return reopened_; }

private:
    std::string text_;
    int reopened_ = 0;
};

}  // namespace pvc::sim
