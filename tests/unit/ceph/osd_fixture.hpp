// A node with the storage function at a schema of the test's choice, with programs that stand in for Ceph's tools.
#pragma once

#include "pvcnoded/ceph/ceph_subject.hpp"
#include "sim/ceph/sim_talker.hpp"
#include "sim/sim_process.hpp"
#include "unit/node/node_fixture.hpp"

namespace pvc::node {

class osd_test : public node_test {
protected:
    using texts = std::vector<std::string>;

    sim_node& hv1(int version) {
        sim::initialise(ensemble, version);
        // A node that knows no later version: nobody raises it.
        put_peer("hv2", "hypervisor", "stop", "client");
        ensemble.put("/nodes/hv2/latestschema", std::to_string(version));
        ensemble.put("/nodes/hv2/runningdomains", "");
        sim_node& node = add({.cluster_details = true});
        talker.emplace(loop.clock(), [](services::stream_connection&) -> async::awaitable<std::string> {
            async::wakeup never;
            co_await never.wait(async::wait_note::work("a question"));
            co_return std::string();
        });
        helper.emplace(*talker, loop.clock());
        node.plug_in = [this](assembly& all) {
            all.make = [this, before = std::move(all.make)](core::node_context& context) {
                auto subjects = before(context);
                subjects.push_back(std::make_unique<ceph::ceph_subject>(
                    context, ceph::ceph_ports{*helper, "pvcnoded-ceph", processes}));
                return subjects;
            };
            all.phases.push_back({policy::phase::services, "ceph"});
        };
        return node;
    }
    sim_node& running(int version) {
        sim_node& node = hv1(version);
        node.start();
        EXPECT_TRUE(node.run_until_ready());
        loop.run_for(1s);
        return node;
    }
    void add_osd(const std::string& id, const std::string& node, const std::string& device = "/dev/sdb") {
        const std::string path = "/ceph/osds/" + id;
        ensemble.put({{path, ""}, {path + "/node", node}, {path + "/device", device}, {path + "/stats", "{}"}});
    }
    // With all keys that the schema has: what the start makes of missing ones is not of interest.
    void add_whole_osd(int version, const std::string& id, const std::string& node,
                       const std::string& device = "/dev/sdb") {
        const auto table = *model::schema::of(version);
        for (const auto* key : table.keys(model::key_group::osd)) {
            ensemble.put(*table.path(key->id, id), "");
        }
        add_osd(id, node, device);
    }
    static std::string listing(const std::string& id, const std::string& fsid, const std::string& device = "/dev/sdb") {
        return "{\"" + id + R"(": [{"type": "block", "devices": [")" + device + R"("], "lv_name": "osd-block-)" + id +
               R"(", "vg_name": "ceph-)" + id + R"(", "tags": {"ceph.osd_fsid": ")" + fsid +
               R"(", "ceph.cluster_fsid": ")" + std::string(cluster_fsid) + "\"}}]}";
    }
    void program(std::vector<std::string> beginning, std::string output, int status = 0, duration takes = 10ms) {
        processes.add(std::move(beginning),
                      {.how = async::exited{status}, .output = std::move(output), .takes = takes});
    }

    static constexpr std::string_view cluster_fsid = "d532ea08-9179-4094-991a-d9f0db8449af";
    inline static const std::string fsid_1 = "0d8ea6ef-8c5a-4e7d-9f53-000000000001";
    sim::sim_process processes{loop.clock()};
    std::optional<sim::sim_talker> talker;
    std::optional<storage::ceph_helper> helper;
};

}  // namespace pvc::node
