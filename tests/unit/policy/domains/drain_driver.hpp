// Drives the machine of a job by hand: says answers, keeps what is to be done, and shows what is asked.
#pragma once

#include "pvcnoded/policy/domains/flush_job.hpp"
#include "pvcnoded/policy/domains/unflush_job.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pvc::policy::drain {

using names = std::set<std::string>;
using texts = std::vector<std::string>;

inline const uuid u1 = *parse_uuid("00000001-aaaa-4bbb-8ccc-000000000001");
inline const uuid u2 = *parse_uuid("00000002-aaaa-4bbb-8ccc-000000000002");
inline const uuid u3 = *parse_uuid("00000003-aaaa-4bbb-8ccc-000000000003");
inline const uuid u4 = *parse_uuid("00000004-aaaa-4bbb-8ccc-000000000004");

inline constexpr std::int64_t order_given = 1000;

inline std::string name_of(const uuid& id) {
    return "vm" + pvc::to_text(id).substr(7, 1);
}

template <class Machine>
class driven : public ::testing::Test {
protected:
    driven() {
        job.self = "hv1";
        job.shutdown_timeout = std::chrono::seconds(5);
        job.order = {.given = order_given, .began = now, .has_hypervisor = true};
    }

    void say(const answer& what) {
        outcome out = resume(job, {what, now, ordered});
        for (auto& one : out.actions) {
            if (const auto* line = std::get_if<act::line>(&one)) {
                log.push_back(line->about + (line->about.empty() ? "" : ": ") + line->text);
                if (line->how == act::line::level::warning || line->how == act::line::level::error) {
                    warned.push_back(line->id);
                }
            } else {
                acts.push_back(one);
            }
        }
        next = std::move(out.next);
    }
    template <class Question>
    const Question& asked() {
        EXPECT_TRUE(std::holds_alternative<Question>(next.what))
            << "asks number " << next.what.index() << " of ask::any";
        return std::get<Question>(next.what);
    }
    template <class Question>
    [[nodiscard]] bool is_asked() const {
        return std::holds_alternative<Question>(next.what);
    }
    // What is said is said in the answer to this.
    void expect_keys_of(const uuid& id) { EXPECT_EQ(name_of(asked<ask::keys>().id), name_of(id)); }

    [[nodiscard]] static domain_keys stored(const uuid& id, placed_domain keys, std::int64_t changed = 500) {
        return {name_of(id), std::move(keys), changed, changed};
    }
    [[nodiscard]] static keys_read read(const uuid& id, placed_domain keys, std::int64_t changed = 500) {
        return {keys_read::how::read, stored(id, std::move(keys), changed), {}};
    }
    [[nodiscard]] static placed_domain runs_on(std::string node, std::string last = {}) {
        return {model::vm_state::start, std::move(node), std::move(last), false};
    }
    [[nodiscard]] static placed_domain in(model::vm_state state, std::string node = "hv1") {
        return {state, std::move(node), {}, false};
    }
    // With keys that must not be looked at.
    [[nodiscard]] static keys_read unreadable(keys_read::how why, std::string path = {}) {
        return {why, stored(u4, runs_on("hv1"), 1), std::move(path)};
    }
    [[nodiscard]] static target_found best(const std::string& node) {
        return {target_choice{node, "most free memory (8000 MiB)"}, {{node, true, true}}};
    }
    // No node can be had; these are there.
    [[nodiscard]] static target_found nobody(std::vector<possible_node> nodes = {}) {
        return {std::nullopt, std::move(nodes)};
    }
    [[nodiscard]] static placed ended(placed::how how, std::string why = {}) { return {how, 0, std::move(why)}; }

    // What was said since the last time.
    [[nodiscard]] texts lines() { return std::exchange(log, {}); }
    [[nodiscard]] std::vector<act::any> done() { return std::exchange(acts, {}); }
    void pass(duration time) { now += time; }

    Machine job;
    time_point now{std::chrono::seconds(100)};
    std::int64_t ordered = order_given;
    step next;
    texts log;
    std::vector<message> warned;
    std::vector<act::any> acts;
};

// A flush job, with what a domain commonly does.
class flush_machine : public driven<flush_job> {
protected:
    void begin(const std::vector<uuid>& all) {
        say(woken{});
        asked<ask::present>();
        say(domains_here{all});
    }
    // From its keys to the question where it could go.
    void reach_choice(const uuid& id, const placed_domain& keys = runs_on("hv1")) {
        expect_keys_of(id);
        say(read(id, keys));
        EXPECT_EQ(asked<ask::place>().id, id);
        say(under_lock{stored(id, keys)});
        EXPECT_EQ(asked<ask::target>().id, id);
    }
    // It is moved to `target`, and found on `end` afterwards.
    void move(const uuid& id, const std::string& target, const std::string& end,
              move_fault fault = move_fault::target) {
        reach_choice(id);
        say(best(target));
        EXPECT_EQ(asked<ask::write>().what.node, target);
        say(placed{placed::how::written, 700, {}});
        arrive(id, end, fault);
    }
    void arrive(const uuid& id, const std::string& end, move_fault fault = move_fault::target) {
        EXPECT_EQ(asked<ask::other_state>().through, lasting::leaving);
        say(state_end::left);
        expect_keys_of(id);
        say(read(id, runs_on(end, "hv1")));
        if (is_asked<ask::fault>()) {
            say(fault);
        }
    }
    // No node takes it now: it is put off, or what the last tries make of it.
    void no_node(const uuid& id, const std::vector<possible_node>& nodes = {}) {
        reach_choice(id);
        say(nobody(nodes));
        if (is_asked<ask::target>()) {
            say(nobody(nodes));
        }
    }
    void put_off(const uuid& id, const std::vector<possible_node>& nodes = {}) {
        no_node(id, nodes);
        asked<ask::write_nothing>();
        say(ended(placed::how::needless));
    }
    void no_arrivals() {
        asked<ask::arrival>();
        say(arrived{});
    }
    // Nothing came late, nothing is listed: up to the question whether the order stands.
    void reach_end() {
        no_arrivals();
        asked<ask::listed>();
        say(domains_here{});
        asked<ask::order_key>();
    }
    void order_stands() { say(order_read{order_read::how::read, model::domain_state::flush, order_given, 7}); }
    void end_flushed(const texts& still_here = {}) {
        reach_end();
        order_stands();
        EXPECT_EQ(asked<ask::write_word>().word, model::domain_state::flushed);
        say(word_written{word_written::how::written, 900, still_here});
        EXPECT_TRUE(next.is_over());
        EXPECT_EQ(job.where, flush_job::at::over);
    }
};

}  // namespace pvc::policy::drain
