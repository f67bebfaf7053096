#include "sim/ceph/sim_ceph_cluster.hpp"

#include "pvcnoded/async/wakeup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;

// As the library is set to wait for an answer (storage.md 3.1).
constexpr duration monitor_limit = 2s;
constexpr std::uint64_t osd_kib = 2'097'152;

std::string prefix_of(std::string_view command) {
    constexpr std::string_view begin = "\"prefix\":\"";
    const auto at = command.find(begin);
    if (at == std::string_view::npos) {
        return {};
    }
    const auto rest = command.substr(at + begin.size());
    return std::string(rest.substr(0, rest.find('"')));
}

bool is_json(std::string_view command) {
    return command.find("\"format\":\"json\"") != std::string_view::npos;
}

// "df plain", "df json"; what has one form alone, by its prefix.
std::string kind_of(std::string_view command) {
    std::string prefix = prefix_of(command);
    return prefix == "df" ? prefix + (is_json(command) ? " json" : " plain") : prefix;
}

bool is_of_manager(std::string_view command) {
    const auto prefix = prefix_of(command);
    return prefix == "osd df" || prefix == "osd status" || prefix == "osd pool stats";
}

template <class Things, class Text>
std::string listed(const Things& all, Text text) {
    std::string out;
    for (const auto& one : all) {
        out += (out.empty() ? "" : ",") + text(one);
    }
    return out;
}

}  // namespace

std::string sim_ceph::health() const {
    const auto down = std::ranges::count_if(osds, [](const auto& one) { return !one.second.is_up; });
    if (down == 0) {
        return R"({"status":"HEALTH_OK","checks":{},"mutes":[]})";
    }
    return fmt::format(
        R"({{"status":"HEALTH_WARN","checks":{{"OSD_DOWN":{{"severity":"HEALTH_WARN","summary":{{"message":"{} osds down","count":{}}},"muted":false}}}},"mutes":[]}})",
        down, down);
}

std::string sim_ceph::status() const {
    return fmt::format(
        "  cluster:\n    id:     d532ea08-9179-4094-991a-d9f0db8449af\n    health: {}\n \n  services:\n"
        "    mon: 1 daemons, quorum a (epoch {})\n    osd: {} osds\n \n",
        health().find("WARN") == std::string::npos ? "HEALTH_OK" : "HEALTH_WARN", epoch_, osds.size());
}

std::string sim_ceph::usage() const {
    return fmt::format(
        "--- RAW STORAGE ---\nCLASS   SIZE    AVAIL     USED  RAW USED  %RAW USED\n"
        "hdd    {} GiB  6.0 GiB  {} KiB   113 KiB          0\n \n--- POOLS ---\n",
        2 * osds.size(), 100 + epoch_);
}

std::string sim_ceph::usage_json() const {
    return "\n{\"stats\":{},\"pools\":[" +
           listed(
               pools,
               [](const auto& one) {
                   return fmt::format(
                       R"({{"name":"{}","id":{},"stats":{{"stored":{},"objects":16,"kb_used":18433,"bytes_used":{},"percent_used":0.003088965080678463,"max_avail":6091466752}}}})",
                       one.first, one.second.id, one.second.stored, one.second.stored);
               }) +
           "]}\n";
}

std::string sim_ceph::pool_recovery() const {
    return "\n[" +
           listed(
               pools,
               [](const auto& one) {
                   return fmt::format(
                       R"({{"pool_name":"{}","pool_id":{},"recovery":{{}},"recovery_rate":{{}},"client_io_rate":{{}}}})",
                       one.first, one.second.id);
               }) +
           "]\n";
}

std::string sim_ceph::osd_dump() const {
    return "{\"osds\":[" +
           listed(
               osds,
               [](const auto& one) {
                   return fmt::format(
                       R"({{"osd":{0},"uuid":"751fd807-bafa-4154-876b-{0:012}","up":{1},"in":{2},"weight":{2},"primary_affinity":1,"state":["exists"{3}]}})",
                       one.first, one.second.is_up ? 1 : 0, one.second.is_in ? 1 : 0,
                       one.second.is_up ? ",\"up\"" : "");
               }) +
           "]}";
}

std::string sim_ceph::osd_usage() const {
    return "{\"nodes\":[" +
           listed(
               osds,
               [](const auto& one) {
                   return fmt::format(
                       R"({{"id":{0},"device_class":"hdd","name":"osd.{0}","type":"osd","crush_weight":0.0019989013671875,"reweight":1,"kb":{1},"kb_used":175,"kb_used_data":0,"kb_used_omap":0,"kb_used_meta":0,"kb_avail":{2},"utilization":0.008344650268554688,"var":1,"pgs":12,"status":"up"}})",
                       one.first, osd_kib, osd_kib - 175);
               }) +
           "],\"stray\":[],\"summary\":{}}";
}

std::string sim_ceph::osd_status() const {
    std::string out = "ID  HOST   USED  AVAIL  WR OPS  WR DATA  RD OPS  RD DATA  STATE\n";
    for (const auto& [id, one] : osds) {
        const bool is_gone = !one.is_up && !one.is_in;
        out += fmt::format("{:2}  {:4}  {}     0        0       0        0   exists{}\n", id, is_gone ? "" : one.host,
                           is_gone ? "    0      0 " : " 175k  2047M", one.is_up ? ",up" : "");
    }
    return out;
}

std::optional<std::string> sim_ceph::answer(std::string_view command) const {
    struct row {
        std::string_view kind;
        std::string (sim_ceph::*text)() const;
    };
    static constexpr std::array rows{
        row{"health", &sim_ceph::health},         row{"status", &sim_ceph::status},
        row{"df plain", &sim_ceph::usage},        row{"df json", &sim_ceph::usage_json},
        row{"osd dump", &sim_ceph::osd_dump},     row{"osd df", &sim_ceph::osd_usage},
        row{"osd status", &sim_ceph::osd_status}, row{"osd pool stats", &sim_ceph::pool_recovery},
    };
    const auto found = std::ranges::find(rows, kind_of(command), &row::kind);
    return found == rows.end() ? std::nullopt : std::optional((this->*found->text)());
}

bool sim_ceph::has_said(const std::string& kind, const std::string& text) const {
    const auto found = said_.find(kind);
    return found != said_.end() && found->second.contains(text);
}

// ---- for one machine ------------------------------------------------------------------------------------------------

async::awaitable<result<void>> sim_ceph_cluster::reach(std::string about, bool of_manager, time_point deadline) {
    co_await async::yield();
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    ++of_.asked_;
    if (of_.refusal || of_.cut_off.contains(machine_)) {
        co_return of_.refusal ? *of_.refusal : failure(errc::unavailable, about, "no route to the monitors");
    }
    const bool is_silent = of_.hangs || (of_manager && !of_.has_manager);
    const time_point until = is_silent ? std::min(deadline, clock_.now() + monitor_limit) : clock_.now() + of_.takes;
    co_await async::sleep_until(clock_, until, "Ceph");
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    if (is_silent || of_.hangs) {
        co_return failure(errc::timed_out, about, "timed out");
    }
    co_return result<void>();
}

async::awaitable<result<std::string>> sim_ceph_cluster::command(std::string command, time_point deadline) {
    const auto reached = co_await reach(command, is_of_manager(command), deadline);
    if (!reached) {
        co_return reached.error();
    }
    if (!of_.wrong.empty()) {
        std::string lie = std::move(of_.wrong.front());
        of_.wrong.pop_front();
        // What is meant for people is published as it is.
        if (!is_json(command)) {
            of_.said_[kind_of(command)].insert(lie);
        }
        co_return lie;
    }
    auto text = of_.answer(command);
    if (!text) {
        co_return failure(errc::invalid, command, "command not known");
    }
    of_.said_[kind_of(command)].insert(*text);
    co_return *std::move(text);
}

async::awaitable<result<std::vector<model::pool_counters>>> sim_ceph_cluster::counters(std::vector<std::string> pools,
                                                                                       time_point deadline) {
    const auto reached = co_await reach("counters of pools", false, deadline);
    if (!reached) {
        co_return reached.error();
    }
    std::vector<model::pool_counters> all;
    for (auto& name : pools) {
        const auto found = of_.pools.find(name);
        if (found != of_.pools.end()) {
            all.push_back({.pool = std::move(name),
                           .object_copies = 16,
                           .reads = found->second.reads,
                           .read_kib = found->second.reads,
                           .writes = found->second.writes,
                           .written_kib = found->second.writes});
        }
    }
    co_return all;
}

async::awaitable<result<void>> sim_ceph_cluster::measure(time_point deadline) {
    co_await async::yield();
    ignore(deadline, "it answers at once");
    co_return result<void>();
}

}  // namespace pvc::sim
