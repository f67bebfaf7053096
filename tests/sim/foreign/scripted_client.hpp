// A scripted client of the cluster: writes what the reference's command line and API write, one command after another,
// each as a group of its own, with the reads before it and the waits after it (node-lifecycle.md 2.3). Plus what no
// client should write. Commands queue up; time passes as the loop runs.
//
//   scripted_client client(loop, ensemble);
//   client.set_primary("hv2");  client.ready_node("hv1");
//   client.run();
#pragma once

#include "pvcnoded/base/random.hpp"
#include "sim/foreign/foreign_process.hpp"
#include "sim/foreign/foreign_session.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace pvc::sim {

class scripted_client {
public:
    scripted_client(sim_loop& loop, memory_ensemble& ensemble, std::uint64_t seed = 1);
    scripted_client(const scripted_client&) = delete;
    scripted_client& operator=(const scripted_client&) = delete;
    ~scripted_client();

    // Refused (nothing is written) unless the node can be a coordinator, runs, and is not yet what is asked for.
    void set_primary(std::string node);
    void set_secondary(std::string node);
    // With `wait` the next command starts once the node has done it: looked at once a second.
    void ready_node(std::string node, bool wait = true);
    void flush_node(std::string node, bool wait = true);
    void set_maintenance(bool on);
    // Of a virtual machine, under the lock of its state, which is held for 0.5 s after the write (vm-domains.md 2).
    void set_state(std::string domain, std::string state);
    void place(std::string domain, std::string state, std::string node, std::string last_node);
    // One group write.
    void put(std::vector<model::key_value> pairs);
    // With everything below.
    void remove(std::string path);
    // Some bytes, drawn from the seed.
    void garbage(std::string path);
    void pause(duration time);

    [[nodiscard]] bool is_idle() const { return commands_.empty() && !is_busy_; }
    // Lets time pass until every command is done; false after `limit`.
    bool run(duration limit = std::chrono::seconds(60));
    [[nodiscard]] std::size_t refusals() const { return refusals_; }
    [[nodiscard]] memory_link& link() { return process_.link(); }

private:
    using command = std::function<async::awaitable<void>()>;

    void add(command one);
    async::awaitable<void> serve();
    async::awaitable<void> serve_commands();
    async::awaitable<std::string> value(std::string path);
    async::awaitable<void> change_primary(std::string node, bool to_primary);
    async::awaitable<void> change_domain_state(std::string node, std::string request, std::string end, bool wait);
    async::awaitable<void> change_locked(std::string domain, std::vector<model::key_value> pairs);
    async::awaitable<void> remove_tree(std::string path);
    async::awaitable<void> write_garbage(std::string path);
    async::awaitable<void> write(std::vector<model::key_value> pairs);
    async::awaitable<void> sleep(duration time);

    sim_loop& loop_;
    random_source random_;
    foreign_process process_;
    std::unique_ptr<foreign_session> session_;
    std::deque<command> commands_;
    async::wakeup work_;
    bool is_busy_ = false;
    std::size_t refusals_ = 0;
};

}  // namespace pvc::sim
