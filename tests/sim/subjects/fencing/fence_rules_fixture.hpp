// A judge that is told, by hand, what nobody did.
#pragma once

#include "pvcnoded/model/fence_record.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/fencing/fence_rules.hpp"
#include "sim/subjects/fencing/fencing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

using namespace std::chrono_literals;

inline constexpr std::int64_t the_machine = 1;

class fence_rules_told : public ::testing::Test {
protected:
    fence_rules_told() : world(settings()), of(world) {
        for (const auto* name : {"hv1", "hv2", "hv3"}) {
            const std::string root = "/nodes/" + std::string(name);
            world.ensemble.put(root + "/daemonstate", "run");
            world.ensemble.put(root + "/domainstate", "ready");
            world.ensemble.put(root + "/keepalive", "1700000000");
        }
        world.ensemble.put(guest_key(the_machine, "/state"), "start");
        world.ensemble.put(guest_key(the_machine, "/node"), "hv2");
        guests_of(world).disks.insert(the_machine);
    }

    static cluster_settings settings() {
        cluster_settings wanted;
        wanted.boards = true;
        for (const std::string name : {"hv1", "hv2", "hv3"}) {
            node_settings node;
            node.name = name;
            node.coordinators = {"hv1", "hv2", "hv3"};
            node.hypervisor = true;
            node.storage_address = "10.254.0." + name.substr(2) + "/24";
            wanted.nodes.push_back(std::move(node));
        }
        return wanted;
    }

    [[nodiscard]] member& hv(std::size_t number) const { return *world.members[number - 1]; }
    [[nodiscard]] std::string broken() const { return of.broken() ? of.broken()->invariant : ""; }
    void give_lock(const member& one) { of.state<fences_seen>().lock["0000000001"] = one.number; }
    void beats(const std::string& node, duration ago) { of.state<fences_seen>().beat[node] = world.now() - ago; }
    void all_beat(duration ago_1, duration ago_2, duration ago_3) {
        beats("hv1", ago_1);
        beats("hv2", ago_2);
        beats("hv3", ago_3);
    }
    void pass(duration time) {
        const time_point end = world.now() + time;
        world.later.after(time, [] {});
        while (world.now() < end && world.step()) {
        }
    }
    void switches_off(const std::string& by, const std::string& node) {
        for (const auto& told : powers_of(world).on_command) {
            told(by, node, "off");
        }
    }
    // To hv1, of hv2.
    void answers(duration ago, bool is_truly_off) {
        for (const auto& told : powers_of(world).on_answer) {
            told("hv1", "hv2", is_truly_off, world.now() - ago);
        }
    }
    // As a node does with others' keys, to all rules.
    void change(recorded_kind what, const std::string& path, const std::string& data, member& by) {
        recorded_change one;
        one.what = what;
        one.path = path;
        one.data = data;
        one.zxid = zxid_ += is_transaction_begun_ ? 1 : 0;
        is_transaction_begun_ = true;
        seen_change seen{one, &by, nullptr, {}};
        if (path.starts_with("/nodes/")) {
            const auto end = path.find('/', 7);
            seen.subject = world.find(path.substr(7, end - 7));
            seen.suffix = std::string_view(one.path).substr(end);
        }
        for (const auto* rule : world.known.rules()) {
            const bool is_asked = rule->name.starts_with("own_keys") || rule->name.starts_with("fence_") ||
                                  rule->name == "one_fencer" || rule->name == "living_not_fenced";
            if (is_asked && rule->on_change != nullptr) {
                rule->on_change(of, seen);
            }
        }
    }
    // The next change is of the same one.
    void begins_no_transaction() { is_transaction_begun_ = false; }
    void write_fenced(member& by) { change(recorded_kind::set, "/nodes/hv2/daemonstate", "fenced", by); }
    void record(member& of_whom, bool is_synced, model::fence_proof_kind kind = model::fence_proof_kind::power) {
        model::fence_record one;
        one.id = model::fence_record_id(wall_time(1'700'000'000s), "hv2");
        one.coordinator = of_whom.name();
        one.node = "hv2";
        one.boot_id = "7c8a5c1e-0000-4000-8000-000000000001";
        one.keepalive_id = world.ensemble.exists("/nodes/hv2/keepalive")->mzxid;
        one.mark_id = one.keepalive_id + 1;
        one.proof = model::fence_proof{.kind = kind,
                                       .at = {},
                                       .text = "its board says off",
                                       .keepalive_id = one.keepalive_id,
                                       .mark_id = one.mark_id};
        auto& disk = of_whom.node.host.storage;
        const std::string path = "/var/lib/pvc/fences/" + one.id + ".json";
        disk.write(path, model::to_text(one));
        if (is_synced) {
            disk.sync(path);
        }
    }
    void lose_power(member& one) {
        one.is_powered = false;
        of.state<fences_seen>().went_off[one.name()] = world.now();
    }

    cluster world;
    judge of;

private:
    std::int64_t zxid_ = 1'000;
    bool is_transaction_begun_ = true;
};

}  // namespace pvc::sim
