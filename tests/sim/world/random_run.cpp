#include "sim/world/random_run.hpp"

#include "sim/subjects/domains/guests.hpp"
#include "sim/world/asking.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace pvc::sim {

namespace {

constexpr duration progress_limit = 300s;
// A node that is still emptied or refilled moves machines of its own accord, and one that does not converge is given up
// after 300 s: so much longer, and no longer than that in all.
constexpr duration after_order_limit = 330s;
constexpr duration orders_limit = 900s;
constexpr duration more_for_each_guest = 120s;  // a flush leaves one that does not converge alone after that time
constexpr duration stop_limit = 430s;           // the rule of a stop says how long it may really take

cluster_settings draw_cluster(const run_settings& wanted) {
    random_source random = random_source(wanted.seed).split("cluster");
    cluster_settings out;
    out.seed = wanted.seed;
    static constexpr std::array schemas{10, 10, 10, 8, 9, 11, 12, 14, 15};
    out.schema = schemas[random.below(schemas.size())];
    const auto count = wanted.nodes ? static_cast<std::uint64_t>(*wanted.nodes) : 1 + random.below(5);
    const std::uint64_t coordinators = std::min<std::uint64_t>(count, 3 + 2 * random.below(2));
    std::vector<std::string> names;
    for (std::uint64_t i = 1; i <= coordinators; ++i) {
        names.push_back(fmt::format("hv{}", i));
    }
    static constexpr std::array intervals{5, 5, 5, 5, 2, 10};
    static constexpr std::array fences{6, 6, 6, 3, 0};
    const int interval = intervals[random.below(intervals.size())];
    const int fence = fences[random.below(fences.size())];
    const bool has_foreign = random.below(4) == 0 && out.schema == 10;
    if (wanted.foreign) {
        out.schema = 10;
    }
    if (has_foreign || wanted.foreign) {
        names.emplace_back("ref1");
        out.foreign = {"ref1"};
    }
    const bool ships = random.below(4) == 0 || wanted.dense;
    const bool logs_ticks = random.below(4) == 0;
    const bool has_log_file = random.below(2) == 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
        node_settings node;
        node.name = fmt::format("hv{}", i);
        node.coordinators = names;
        node.keepalive_interval = interval;
        node.fence_intervals = fence;
        node.zookeeper_logging = ships;
        node.log_keepalives = logs_ticks;
        node.file_logging = has_log_file;
        node.node_log_lines = 50;
        node.debug = random.below(4) == 0;
        if (random.below(2) == 0 && out.foreign.empty()) {  // the script does not follow another version
            node.schema_limit = std::to_string(std::max(10, *out.schema) + static_cast<int>(random.below(2)));
            if (*node.schema_limit == "16") {
                node.schema_limit = "15";
            }
        }
        out.nodes.push_back(std::move(node));
    }
    // The reference says `run` first, and beats up to 4 x 5 - 1 s later; here before it may be fenced for that.
    const int longest = fence == 0 ? 19'000 : std::min(19'000, fence * interval * 600);
    out.foreign_first_beat = std::chrono::milliseconds(
        50 + random_source(wanted.seed).split("first heartbeat").below(static_cast<std::uint64_t>(longest)));
    // Virtual machines, from a stream of their own.
    random_source machines = random_source(wanted.seed).split("virtual machines");
    out.guests = machines.below(2) == 0 ? machines.below(4) + 1 : 0;
    // A board for each machine, which switches it: from a stream of its own.
    out.boards = wanted.fences || random_source(wanted.seed).split("boards").below(4) == 0;
    if (out.boards) {
        random_source fencing = random_source(wanted.seed).split("fencing");
        if (fencing.below(4) == 0) {  // storage may prove what a board does not tell
            for (auto& node : out.nodes) {
                node.suicide_intervals = 6;
                node.recovers_after_failure = true;
            }
        }
        if (!out.foreign.empty() && fencing.below(2) == 0) {
            out.schema = 15;
            out.has_late_foreign = true;
        }
    }
    if ((wanted.foreign || out.boards) && out.guests == 0) {
        out.guests = 2;
    }
    // Where there are machines there may be many: a node that is started again, emptied or fenced has all its own to
    // do.
    random_source many = random_source(wanted.seed).split("many virtual machines");
    if (out.guests > 0 && many.below(24) == 0) {
        out.guests = 8 + many.below(53);
    }
    out.has_foreign_guests = !out.foreign.empty() && out.guests > 0 &&
                             (wanted.foreign || random_source(wanted.seed).split("foreign machines").below(2) == 0);
    static constexpr std::array copies{300, 300, 3'000, 20'000};
    out.migration_time = std::chrono::milliseconds(copies[machines.below(copies.size())]);
    static constexpr std::array replies{10, 10, 1'000, 5'000};
    out.migration_reply = std::chrono::milliseconds(replies[machines.below(replies.size())]);
    const bool has_storage = out.guests > 0 && random_source(wanted.seed).split("storage").below(2) == 0;
    const bool has_networking = names.size() > 1 && random_source(wanted.seed).split("networking").below(2) == 0;
    const bool has_functions = has_networking && random_source(wanted.seed).split("virtual functions").below(4) == 0;
    const bool has_other_names = random_source(wanted.seed).split("names of cards").below(4) == 0;
    const bool has_ready_bridges = random_source(wanted.seed).split("bridges").below(2) == 0;
    // A third of those with storage stays below schema 10, where clients send commands about OSDs.
    random_source old = random_source(wanted.seed).split("OSD commands");
    if (has_storage && out.foreign.empty() && old.below(3) == 0) {
        out.schema = 8 + static_cast<int>(old.below(2));
        out.keeps_schema = true;
    }
    for (auto& node : out.nodes) {
        node.networking = has_networking;
        if (has_functions) {
            node.sriov.push_back({"ens8", 2, {}});
        }
        node.has_ready_bridges = has_ready_bridges;
        node.has_other_names = has_other_names;
        node.hypervisor = out.guests > 0;
        node.storage = has_storage;
        node.storage_address = "10.254.0." + node.name.substr(2) + "/24";
    }
    return out;
}

// As clients define and start them, once the cluster is there.
void define_guests(cluster& world, const cluster_settings& settings) {
    random_source random = random_source(settings.seed).split("kinds of virtual machines");
    for (std::uint64_t number = 1; number <= settings.guests; ++number) {
        static constexpr std::array kinds{"acpi", "acpi", "hang", "dirty"};
        action define("define-guest", settings.nodes[random.below(settings.nodes.size())].name);
        if (settings.has_foreign_guests && number % 2 == 0) {
            define.node = settings.foreign.front();
        }
        define.number = static_cast<std::int64_t>(number);
        define.value = kinds[random.below(kinds.size())];
        if (!settings.nodes.front().sriov.empty() && number <= 2) {
            define.value += fmt::format(" vf{}", number - 1);
        }
        action start("set-guest");
        start.number = define.number;
        start.value = "start";
        for (const auto& one : {define, start}) {
            const auto done = world.perform(one);
            ignore(done, "the node is there");
        }
    }
}

// Those that a client removed in the chaos come back.
void define_again(cluster& world, const cluster_settings& settings) {
    for (std::uint64_t number = 1; number <= settings.guests; ++number) {
        action define("define-guest", settings.nodes.front().name);
        define.number = static_cast<std::int64_t>(number);
        define.value = "acpi";
        const auto done = world.perform(define);
        ignore(done, "the node is there");
    }
}

class random_run {
public:
    explicit random_run(const run_settings& settings)
        : settings_(settings),
          drawn_(draw_cluster(settings)),
          world_(drawn_),
          judge_(world_),
          has_guests_((define_guests(world_, drawn_), true)),
          faults_(world_, random_source(settings.seed).split("faults"), world_.known, settings.kinds, settings.dense),
          mix_(faults_.text()) {
        world_.ensemble.keep_trace(false);
        if (settings.trace != nullptr) {
            tracer_.emplace(world_, *settings.trace, [this] { return judge_.steps >= settings_.trace_from_step; });
        }
        if (settings.ask) {
            askers_.emplace(world_, settings.seed);
            world_.after_step = [this] { askers_->step(); };
        }
    }

    run_outcome run() {
        start_all();
        chaos_phase();
        progress_phase();
        stop_phase();
        return outcome();
    }

private:
    [[nodiscard]] bool goes_on() const { return !judge_.broken(); }

    bool step() {
        const bool went_on = world_.step();
        judge_.look();
        if (askers_ && askers_->broken()) {
            judge_.say("asking", *askers_->broken());
        }
        return went_on;
    }

    // The last word of every client: run.
    void start_guests() {
        define_again(world_, drawn_);
        for (const auto number : guests_of(world_).defined) {
            action what("set-guest");
            what.number = number;
            what.value = "start";
            const auto done = world_.perform(what);
            ignore(done, "it takes no node");
        }
    }

    // Where there are boards no two clocks need be alike, by minutes or hours: who takes the age of a heartbeat from
    // them marks the living. The reference does, so that beside it they are a few seconds apart.
    void set_clocks() {
        random_source random = random_source(settings_.seed).split("clocks");
        if (!drawn_.boards || random.below(2) == 0) {
            return;
        }
        const std::uint64_t most = drawn_.foreign.empty() ? 3 * 3'600 : 3;  // seconds
        for (const auto& one : world_.members) {
            const auto by = std::chrono::seconds(random.below(2 * most + 1)) - std::chrono::seconds(most);
            one->node.clock.step_wall(by);
        }
    }

    void start_all() {
        set_clocks();
        random_source random = random_source(settings_.seed).split("starts");
        for (const auto& one : world_.members) {
            world_.later.after(std::chrono::milliseconds(random.below(3'000)), [this, &one] {
                const auto done = world_.perform(action("start", one->name()));
                ignore(done, "the node is there");
            });
        }
        for (const auto& one : world_.foreigners) {
            const auto done = world_.perform(action("start", one->settings.name));
            ignore(done, "the node is there");
        }
    }

    void chaos_phase() {
        const time_point end = world_.now() + settings_.length;
        while (goes_on() && world_.now() < end && step()) {
            if (settings_.faults) {
                faults_.act();
            }
        }
    }

    // A flush, or the move of a machine that does not converge, which takes five minutes.
    [[nodiscard]] bool has_order() const {
        const auto is_on_the_way = [this](const std::string& uuid) {
            return world_.ensemble.get("/domains/" + uuid + "/state").value_or("").starts_with("migrate");
        };
        return std::ranges::any_of(world_.members,
                                   [&](const auto& one) {
                                       const auto word = world_.ensemble.get(one->root() + "/domainstate").value_or("");
                                       return word == "flush" || word == "unflush";
                                   }) ||
               std::ranges::any_of(world_.ensemble.children("/domains"), is_on_the_way);
    }

    // Whether all is as it should be; what is missing is said when the time is over.
    void progress_phase() {
        faults_.take_back();
        const auto healed = world_.perform(action("heal"));
        ignore(healed, "it takes no node");
        faults_.take_back();
        start_guests();
        time_point limit = world_.now() + progress_limit;
        const auto guests = static_cast<std::int64_t>(guests_of(world_).defined.size());
        const time_point last_limit = world_.now() + orders_limit + guests * more_for_each_guest;
        time_point look_again = world_.now() + 10s;
        while (goes_on() && step()) {
            if (world_.now() < look_again) {
                continue;
            }
            look_again = world_.now() + 5s;
            const auto missing = judge_.missing();
            if (missing.empty()) {
                break;
            }
            if (has_order()) {
                limit = std::max(limit, std::min(world_.now() + after_order_limit, last_limit));
            }
            if (world_.now() > limit) {
                judge_.say("progress", "five minutes after the last fault: " + missing.front());
            }
        }
        // And it stays so.
        const time_point calm_end = world_.now() + 120s;
        while (goes_on() && world_.now() < calm_end && step()) {
        }
        // A reference node may be in the middle of a hand-over of its own making.
        if (const auto missing = judge_.missing(); goes_on() && !missing.empty() && world_.foreigners.empty()) {
            judge_.say("progress", "it had come about, and is gone again: " + missing.front());
        }
    }

    void stop_phase() {
        for (const auto& one : world_.members) {
            const auto done = world_.perform(action("terminate", one->name()));
            ignore(done, "the node is there");
        }
        for (const auto& one : world_.foreigners) {
            const auto done = world_.perform(action("terminate", one->settings.name));
            ignore(done, "the node is there");
        }
        const time_point limit = world_.now() + stop_limit;
        const auto is_running = [](const auto& one) { return one->node.is_running(); };
        while (goes_on() && std::ranges::any_of(world_.members, is_running) && world_.now() < limit && step()) {
        }
        for (const auto& one : world_.members) {
            if (goes_on() && one->node.is_running()) {
                judge_.say("stops_in_time", one->name() + " has not stopped");
            }
        }
    }

    void count_results(std::map<std::string, std::uint64_t>& seen) const {
        for (const auto& one : world_.members) {
            const memory_link& link = one->node.connector.link();
            for (std::size_t i = 0; i < link.outcomes.size(); ++i) {
                const bool is_good = i + 1 == link.outcomes.size();
                if (link.outcomes[i] > 0) {
                    const std::string name(is_good ? "ok" : pvc::to_text(static_cast<errc>(i)));
                    seen["result " + name] += link.outcomes[i];
                }
            }
            for (std::size_t i = 0; i < link.states.size(); ++i) {
                if (link.states[i] > 0) {
                    seen["link " + std::string(zookeeper::to_text(static_cast<zookeeper::link>(i)))] += link.states[i];
                }
            }
        }
    }

    void count_in_logs(std::map<std::string, std::uint64_t>& seen) const {
        if (drawn_.guests == 0) {
            return;
        }
        for (const auto& one : world_.members) {
            const std::string log = one->node.log();
            for (const auto& [what, text] : world_.known.log_marks()) {
                for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
                    ++seen["did " + std::string(what)];
                }
            }
        }
    }

    run_outcome outcome() {
        run_outcome out;
        out.broken = judge_.broken();
        out.steps = judge_.steps;
        out.simulated = world_.now() - time_point{};
        out.nodes = world_.members.size();
        out.node_hours = std::chrono::duration<double>(out.simulated).count() / 3600 * static_cast<double>(out.nodes);
        for (const auto& one : world_.members) {
            world_.hash.add(one->node.standard_output->text());
        }
        out.hash = world_.hash.value();
        out.seen = judge_.transitions;
        for (const auto& [name, count] : world_.performed) {
            out.seen["action " + std::string(name)] += count;
        }
        count_results(out.seen);
        count_in_logs(out.seen);
        if (askers_) {
            for (const auto& [name, count] : askers_->seen()) {
                out.seen["asked " + name] += count;
            }
        }
        out.mix = mix_;
        if (out.broken) {
            for (const auto& one : world_.members) {
                out.task_trees.push_back(one->name() + (one->node.is_running() ? ":" : ": not running"));
                if (one->node.tasks() != nullptr && one->node.is_running()) {
                    one->node.tasks()->root()->describe(out.task_trees, 1);
                }
            }
        }
        return out;
    }

    run_settings settings_;
    cluster_settings drawn_;
    cluster world_;
    judge judge_;
    bool has_guests_;
    chaos faults_;
    std::string mix_;
    std::optional<trace_text> tracer_;
    std::optional<askers> askers_;
};

}  // namespace

run_outcome run_once(const run_settings& settings) {
    random_run one(settings);
    return one.run();
}

}  // namespace pvc::sim
