// What can be done to a simulated cluster: to its nodes, its ZooKeeper ensemble, its disks and clocks, and by a client.
// One vocabulary for scenario files and for random runs: an action has a line of text that means it, and a random run
// that broke something can be written down as a scenario. The table of all kinds is in action.cpp.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

enum class action_kind : std::uint8_t {
    // a node and its process
    start,
    terminate,
    kill,
    power_off,
    pause,
    pause_with_answer,
    resume,
    upgrade,
    // its way to ZooKeeper
    cut,
    mend,
    drop,
    silence,
    end_silence,
    expire,
    close_session,
    latency,
    answer_delay,
    watch_delay,
    lag,
    hold_answers,
    release_answers,
    drop_next,
    lose_answer,
    // its machine
    step_clock,
    drift,
    suspend,
    hang_disk,
    break_disk,
    break_log,
    fill_pool,
    break_services,
    slow_services,
    break_figures,
    stop_libvirtd,
    kill_libvirtd,
    cut_hypervisor,
    break_storage,
    break_names,
    few_threads,
    // the servers
    stop_servers,
    start_servers,
    freeze_servers,
    thaw_servers,
    // a client, or somebody's mistake
    put,
    put_big,
    remove,
    make_primary,
    maintenance,
    hold_lock,
    break_lock,
    add_domains,
    // virtual machines, by number
    define_guest,
    set_guest,
    place_guest,
    order_node,
    undefine_guest,
    method_of_guest,
    lose_key,
    power_off_guest,
    crash_guest,
    fail_call,
    hang_call,
    delay_call,
    late_call,
    fail_migration,
    heal,
};
inline constexpr std::size_t action_kinds = static_cast<std::size_t>(action_kind::heal) + 1;

struct action {
    action() = default;
    explicit action(action_kind kind, std::string whom = {}) : what(kind), node(std::move(whom)) {}

    action_kind what = action_kind::heal;
    std::string node;         // whom it befalls; empty for kinds without
    duration amount{};        // a delay, or by how much
    std::int64_t number = 0;  // parts per million, a schema version, bytes, how many
    std::string path;
    std::string value;
    std::optional<duration> lasts;  // undone after that; empty: until somebody undoes it
    std::uint64_t after_steps = 0;  // so many steps of the simulation later: any suspension point
};

// What a kind takes, in this order: n node, d duration (may be negative), i number, p path, v the rest of the line.
struct action_info {
    action_kind kind;
    std::string_view name;
    std::string_view takes;
    bool can_last;
    std::string_view meaning;
};
[[nodiscard]] std::span<const action_info> all_actions();
[[nodiscard]] const action_info& info_of(action_kind kind);

// "cut hv1 for 10s", "kill hv2 after 17 steps", "put /config/maintenance true".
[[nodiscard]] std::string to_text(const action& what);
// Errors: invalid (what was expected and what stands there).
[[nodiscard]] result<action> parse_action(std::string_view line);

// "1.5s", "20ms", "-3h": the form of durations in scenarios.
[[nodiscard]] std::string duration_text(duration time);
[[nodiscard]] std::optional<duration> parse_duration(std::string_view text);

}  // namespace pvc::sim
