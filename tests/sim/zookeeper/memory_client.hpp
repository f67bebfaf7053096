// Clients of the in-memory ensemble: the port's contract, with faults.
//
//   sim_loop loop;
//   memory_ensemble ensemble(loop.clock());
//   memory_connector hv1(ensemble, loop.clock());      // what a daemon is given
//   hv1.link().latency = 5ms;  hv1.link().cut();  ...  // what happens to its connections
//
// One link is one machine's way to the ensemble, shared by all clients of its connector; give the log's session a
// connector of its own to treat it apart. Specification: runtime-design.md 2.3 to 2.5, node-lifecycle.md 3.1 rule 7.
#pragma once

#include "pvcnoded/zookeeper/client.hpp"
#include "sim/zookeeper/memory_ensemble.hpp"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace pvc::sim {

class memory_client;
class memory_connection;

// What becomes of requests that were sent and had not reached a server when their connection broke.
enum class in_flight : std::uint8_t { lost, applied };

// A verdict on one request as it reaches the server.
enum class verdict : std::uint8_t {
    answer,
    drop_before,  // the connection breaks, nothing was done
    drop_after,   // it is done, then the connection breaks before the answer
};

class memory_link {
public:
    memory_link(memory_ensemble& ensemble, async::timers& client_clock);
    memory_link(const memory_link&) = delete;
    memory_link& operator=(const memory_link&) = delete;
    ~memory_link();

    std::uint32_t number = 0;  // whose link it is, for recorded_change::owner
    // How requests of this link's clients ended, by errc; the last one: well.
    std::array<std::uint64_t, 16> outcomes{};
    std::array<std::uint64_t, 4> states{};  // how often a client was in each zookeeper::link state

    // --- plain settings, looked at whenever something is sent ---
    duration latency{std::chrono::milliseconds(1)};  // there and back
    // Answers are held back so long after the deed is done (all, or those to writes only); pings are not. AC138.
    duration answer_delay{};
    duration write_answer_delay{};
    // Watch events are held back so long, and with them everything that is sent behind them: the order of a connection
    // stays.
    duration watch_delay{};
    // The server of this link is so far behind the others: reads and watches show an older tree, until `sync`, or until
    // a write of ours has been answered (a server has done what it answers).
    duration lag{};
    // At a loss that the link's own methods do not decide (silence ends in a time-out, the client closes).
    in_flight at_loss = in_flight::lost;
    // Looks at every request (not pings) as it reaches the server.
    std::function<verdict(const zookeeper::request&)> on_request;

    // --- events ---
    // The connections drop now; new ones are possible.
    void drop(in_flight what = in_flight::lost);
    // The connections drop now and new ones are refused until mend().
    void cut(in_flight what = in_flight::lost);
    void mend();
    // Connections stay and are still accepted, but nothing arrives in either direction until end_silence().
    void silence();
    void end_silence();
    // Requests arrive and are executed; answers, pongs and watch events wait until release_answers().
    void hold_answers();
    void release_answers();
    // SIGSTOP and SIGCONT of the process: what arrives meanwhile waits in the socket, is delivered afterwards and
    // proves nothing. Up to 2 s nobody notices.
    void pause();
    void resume();
    // The machine is gone: nothing that its clients still do reaches anybody, and they hear nothing more. Their
    // sessions expire in time.
    void power_off();
    // The server ends the sessions of all clients of this link.
    void expire_sessions();

    [[nodiscard]] bool is_cut() const { return is_cut_; }
    [[nodiscard]] bool is_silent() const { return is_silent_; }
    [[nodiscard]] bool is_paused() const { return is_paused_; }
    [[nodiscard]] bool is_off() const { return is_off_; }
    // The clients that live, oldest first.
    [[nodiscard]] const std::vector<memory_client*>& clients() const { return clients_; }
    // Requests that wait for an answer, of all clients.
    [[nodiscard]] std::size_t requests_under_way() const;
    // The newest session id of this link's clients; 0 = none yet.
    [[nodiscard]] std::int64_t session_id() const { return newest_session_; }

private:
    friend class memory_client;
    friend class memory_connection;
    friend class memory_ensemble;

    struct late_transaction {
        time_point due;
        std::int64_t zxid;
        std::chrono::milliseconds when;  // it was done
        std::vector<tree_change> changes;
    };

    // The lagging view.
    [[nodiscard]] const memory_tree& view() const;
    void before_write();
    void after_write(std::int64_t zxid, const std::vector<tree_change>& changes, bool may_fire);
    void catch_up(std::int64_t zxid);
    void apply_late();
    void trigger(const std::vector<tree_change>& changes);
    void ensemble_gone();
    void flow();
    std::vector<std::shared_ptr<memory_connection>> live_connections();

    memory_ensemble* ensemble_;
    async::timers& client_clock_;
    std::vector<memory_client*> clients_;
    std::vector<std::weak_ptr<memory_connection>> connections_;
    std::optional<memory_tree> replica_;
    std::deque<late_transaction> late_;
    async::timer late_timer_;
    boot_time paused_at_{};
    std::int64_t newest_session_ = 0;
    bool is_cut_ = false;
    bool is_silent_ = false;
    bool is_holding_ = false;
    bool is_paused_ = false;
    bool is_off_ = false;
};

class memory_client final : public zookeeper::client {
public:
    memory_client(std::shared_ptr<memory_link> link, zookeeper::connection_options options);
    ~memory_client() override;

    async::awaitable<void> run() override;
    [[nodiscard]] std::size_t requests_under_way() const { return pending_.size(); }

protected:
    void send(zookeeper::request& asked, reply_handler done) override;
    void on_outcome(const result<void>& outcome) override;

private:
    friend class memory_link;
    friend class memory_connection;

    struct pending {
        std::uint64_t number = 0;
        bool is_write = false;
        bool is_proof = false;
        std::string subject;
        zookeeper::request::kind what = zookeeper::request::kind::get;
        zookeeper::watching watch = zookeeper::watching::no;
        std::string path;  // of a watch that the request arms
        boot_time sent{};
        reply_handler done;
    };
    struct armed_watches {
        std::set<std::string, std::less<>> data;      // of existing nodes
        std::set<std::string, std::less<>> presence;  // of missing nodes
        std::set<std::string, std::less<>> children;
    };

    // From the connection.
    void on_established(std::int64_t session, std::chrono::milliseconds timeout);
    void on_refused_session();
    void on_answer(std::uint64_t number, zookeeper::reply answer, std::int64_t zxid);
    void on_pong();
    void on_event(const zookeeper::watch_event& event);
    void on_dropped(const std::string& reason);
    // From the link.
    void on_pause_end(boot_time before);

    void attempt();
    void attempt_failed(const std::string& reason);
    void back_off();
    void housekeep();
    void plan_housekeeping();
    void heard();
    bool check_lost();
    void connect();
    void suspend(std::string reason);
    void lose(std::string reason);
    void send_proof();
    void resend_watches();
    void transmit(zookeeper::request&& what, pending&& record);
    void fail_pending(const std::string& reason, bool session_over);
    void close_orderly();
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] const zookeeper::session_state& now_state() const;
    [[nodiscard]] std::string full_path(const std::string& path) const;
    [[nodiscard]] std::string own_path(std::string path) const;

    std::shared_ptr<memory_link> link_;
    zookeeper::connection_options options_;
    std::shared_ptr<memory_connection> connection_;
    std::deque<pending> pending_;
    std::deque<std::pair<zookeeper::request, pending>> held_by_pause_;
    std::uint64_t last_number_ = 0;
    armed_watches watches_;
    std::int64_t last_zxid_ = 0;
    async::timer housekeeping_;
    async::wakeup ended_;
    unsigned failures_ = 0;
    bool is_attempting_ = false;
    bool awaiting_proof_ = false;
    time_point attempt_at_{};  // the next one, while there is no connection
    time_point established_at_{};
    time_point last_heard_{};  // of this connection
    time_point last_sent_{};
    boot_time contact_{};
    std::int64_t session_id_ = 0;
    bool is_running_ = false;
};

class memory_connector final : public zookeeper::connector {
public:
    memory_connector(memory_ensemble& ensemble, async::timers& clock)
        : link_(std::make_shared<memory_link>(ensemble, clock)) {}
    explicit memory_connector(memory_ensemble& ensemble) : memory_connector(ensemble, ensemble.clock()) {}

    std::unique_ptr<zookeeper::client> open(zookeeper::connection_options options) override {
        return std::make_unique<memory_client>(link_, std::move(options));
    }
    [[nodiscard]] memory_link& link() { return *link_; }

private:
    std::shared_ptr<memory_link> link_;
};

}  // namespace pvc::sim
