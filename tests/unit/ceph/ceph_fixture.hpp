// Whole daemons with the storage function: the subject is plugged in beside those of the product, behind its helper is
// a cluster that says what the test wants.
#pragma once

#include "pvcnoded/ceph/ceph_subject.hpp"
#include "pvcnoded/role/primary_role.hpp"
#include "sim/ceph/sim_ceph_helper.hpp"
#include "sim/ceph/sim_rbd_locks.hpp"
#include "sim/ceph/sim_talker.hpp"
#include "sim/sim_process.hpp"
#include "unit/node/node_fixture.hpp"
#include "unit/policy/ceph/ceph_answers.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::node {

// Of the role: its takeover takes a minute.
class slow_part final : public core::subject, public core::role_part {
public:
    explicit slow_part(core::node_context& node) : node_(node) {}
    [[nodiscard]] std::string_view name() const override { return "slow"; }
    async::awaitable<void> take_up(policy::role_phase which, core::session& /*s*/) override {
        if (which == policy::role_phase::c) {
            co_await async::sleep_for(node_.clock(), 60s, "a step that takes a minute");
        }
    }
    async::awaitable<void> give_up(policy::role_phase /*which*/, core::session* /*s*/) override { co_return; }

private:
    core::node_context& node_;
};

// Says by question what a healthy cluster says, or what it was told to.
class scripted_cluster final : public storage::ceph_cluster {
public:
    using question = policy::ceph_question;

    explicit scripted_cluster(async::timers& clock) : clock_(clock) {}

    async::awaitable<result<std::string>> command(std::string command, time_point deadline) override {
        const auto what = question_of(command);
        auto why = co_await pass(what, deadline);
        if (why) {
            co_return *why;
        }
        const auto said = answers.find(what);
        co_return said != answers.end() ? said->second : policy::sample::answer_to(what);
    }
    async::awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                         time_point deadline) override {
        auto why = co_await pass(question::counters, deadline);
        if (why) {
            co_return *why;
        }
        std::vector<model::pool_counters> all;
        for (const auto& pool : pools) {
            if (const auto known = counted.find(pool); known != counted.end()) {
                all.push_back(known->second);
                all.back().pool = pool;
            }
        }
        co_return all;
    }
    async::awaitable<result<void>> measure(time_point /*deadline*/) override { co_return result<void>(); }
    [[nodiscard]] storage::helper_view view() const override { return {}; }

    [[nodiscard]] std::size_t times_asked(question what) const {
        return static_cast<std::size_t>(std::ranges::count(asked, what));
    }

    std::map<question, std::string> answers{};
    std::map<question, failure> failures{};
    std::map<question, duration> delays{};
    bool is_frozen = false;  // nothing is answered, to the deadline
    std::map<std::string, model::pool_counters> counted{{"vms", {}}, {"backup", {}}};
    std::function<void(question)> on_question{};
    std::vector<question> asked{};
    int at_once = 0;
    int most_at_once = 0;

private:
    static question question_of(std::string_view command) {
        for (int at = 0; at < static_cast<int>(question::none); ++at) {
            if (policy::command_of(static_cast<question>(at)) == command) {
                return static_cast<question>(at);
            }
        }
        ADD_FAILURE() << "no command of the specification: " << command;
        return question::none;
    }
    async::awaitable<std::optional<failure>> pass(question what, time_point deadline) {
        asked.push_back(what);
        most_at_once = std::max(most_at_once, ++at_once);
        if (on_question) {
            on_question(what);
        }
        const auto late = delays.find(what);
        const bool is_late = is_frozen || (late != delays.end() && clock_.now() + late->second > deadline);
        const time_point until = is_late ? deadline : clock_.now() + (late != delays.end() ? late->second : 1ms);
        co_await async::sleep_until(clock_, until, "Ceph");
        --at_once;
        if (is_late) {
            co_return failure(errc::timed_out, "Ceph", "timed out");
        }
        const auto known = failures.find(what);
        co_return known != failures.end() ? std::optional(known->second) : std::nullopt;
    }

    async::timers& clock_;
};

class ceph_node_test : public node_test {
protected:
    ceph_node_test() : cluster(loop.clock()), helper_of_cluster(cluster, locks, loop.clock()) {}

    // `program`: what runs as the helper; null: one that asks the cluster above.
    sim_node& add_with_ceph(int version = 10, sim::node_settings settings = {.cluster_details = true},
                            sim::sim_talker::program program = {}) {
        sim::initialise(ensemble, version);
        sim_node& node = add(std::move(settings));
        if (!program) {
            program = [this](services::stream_connection& with) { return helper_of_cluster.live(with); };
        }
        talker.emplace(loop.clock(), std::move(program));
        helper.emplace(*talker, loop.clock());
        node.plug_in = [this](assembly& all) {
            all.make = [this, before = std::move(all.make)](core::node_context& context) {
                auto subjects = before(context);
                if (slow_takeover) {
                    subjects.insert(subjects.begin(), std::make_unique<slow_part>(context));
                    // As the list of the product does: the role comes last, and asks who has a part of it.
                    subjects.pop_back();
                    auto parts = core::all_that_are<core::role_part>(subjects);
                    subjects.push_back(std::make_unique<role::primary_role>(context, std::move(parts)));
                }
                auto made = std::make_unique<ceph::ceph_subject>(context,
                                                                 ceph::ceph_ports{*helper, "pvcnoded-ceph", processes});
                subject = made.get();
                subjects.push_back(std::move(made));
                return subjects;
            };
            all.phases.push_back({policy::phase::services, "ceph"});
        };
        return node;
    }
    static void start(sim_node& node) {
        node.start();
        ASSERT_TRUE(node.run_until_ready());
    }
    // Runs until it is the primary and the first round is published.
    void start_primary(sim_node& node) {
        start(node);
        ASSERT_TRUE(run_until([&] { return role_of(node) == "primary"; }));
        loop.run_for(5s);
    }
    void add_osd(const std::string& id, const std::string& node) {
        const std::string path = "/ceph/osds/" + id;
        ensemble.put({{path, ""}, {path + "/node", node}, {path + "/device", "/dev/sdb"}, {path + "/stats", "|"}});
    }
    void add_pool(const std::string& name) {
        const std::string path = "/ceph/pools/" + name;
        ensemble.put({{path, ""}, {path + "/pgs", "8"}, {path + "/stats", "{}"}, {"/ceph/volumes/" + name, ""}});
    }
    [[nodiscard]] std::string osd(const std::string& id) const { return value("/ceph/osds/" + id + "/stats"); }
    [[nodiscard]] std::string pool(const std::string& name) const { return value("/ceph/pools/" + name + "/stats"); }
    [[nodiscard]] std::size_t writes_since(time_point from, const std::string& prefix = "/ceph") const {
        const auto all = changes(prefix);
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [from](const recorded_change& one) { return one.when >= from; }));
    }
    static bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

    sim::sim_rbd_store images;
    sim::sim_rbd_locks locks{images, "hv1", loop.clock()};
    sim::sim_process processes{loop.clock()};
    scripted_cluster cluster;
    sim::sim_ceph_helper helper_of_cluster;
    std::optional<sim::sim_talker> talker;
    std::optional<storage::ceph_helper> helper;
    ceph::ceph_subject* subject = nullptr;
    bool slow_takeover = false;
};

}  // namespace pvc::node
