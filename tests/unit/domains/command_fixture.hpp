// A cluster at schema 9, whose clients send their commands through /cmd/domains as those up to 0.9.80 do.
#pragma once

#include "domain_effects.hpp"

namespace pvc::node {

class command_test : public effects_test {
protected:
    command_test() {
        ensemble.put("/schema/version", "9");
        for (const auto* path : {"/cmd", "/cmd/nodes", "/cmd/domains", "/cmd/ceph"}) {
            ensemble.put(path, "");
        }
        // A node that knows no later version: nobody raises it.
        put_peer("hv9", "hypervisor", "stop", "client");
        ensemble.put("/nodes/hv9/latestschema", "9");
        ensemble.put("/nodes/hv9/runningdomains", "");
        ensemble.observe([this](const recorded_change& change) {
            if (change.path == pipe && change.what == recorded_kind::set && change.session != 0) {
                written_.emplace_back(loop.clock().now(), change.data);
            }
        });
    }

    void stopped(const std::string& state = "stop", const std::string& rbdlist = "vms/web_sda,vms/web_sdb") {
        define(state, "hv1", "", {{"/rbdlist", rbdlist}});
    }
    sim_node& runs_it() {
        define_running();
        return settled_host();
    }

    // Steps 1 to 5 of a client: writes, waits, reads under a read lock, clears under a write lock. What it read.
    std::string ask(const std::string& text) {
        send(text);
        const std::string answer = read_answer();
        clear();
        return answer;
    }
    void send(const std::string& text) {
        sent_at = loop.clock().now();
        ensemble.put(pipe, text);
    }
    std::string read_answer() {
        loop.run_until([&] { return loop.clock().now() >= sent_at + 500ms; });
        const auto session = ensemble.open_session();
        const auto lock = contend("__rlock__", session);
        EXPECT_TRUE(run_until([&] { return !is_behind_a_writer(lock); }, 60s));
        read_at = loop.clock().now();
        const std::string answer = value(pipe);
        ensemble.close_session(session);
        return answer;
    }
    void clear() {
        const auto session = ensemble.open_session();
        const auto lock = contend("__lock__", session);
        EXPECT_TRUE(run_until([&] { return !is_behind_a_writer(lock); }, 60s));
        pass(500ms);
        ensemble.put(pipe, "");
        ensemble.close_session(session);
        pass(10ms);
    }
    // Somebody's child of the pipe's lock.
    std::string contend(const std::string& tag, std::int64_t session) {
        const std::string name = fmt::format("{:032x}{}", ++guids_, tag);
        return *ensemble.create(pipe + "/" + name, "kazoo", zookeeper::create_mode::ephemeral_sequential, session);
    }
    // What our nodes wrote into the pipe.
    [[nodiscard]] texts answers() const {
        texts all;
        for (const auto& [when, text] : written_) {
            all.push_back(text);
        }
        return all;
    }
    [[nodiscard]] double answered_after() const {
        return written_.empty() ? -1.0 : std::chrono::duration<double>(written_.back().first - sent_at).count();
    }
    [[nodiscard]] bool is_locked() const { return !lock_children(pipe).empty(); }
    // Nobody holds the pipe, and what the machine is to be it is.
    void expect_idle() {
        EXPECT_FALSE(is_locked());
        EXPECT_EQ(locks_left(), 0U);
    }
    [[nodiscard]] std::size_t breaks() const {
        const auto all = hardware.rbd.calls();
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [](const std::string& one) { return one.starts_with("break "); }));
    }
    void forget_answers() { written_.clear(); }

    static constexpr const char* sda = "vms/web_sda";
    static constexpr const char* sdb = "vms/web_sdb";
    inline static const std::string pipe = "/cmd/domains";
    inline static const std::string id = to_text(u1);
    inline static const std::string disk = "<disk type='file' device='disk'><target dev='vdb' bus='virtio'/></disk>";
    inline static const std::string attach = "attach_device " + id + " " + disk;
    inline static const std::string detach = "detach_device " + id + " " + disk;
    inline static const std::string flush = "flush_locks " + id;
    time_point sent_at{};
    time_point read_at{};

private:
    [[nodiscard]] bool is_behind_a_writer(const std::string& own) const {
        const std::string number = own.substr(own.size() - 10);
        return std::ranges::any_of(ensemble.children(pipe), [&](const std::string& name) {
            const bool counts = name.find("__lock__") != std::string::npos ||
                                (own.find("__lock__") != std::string::npos && name.find("lock__") != std::string::npos);
            return counts && name.substr(name.size() - 10) < number;
        });
    }

    std::vector<std::pair<time_point, std::string>> written_;
    std::uint64_t guids_ = 0;
};

}  // namespace pvc::node
