// What the tests of migrations share: what happens in its order (writes, lock children, libvirt calls), peers that are
// records or the scripted reference, and a client that places as clients do.
#pragma once

#include "domain_fixture.hpp"

#include "sim/foreign/foreign_migration.hpp"
#include "sim/foreign/scripted_client.hpp"
#include "sim/world/agenda.hpp"

namespace pvc::node {

using hypervisor::call_error;
using hypervisor::call_failure;
using model::guest_status;
using sim::foreign_hypervisor;
using sim::guest_kind;
using sim::migration_step;
using sim::source_copy;

inline const std::string live_call = "hv1: migrate U1 hv2.pvc.local tcp://hv2.pvc.local";
inline const call_failure lost{call_error::other, "End of file"};
inline constexpr guest_status half{run_state::paused, pause_cause::migration};
inline constexpr guest_status running_guest{run_state::running, pause_cause::none};

class migration_fixture : public domain_test {
protected:
    migration_fixture() : beats_of_peers_(loop.clock()), plans(loop.clock()) {
        ensemble.observe([this, alive = std::weak_ptr(alive_)](const recorded_change& change) {
            if (!alive.expired()) {
                note(change);
            }
        });
        hardware.centre.on_call = [this](const std::string& machine, const sim::sim_machine_guests::call& what) {
            if (!what.is_reading) {
                happened_.push_back(machine + ": " + what.text);
            }
        };
    }
    void TearDown() override {
        for (const auto& peer : peers) {
            EXPECT_EQ(peer.complaint(), "");
        }
        alive_.reset();
        if (allowed_double_runs > 0) {
            node_test::TearDown();
            EXPECT_EQ(hardware.centre.double_runs(), allowed_double_runs);
        } else {
            domain_test::TearDown();
        }
    }

    // --- the cluster ---
    // Records with hypervisors whose heartbeat goes on.
    void put_hosts(const std::vector<std::string>& names) {
        for (const auto& name : names) {
            put_host(name);
            beating_.push_back(name);
        }
        if (beating_.size() == names.size()) {
            beat();
        }
    }
    void stop_beating(const std::string& name) { std::erase(beating_, name); }
    foreign_hypervisor& add_reference(const std::string& name, const sim::foreign_migration_times& times = {}) {
        auto& peer = peers.emplace_back(loop, ensemble, hardware.centre, name, times);
        peer.link().number = number_of(name);
        peer.start({u1});
        return peer;
    }
    sim_node& add_our_host(const std::string& name = "hv1") {
        sim_node& node = add_host(name);
        node.connector.link().number = number_of(name);
        node.start();
        EXPECT_TRUE(node.run_until_ready()) << node.log();
        return node;
    }
    // It runs on hv1, which is ours and knows it; hv2 and hv3 are records.
    sim_node& hv1_runs_it(const std::map<std::string, std::string>& keys = {}, const std::string& last = {}) {
        put_hosts({"hv2", "hv3"});
        define("start", "hv1", last, keys);
        machine().put_running(u1, "web", xml(u1));
        sim_node& node = add_our_host();
        EXPECT_TRUE(run_until([&] { return running() == to_text(u1) && value(key("/vnc")) != ""; })) << node.log();
        pass(1s);
        happened_.clear();
        return node;
    }
    // It runs on hv2, a record or the reference; hv1 is ours, and knows where it was.
    sim_node& hv2_runs_it(const std::map<std::string, std::string>& keys = {}, const std::string& state = "start") {
        put_hosts({"hv2", "hv3"});
        define(state, "hv2", {}, keys);
        if (state == "start") {
            machine("hv2").put_running(u1, "web", xml(u1));
            ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
        }
        sim_node& node = add_our_host();
        pass(1s);
        happened_.clear();
        return node;
    }
    // A live call whose end nobody heard of: half here, and whatever becomes of it on hv2, which is the reference.
    void is_left_between(const std::map<std::string, std::string>& keys = {}) {
        hv1_runs_it(keys);
        add_reference("hv2");
        pass(1s);
        guest().fail_migration(migration_step::reply, lost, source_copy::incoming);
        hardware.centre.times.reply = 300ms;
        forget();
        place("migrate", "hv2", "hv1");
        ASSERT_TRUE(run_until([&] { return executes("hv2"); })) << story();
    }
    [[nodiscard]] sim_node& hv1() { return nodes.front(); }
    // The two running daemons of ours and hv3, a record. It runs on hv1.
    void two_of_ours(const std::map<std::string, std::string>& keys = {}) {
        put_hosts({"hv3"});
        define("start", "hv1", {}, keys);
        machine().put_running(u1, "web", xml(u1));
        add_our_host("hv1");
        add_our_host("hv2");
        EXPECT_TRUE(run_until([&] { return running() == to_text(u1) && value(key("/vnc")) != ""; })) << hv1().log();
        pass(1s);
        happened_.clear();
    }
    sim::scripted_client& client() {
        if (!client_) {
            client_.emplace(loop, ensemble);
            client_->link().number = number_of("client");
            pass(100ms);
        }
        return *client_;
    }
    void client_places(const std::string& state, const std::string& node, const std::string& last) {
        client().place(to_text(u1), state, node, last);
    }

    // A contender of somebody's for a lock, by hand.
    struct contender {
        std::int64_t session = 0;
        std::string path;
    };
    contender contend(const std::string& suffix, std::int64_t session = 0) {
        contender one;
        one.session = session != 0 ? session : ensemble.open_session();
        const std::string prefix = fmt::format("{:032x}__lock__", ++guids_);
        one.path =
            *ensemble.create(key(suffix) + "/" + prefix, "", zookeeper::create_mode::ephemeral_sequential, one.session);
        return one;
    }
    void leave(const contender& one) { std::ignore = ensemble.remove(one.path); }

    // --- questions ---
    bool until_state(const std::string& state, duration limit = 120s) {
        return run_until([&] { return this->state() == state; }, limit);
    }
    // The live call has reached the target.
    bool until_copying(const std::string& from = "hv1", const std::string& to = "hv2") {
        return run_until([&] { return guest(from).is_migrating() && guest(to).is_there(); }, 60s);
    }
    [[nodiscard]] bool executes(const std::string& node) { return machine(node).executes(u1); }
    [[nodiscard]] std::size_t count(const std::string& what) const {
        return static_cast<std::size_t>(std::ranges::count(happened_, what));
    }
    [[nodiscard]] bool was(const std::string& what) const { return count(what) > 0; }
    // Everything that changes a guest, by any of our daemons, without the live calls.
    [[nodiscard]] const std::vector<std::string>& happened() const { return happened_; }
    [[nodiscard]] std::string story() const { return pvc::join(happened_, "\n  "); }
    void forget() { happened_.clear(); }
    // These happened, in this order, whatever else did.
    ::testing::AssertionResult in_order(const std::vector<std::string>& wanted) const {
        std::size_t at = 0;
        for (const auto& one : wanted) {
            while (at < happened_.size() && happened_[at] != one) {
                ++at;
            }
            if (at == happened_.size()) {
                return ::testing::AssertionFailure() << "not in this order: `" << one << "`. It was:\n  " << story();
            }
            ++at;
        }
        return ::testing::AssertionSuccess();
    }
    // Writes of keys below the domain, without those that a test's own deed was.
    [[nodiscard]] std::vector<std::string> writes() const {
        std::vector<std::string> found;
        std::ranges::copy_if(happened_, std::back_inserter(found), [](const std::string& one) {
            return one.find('=') != std::string::npos && one.find(" list=") == std::string::npos;
        });
        return found;
    }
    // One copy, on `node`, `start`, nothing left behind.
    ::testing::AssertionResult settled_on(const std::string& node) {
        std::vector<std::string> wrong;
        const auto expect = [&](bool is_well, const std::string& text) {
            if (!is_well) {
                wrong.push_back(text);
            }
        };
        expect(executes(node), "it does not run on " + node);
        expect(hardware.centre.running_copies(u1) == 1,
               std::to_string(hardware.centre.running_copies(u1)) + " copies run");
        expect(state() == "start", "state " + state());
        expect(value(key("/node")) == node, "node " + value(key("/node")));
        expect(locks_left() == 0, std::to_string(locks_left()) + " lock children");
        expect(value(key("/migrate_sync_lock")).empty(), "sync value " + value(key("/migrate_sync_lock")));
        expect(running(node) == to_text(u1), "list of " + node + ": " + running(node));
        for (const auto& other : {"hv1", "hv2", "hv3"}) {
            expect(other == node || !machine(other).guest(u1).is_there(), std::string("something is left on ") + other);
            expect(other == node || value("/nodes/" + std::string(other) + "/runningdomains").empty(),
                   std::string("list of ") + other);
        }
        for (auto& one : nodes) {
            expect(!one.host.read_file(journal).has_value(), "journal left on " + one.settings.name);
        }
        if (wrong.empty()) {
            return ::testing::AssertionSuccess();
        }
        return ::testing::AssertionFailure() << pvc::join(wrong, "; ");
    }
    [[nodiscard]] double seconds_since(time_point from) const {
        return std::chrono::duration<double>(loop.clock().now() - from).count();
    }

    std::list<foreign_hypervisor> peers;
    std::size_t allowed_double_runs = 0;
    inline static const std::string journal = "/run/pvc/migrations/" + to_text(u1);

private:
    static std::uint32_t number_of(const std::string& name) {
        return name == "client" ? 9 : static_cast<std::uint32_t>(name.back() - '0');
    }
    static std::string name_of(std::uint32_t number) {
        return number == 0 ? "" : number == 9 ? "client " : "hv" + std::to_string(number) + " ";
    }
    void beat() {
        for (const auto& name : beating_) {
            ensemble.put("/nodes/" + name + "/keepalive", std::to_string(++beats_));
        }
        beats_of_peers_.after(5s, [this] { beat(); });
    }
    void note(const recorded_change& change) {
        const bool is_set = change.what == recorded_kind::set;
        for (const auto& name : {"hv1", "hv2", "hv3"}) {
            if (is_set && change.path == "/nodes/" + std::string(name) + "/runningdomains") {
                happened_.push_back(std::string(name) + " list=" + (change.data == to_text(u1) ? "U1" : change.data));
            }
        }
        if (!change.path.starts_with(key("/"))) {
            return;
        }
        const std::string rest = change.path.substr(key("/").size());
        const auto slash = rest.find('/');
        if (slash != std::string::npos && rest.find("__lock__") != std::string::npos) {
            std::string what = rest.substr(0, slash);
            what = what == "migrate_sync_lock" ? "sync" : what;
            if (change.what == recorded_kind::create || change.what == recorded_kind::remove) {
                happened_.push_back(name_of(change.owner) + (change.what == recorded_kind::create ? "+" : "-") + what);
            }
        } else if (is_set && rest != "consolelog" && rest != "stats") {
            const std::string name = rest == "migrate_sync_lock" ? "sync" : rest;
            happened_.push_back(name + "=" + (change.data == to_text(u1) ? "U1" : change.data));
        }
    }

    std::optional<sim::scripted_client> client_;
    sim::agenda beats_of_peers_;
    std::vector<std::string> beating_;
    std::vector<std::string> happened_;
    std::int64_t beats_ = 1'700'000'000;
    std::uint64_t guids_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

protected:
    sim::agenda plans;  // what a test wants to happen later
};

}  // namespace pvc::node
