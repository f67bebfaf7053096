// The recovery of a dead node's machines, under a lock and a record of the test's own, on a coordinator that runs.
#pragma once

#include "unit/domains/domain_fixture.hpp"

#include "pvcnoded/fencing/machine_recoveries.hpp"

namespace pvc::node {

using policy::guest_end;
using end_of = policy::fence_said::recovered::end;

// What is noted of machines, by machine: the ends, and steps in order.
class test_hold final : public fencing::fence_hold {
public:
    [[nodiscard]] bool holds() const override { return has_lock; }
    [[nodiscard]] std::string child() const override { return path; }
    void add_check(zookeeper::transaction& what) const override { what.check(path, zookeeper::any_version); }
    async::awaitable<bool> record(policy::fence_entry::any entry) override {
        note(std::move(entry));
        co_return takes_records;
    }
    void note(policy::fence_entry::any entry) override {
        const auto& one = std::get<policy::fence_entry::guest>(entry);
        entries.push_back(one);
        if (one.end) {
            ends[one.id] = one;
        }
    }
    void name_machine(const uuid& id, std::string name) override { names[id] = std::move(name); }
    async::awaitable<std::map<uuid, policy::clients_before>> clients_before() override { co_return before; }

    std::map<uuid, policy::clients_before> before;
    std::string path = "/config/fence_lock/of_the_test";
    bool has_lock = true;
    bool takes_records = true;
    std::vector<policy::fence_entry::guest> entries;
    std::map<uuid, policy::fence_entry::guest> ends;
    std::map<uuid, std::string> names;
};

class recovering final : public core::subject, public core::session_subject {
public:
    using work = std::function<async::awaitable<void>(core::session&)>;
    explicit recovering(work what) : what_(std::move(what)) {}
    [[nodiscard]] std::string_view name() const override { return "recovering"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override {
        struct part final : core::session_part {
            part(core::session& s, work what) : session(s), what(std::move(what)) {}
            async::awaitable<void> run() override {
                co_await opened.wait(async::wait_note::work("the node to run"));
                co_await what(session);
            }
            void open() override { opened.notify(); }
            core::session& session;
            work what;
            async::wakeup opened;
        };
        return std::make_unique<part>(s, what_);
    }

private:
    work what_;
};

class recovery_test : public domain_test {
protected:
    recovery_test() {
        has_storage = true;
        put_host("hv2");
        put_host("hv3", "fenced");
        put_host("hv4");
        for (const std::string name : {"hv2", "hv4"}) {
            offer(name, "64000");
        }
        ensemble.put({{"/config/fence_lock", ""}, {hold.path, ""}, {"/nodes/hv3/domainstate", "fence-flush"}});
    }
    void offer(const std::string& name, const std::string& memfree) {
        const std::string root = "/nodes/" + name;
        ensemble.put({{root + "/memfree", memfree},
                      {root + "/memused", "1000"},
                      {root + "/memprov", "1000"},
                      {root + "/memtotal", "65000"},
                      {root + "/cpuload", "0.1"},
                      {root + "/vcpualloc", "1"},
                      {root + "/domainscount", "1"},
                      {root + "/staticdata", "16 6.1 GNU/Linux x86_64"}});
    }
    static uuid number(int n) { return *parse_uuid(fmt::format("{:08d}-aaaa-4bbb-8ccc-000000000001", n)); }
    // A machine of hv3 with a disk that its old client has locked.
    void put_machine(int n, const std::string& state = "start", const std::string& node = "hv3",
                     const std::string& last = {}, std::map<std::string, std::string> others = {}) {
        const std::string image = fmt::format("vms/m{}", n);
        hardware.rbd.lock(image, fmt::format("10.254.0.3:0/{}", n));
        others.emplace("/rbdlist", image);
        others.emplace("/xml", disk_xml(number(n), fmt::format("m{}", n), image));
        define(state, node, last, others, number(n), fmt::format("m{}", n));
    }
    static std::string disk_xml(const uuid& id, const std::string& name, const std::string& image) {
        return xml(id, name,
                   "<disk type='network'><source protocol='rbd' name='" + image + "'/><target dev='sda'/></disk>");
    }
    [[nodiscard]] std::string key_of(int n, const std::string& suffix) const {
        return value(model::domain_path(to_text(number(n)), suffix));
    }
    // "start hv2 hv3 False": state, node, lastnode, autostart.
    [[nodiscard]] std::string where(int n) const {
        return key_of(n, "/state") + " " + key_of(n, "/node") + " " + key_of(n, "/lastnode") + " " +
               key_of(n, "/node_autostart");
    }
    // hv1 runs and recovers hv3's.
    sim_node& recover(policy::fence_proof proof = policy::fence_proof::power, duration limit = 300s) {
        sim_node& hv1 = add_host("hv1");
        hv1.settings.coordinators = {"hv1"};
        begin(hv1, proof);
        EXPECT_TRUE(run_until([&] { return outcome.has_value(); }, limit)) << hv1.log();
        return hv1;
    }
    void begin(sim_node& hv1, policy::fence_proof proof = policy::fence_proof::power) {
        hv1.plug_in = [this, proof, &hv1](assembly& all) {
            all.make = [this, proof, &hv1, before = std::move(all.make)](core::node_context& node) {
                auto made = before(node);
                made.push_back(std::make_unique<recovering>(
                    [this, proof, &hv1](core::session& s) { return carry_out(s, hv1, proof); }));
                return made;
            };
        };
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
    }
    async::awaitable<void> carry_out(core::session& s, sim_node& hv1, policy::fence_proof proof) {
        fencing::machine_recoveries all({&*hv1.hypervisor, &hv1.ceph->client.for_recovery()}, counts);
        const auto part = all.begin(s);
        fencing::recovery_order order{.node = "hv3", .proof = proof};
        order.mark_id = ensemble.exists("/nodes/hv3/daemonstate")->mzxid;
        order.heartbeat_id = ensemble.exists("/nodes/hv3/keepalive")->mzxid;
        co_await async::sleep_for(loop.clock(), begins_after, "the time of the test");
        begun = loop.clock().now();
        outcome = co_await part->recover(order, hold);
    }
    [[nodiscard]] std::optional<guest_end> end(int n) const {
        const auto found = hold.ends.find(number(n));
        return found == hold.ends.end() ? std::nullopt : found->second.end;
    }
    [[nodiscard]] std::string why(int n) const { return hold.ends.at(number(n)).step; }
    void list(const std::string& node, const std::string& text) {
        ensemble.put("/nodes/" + node + "/runningdomains", text);
    }

    test_hold hold;
    std::shared_ptr<fencing::recovery_counts> counts = std::make_shared<fencing::recovery_counts>();
    std::optional<policy::fence_said::recovered> outcome;
    time_point begun{};
    duration begins_after{};
};

}  // namespace pvc::node
