// One operation on a virtual machine: operation_bench KIND [ROUNDS]
//
// KIND: start, stop, shutdown, again (it ends by itself and is started again), send, receive, or nothing. A simulated
// node of ours runs the machine; the other side of a live migration is the scripted reference, so that what is counted
// is one daemon's part. Every round does everything, with the same simulated time for each; only KIND is counted, and
// no tick falls into it. Under count_allocations.so its allocations lie in the board, with their call stacks (see
// allocations.py); for callgrind it happens inside the function `operation_bench_counted`.
//
// Prints what one of them takes on the simulated clock, and what it asks of ZooKeeper and libvirt.
#include "sim/foreign/foreign_migration.hpp"
#include "sim/sim_node.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

extern "C" [[gnu::noinline]] void operation_bench_counted(pvc::sim::sim_loop& loop, pvc::duration time) {
    loop.run_for(time);
    asm volatile("");  // no tail call: callgrind counts what is inside
}

namespace {

using namespace pvc;
using namespace std::chrono_literals;

constexpr duration window = 10s;  // of every operation; the longest ends long before
constexpr duration interval = 300s;
const std::string own = "hv1";
const std::string other = "hv2";

void record(bool on) {
    // Of the preloaded counter, if there is one.
    static const auto switch_stacks = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "bench_record_stacks"));
    if (switch_stacks != nullptr) {
        switch_stacks(on ? 1 : 0);
    }
}

class bench {
public:
    explicit bench(std::string kind)
        : kind_(std::move(kind)),
          ensemble_(loop_.clock()),
          hardware_(loop_.clock()),
          node_(loop_, ensemble_, settings(), &hardware_) {
        sim::initialise(ensemble_, 10);
        ensemble_.keep_trace(false);
        define();
    }
    bool start() {
        node_.connector.link().number = 1;
        node_.connector.link().on_request = [this](const zookeeper::request& /*what*/) {
            ++requests_;
            return sim::verdict::answer;
        };
        node_.start();
        if (!node_.run_until_ready()) {
            return false;
        }
        peer_.emplace(loop_, ensemble_, hardware_.centre, other);
        peer_->link().number = 2;
        peer_->start({id_});
        loop_.run_for(1s);
        return true;
    }
    // Every kind once, in an order in which each finds what it needs. False: one did not come to its end. A round that
    // does not count looks at each event how long it takes.
    bool round(bool counts) {
        await_tick();
        counts_ = counts;
        const auto runs_here = [this] { return runs(own); };
        const auto is_off = [this] {
            return !guest(own).is_there() && value("/runningdomains", own).empty() && key("/vnc").empty();
        };
        return one(
                   "start", [this] { set("start"); }, runs_here) &&
               one(
                   "nothing", [] {}, runs_here) &&
               one(
                   "send", [this] { place("migrate", other, own); }, [this] { return runs(other); }) &&
               one(
                   "receive", [this] { place("migrate", own, other); }, runs_here) &&
               one(
                   "shutdown", [this] { set("shutdown"); }, [&] { return is_off() && key("/state") == "stop"; }) &&
               one(
                   "", [this] { set("start"); }, runs_here) &&
               one(
                   "again", [this] { guest(own).power_off(); },
                   [&] { return runs_here() && guest(own).starts() > 0; }) &&
               one("stop", [this] { set("stop"); }, is_off);
    }
    [[nodiscard]] std::string failure() const { return failure_ + "\n" + node_.log(); }
    [[nodiscard]] std::string result() const {
        return fmt::format("milliseconds: {}\nrequests: {}\ncalls: {}\n", took_ / 1ms, asked_, called_);
    }

private:
    static sim::node_settings settings() {
        sim::node_settings out;
        out.name = own;
        out.coordinators = {own};
        out.keepalive_interval = static_cast<int>(interval / 1s);
        out.log_keepalives = false;
        out.hypervisor = true;
        return out;
    }
    void define() {
        const std::string root = model::domain_path(to_text(id_));
        ensemble_.put(
            {{root, "web"},
             {root + "/xml", "<domain type='qemu'><name>web</name><uuid>" + to_text(id_) +
                                 "</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu><devices><graphics "
                                 "type='vnc' port='-1' autoport='yes' listen='127.0.0.1'/></devices></domain>"},
             {root + "/state", "stop"},
             {root + "/node", own}});
        for (const auto* empty : {"/stats", "/lastnode", "/failedreason", "/rbdlist", "/consolelog", "/vnc",
                                  "/node_limit", "/tags", "/migrate_sync_lock"}) {
            ensemble_.put(root + empty, "");
        }
        for (const auto* none : {"/profile", "/migration_method", "/node_selector"}) {
            ensemble_.put(root + none, "none");
        }
        ensemble_.put(root + "/node_autostart", "False");
        const std::string peer = "/nodes/" + other;
        ensemble_.put({{peer, "hypervisor"},
                       {peer + "/daemonmode", "hypervisor"},
                       {peer + "/daemonstate", "run"},
                       {peer + "/routerstate", "client"},
                       {peer + "/domainstate", "ready"},
                       {peer + "/keepalive", "1700000000"},
                       {peer + "/latestschema", "10"},
                       {peer + "/activeschema", "10"},
                       {peer + "/runningdomains", ""}});
        std::ignore = hardware_.centre.machine(other);
    }
    [[nodiscard]] std::string value(const std::string& suffix, const std::string& node) const {
        return ensemble_.get("/nodes/" + node + suffix).value_or("");
    }
    [[nodiscard]] std::string key(const std::string& suffix) const {
        return ensemble_.get(model::domain_path(to_text(id_), suffix)).value_or("");
    }
    [[nodiscard]] sim::sim_guest& guest(const std::string& node) { return hardware_.centre.machine(node).guest(id_); }
    // On that node, nothing of the operation being left to do.
    [[nodiscard]] bool runs(const std::string& node) {
        const std::string& from = node == own ? other : own;
        return guest(node).executes() && !guest(from).is_there() && key("/state") == "start" && key("/node") == node &&
               value("/runningdomains", node) == to_text(id_) && value("/runningdomains", from).empty() &&
               !key("/vnc").empty() && key("/migrate_sync_lock").empty() && !is_locked();
    }
    [[nodiscard]] bool is_locked() const {
        return std::ranges::any_of(
            std::vector<std::string>{"/state", "/node", "/migrate_sync_lock"},
            [&](const auto& of) { return !ensemble_.children(model::domain_path(to_text(id_), of)).empty(); });
    }
    void set(const std::string& state) { ensemble_.put(model::domain_path(to_text(id_), "/state"), state); }
    void place(const std::string& state, const std::string& node, const std::string& last) {
        const std::string root = model::domain_path(to_text(id_));
        ensemble_.put({{root + "/state", state}, {root + "/node", node}, {root + "/lastnode", last}});
    }
    // All that a round does fits between two ticks.
    void await_tick() {
        ensemble_.put("/nodes/" + other + "/keepalive", std::to_string(++beats_));
        const auto before = value("/keepalive", own);
        loop_.run_until([&] { return value("/keepalive", own) != before; });
        loop_.run_for(5s);
    }
    template <class Begin, class Done>
    bool one(const std::string& kind, Begin begin, Done done) {
        const time_point began = loop_.clock().now();
        requests_ = 0;
        hardware_.centre.machine(own).clear_calls();
        begin();
        if (counts_ && kind == kind_) {
            record(true);
            operation_bench_counted(loop_, window);
            record(false);
            asked_ = requests_;
            called_ = hardware_.centre.machine(own).all_calls().size();
        } else {
            loop_.run_until([&] { return is_over(kind, done, began) || loop_.clock().now() - began >= window; });
            if (kind == kind_) {
                took_ = loop_.clock().now() - began;
            }
            loop_.run_for(window - (loop_.clock().now() - began));
        }
        if (!done()) {
            failure_ = "not done: " + kind;
            return false;
        }
        return true;
    }

    // A guest that ends and is started again is what it was before: it must have been off in between.
    template <class Done>
    [[nodiscard]] bool is_over(const std::string& kind, Done done, time_point began) {
        return done() && (kind != "again" || guest(own).since() > began);
    }

    const std::string kind_;
    const uuid id_ = *parse_uuid("00000001-aaaa-4bbb-8ccc-000000000001");
    sim::sim_loop loop_;
    sim::memory_ensemble ensemble_;
    sim::sim_hardware hardware_;
    sim::sim_node node_;
    std::optional<sim::foreign_hypervisor> peer_;
    bool counts_ = false;
    std::string failure_;
    std::uint64_t requests_ = 0;
    std::uint64_t asked_ = 0;
    std::uint64_t called_ = 0;
    duration took_{};
    std::int64_t beats_ = 1'700'000'000;
};

int measure(const std::string& kind, int rounds) {
    bench one(kind);
    bool is_well = one.start() && one.round(false) && one.round(false);
    for (int i = 0; i < rounds && is_well; ++i) {
        is_well = one.round(true);
    }
    fmt::print("{}", is_well ? one.result() : one.failure());
    return is_well ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    // Inside a handler of an io_context, so that Asio recycles the memory of coroutines as it does in the daemon.
    boost::asio::io_context context;
    int status = 1;
    boost::asio::post(context, [&] {
        status = measure(count > 1 ? words[1] : "nothing", count > 2 ? std::max(1, std::atoi(words[2])) : 5);
    });
    context.run();
    return status;
}
