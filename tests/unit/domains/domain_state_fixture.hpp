// What the tests of flush and unflush share: nodes of ours with figures, several machines, and what this node wrote of
// its own accord, transaction by transaction.
#pragma once

#include "domain_migration_fixture.hpp"

namespace pvc::node {

class domain_state_fixture : public migration_fixture {
protected:
    // A running daemon with so much free memory, ready for machines.
    sim_node& add_ready(const std::string& name, int free_mib, const std::string& word = "ready") {
        sim_node& node = add_host(name);
        node.connector.link().number = static_cast<std::uint32_t>(name.back() - '0');
        set_memory(node, free_mib);
        node.start();
        EXPECT_TRUE(node.run_until_ready()) << node.log();
        ensemble.put("/nodes/" + name + "/domainstate", word);
        return node;
    }
    static void set_memory(sim_node& node, int free_mib) {
        node.host.meminfo_text = fmt::format("MemTotal: 16384000 kB\nMemFree: {} kB\nMemAvailable: {} kB\n",
                                             free_mib * 1024, free_mib * 1024);
    }
    // A machine as a client defined it, and its guest on `node` if it is to run.
    void machine_on(const uuid& id, const std::string& node, const std::string& state = "start",
                    const std::string& last = {}, const std::map<std::string, std::string>& keys = {}) {
        const std::string name = id == u1 ? "web" : id == u2 ? "db" : "m" + to_text(id).substr(0, 8);
        define(state, node, last, keys, id, name);
        const bool runs = state != "stop" && state != "disable" && state != "fail";
        if (runs) {
            machine(node).put_running(id, name, xml(id, name));
        }
    }
    // hv1 runs u1 and u2; hv2 and hv4 are ours and ready, hv2 has more memory.
    void three_nodes_two_machines() {
        machine_on(u1, "hv1");
        machine_on(u2, "hv1");
        add_ready("hv1", 1000);
        add_ready("hv2", 8000);
        add_ready("hv4", 6000);
        settle();
    }
    void settle() {
        pass(7s);  // a tick of everybody
        mark();
    }
    void mark() { since_ = ensemble.zxid(); }
    void order(const std::string& word, const std::string& node = "hv1") {
        ensemble.put("/nodes/" + node + "/domainstate", word);
    }
    [[nodiscard]] std::string word(const std::string& node = "hv1") const {
        return value("/nodes/" + node + "/domainstate");
    }
    bool until_word(const std::string& wanted, duration limit = 120s, const std::string& node = "hv1") {
        const bool is_written = run_until([&] { return word(node) == wanted; }, limit);
        pass(20ms);  // the node hears that it was written, and says so
        return is_written;
    }
    static std::string key_of(const uuid& id, const std::string& suffix) {
        return model::domain_path(to_text(id), suffix);
    }
    [[nodiscard]] std::string state_of(const uuid& id) const { return value(key_of(id, "/state")); }
    [[nodiscard]] std::string place_of(const uuid& id) const {
        return state_of(id) + " " + value(key_of(id, "/node")) + " " + value(key_of(id, "/lastnode"));
    }

    // What the daemon `owner` wrote since mark() to the keys that flush and unflush write, one text a transaction:
    // "U1 state=migrate node=hv2 lastnode=hv1", "domainstate=flushed runningdomains=". Only transactions of several
    // keys, and those of `domainstate`: the others are of the machines' own operations.
    [[nodiscard]] std::vector<std::string> jobs(std::uint32_t owner = 1) const {
        std::vector<std::string> found;
        std::int64_t at = 0;
        std::string text;
        int keys = 0;
        const auto end = [&] {
            if (keys > 1 || text.find("domainstate") != std::string::npos) {
                found.push_back(text);
            }
            text.clear();
            keys = 0;
        };
        const std::string own = "/nodes/hv" + std::to_string(owner) + "/";
        for (const auto& change : ensemble.trace()) {
            if (change.zxid <= since_ || change.owner != owner || change.what != recorded_kind::set) {
                continue;
            }
            if (std::exchange(at, change.zxid) != change.zxid) {
                end();
            }
            for (const auto& [id, name] :
                 {std::pair{u1, "U1 "}, std::pair{u2, "U2 "}, std::pair{u3, "U3 "}, std::pair{u4, "U4 "}}) {
                for (const auto* const key : {"state", "node", "lastnode", "node_autostart"}) {
                    if (change.path == key_of(id, std::string("/") + key)) {
                        text += (text.empty() ? name : " ") + std::string(key) + "=" + change.data;
                        ++keys;
                    }
                }
            }
            if (change.path == own + "domainstate" || change.path == own + "runningdomains") {
                text += (text.empty() ? "" : " ") + change.path.substr(own.size()) + "=" + shown_list(change.data);
            }
        }
        end();
        return found;
    }
    // Paths that the transaction which wrote this key last checked, without the guids of locks.
    [[nodiscard]] std::vector<std::string> checked_with(const std::string& path, const std::string& data) const {
        std::int64_t zxid = 0;
        for (const auto& change : ensemble.trace()) {
            if (change.what == recorded_kind::set && change.path == path && change.data == data) {
                zxid = change.zxid;
            }
        }
        std::vector<std::string> paths;
        for (const auto& change : ensemble.trace()) {
            if (change.zxid == zxid && change.what == recorded_kind::check) {
                const auto lock = change.path.find("__lock__");
                paths.push_back(lock == std::string::npos ? change.path : change.path.substr(0, lock - 32) + "<lock>");
            }
        }
        return paths;
    }
    // A client that holds the lock of a machine's state.
    contender hold_lock(const uuid& id) {
        contender one;
        one.session = ensemble.open_session();
        one.path = *ensemble.create(key_of(id, "/state") + "/" + std::string(32, 'c') + "__lock__", "",
                                    zookeeper::create_mode::ephemeral_sequential, one.session);
        return one;
    }
    std::string shown_list(const std::string& text) const {
        std::string names;
        for (const auto part : split_blanks(text)) {
            const std::string name = part == to_text(u1) ? "U1" : part == to_text(u2) ? "U2" : std::string(part);
            names += (names.empty() ? "" : " ") + name;
        }
        return names;
    }

    inline static const uuid u3 = *parse_uuid("00000003-aaaa-4bbb-8ccc-000000000003");
    inline static const uuid u4 = *parse_uuid("00000004-aaaa-4bbb-8ccc-000000000004");

private:
    std::int64_t since_ = 0;
};

}  // namespace pvc::node
