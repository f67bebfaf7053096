#include "sim/world/defects.hpp"

#include "pvcnoded/base/planted.hpp"
#include "sim/world/random_run.hpp"
#include "sim/world/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <ostream>
#include <sstream>

namespace pvc::sim {

namespace {

struct planted_name {
    defect which;
    std::string_view name;
    std::string_view scenario{};  // that shows it, where random runs hardly ever come by
};
constexpr std::array names{
    planted_name{defect::none, "none"},
    planted_name{defect::blind_role_write, "blind_role_write"},
    planted_name{defect::forgotten_reread, "forgotten_reread"},
    planted_name{defect::forgotten_rearm, "forgotten_rearm"},
    planted_name{defect::lock_without_check, "lock_without_check"},
    planted_name{defect::wall_clock_cadence, "wall_clock_cadence"},
    planted_name{defect::lost_wakeup, "lost_wakeup"},
    planted_name{defect::lock_left_behind, "lock_left_behind"},
    planted_name{defect::unknown_create_forgotten, "unknown_create_forgotten"},
    planted_name{defect::dead_not_answered, "dead_not_answered"},
    planted_name{defect::isolation_unnoticed, "isolation_unnoticed"},
    planted_name{defect::disk_in_heartbeat, "disk_in_heartbeat"},
    planted_name{defect::stop_not_written, "stop_not_written"},
    planted_name{defect::schema_raised_alone, "schema_raised_alone"},
    planted_name{defect::schema_change_ignored, "schema_change_ignored"},
    planted_name{defect::role_kept, "role_kept"},
    planted_name{defect::figures_given_up, "figures_given_up"},
    planted_name{defect::nameless_wait, "nameless_wait"},
    planted_name{defect::log_without_end, "log_without_end"},
    planted_name{defect::run_after_shutdown, "run_after_shutdown"},
    planted_name{defect::create_unguarded, "create_unguarded", "guest-is-moved-while-it-waits-to-be-created"},
    planted_name{defect::placement_unchecked, "placement_unchecked", "guest-still-runs-where-nobody-hears"},
    planted_name{defect::foreign_lock_broken, "foreign_lock_broken"},
    planted_name{defect::target_not_asked, "target_not_asked", "guest-arrived-and-nobody-says-so"},
    planted_name{defect::blind_rollback, "blind_rollback"},
    planted_name{defect::blind_stop_write, "blind_stop_write"},
    planted_name{defect::arrived_too_early, "arrived_too_early"},
    planted_name{defect::end_not_listed, "end_not_listed"},
    planted_name{defect::sync_word_left, "sync_word_left", "guest-sender-dies-and-the-receiver-clears-the-word"},
    planted_name{defect::console_left, "console_left"},
    planted_name{defect::stale_listing, "stale_listing", "guest-listing-is-older-than-an-event"},
    planted_name{defect::unexpected_end_ignored, "unexpected_end_ignored", "guest-powers-off-by-itself"},
    planted_name{defect::stale_class_kept, "stale_class_kept", "guest-libvirt-is-away"},
};

// The same with the scenario that is said to show it.
bool judge_by_scenario(const planted_name& which, std::ostream& out) {
    for (const std::string_view folder : {"tests/sim/scenarios", "/usr/share/doc/pvcnoded/scenarios"}) {
        std::ifstream in(fmt::format("{}/{}.scenario", folder, which.scenario), std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        if (!in) {
            continue;
        }
        const auto script = parse_scenario(text.str());
        const std::string found = script ? run_scenario(*script).failed : std::string();
        out << fmt::format("{:26} {}  {}\n", which.name, which.scenario,
                           found.empty() ? "does not show it" : found.substr(0, 120));
        return !found.empty();
    }
    out << fmt::format("{:26} there is no scenario {}\n", which.name, which.scenario);
    return false;
}

// True: found, or, for `none`, nothing was found. Says which seed and what.
bool judge_one(std::string_view name, std::uint64_t first, std::uint64_t last, std::ostream& out) {
    for (std::uint64_t seed = first;; ++seed) {
        run_settings settings;
        settings.seed = seed;
        settings.nodes = std::nullopt;
        settings.length = std::chrono::minutes(30);
        settings.dense = true;
        const auto outcome = run_once(settings);
        if (outcome.broken) {
            out << fmt::format("{:26} seed {:3}  {}: {}\n", name, seed, outcome.broken->invariant,
                               outcome.broken->what.substr(0, 120));
            return name != "none";
        }
        if (seed == last) {
            break;
        }
    }
    out << fmt::format("{:26} nothing was found in seeds {}..{}\n", name, first, last);
    return name == "none";
}

}  // namespace

bool plant([[maybe_unused]] std::string_view name) {
#ifdef PVC_PLANTED_DEFECTS
    const auto found = std::ranges::find(names, name, &planted_name::name);
    if (found != names.end()) {
        planted_defect = found->which;
        return true;
    }
    return false;
#else
    return name == "none";
#endif
}

int judge_the_judge(std::string_view only, std::uint64_t first, std::uint64_t last, std::ostream& out,
                    std::ostream& error) {
    std::size_t passed = 0;
    std::size_t failed = 0;
    for (const auto& one : names) {
        if (!only.empty() && only != one.name) {
            continue;
        }
        if (!plant(one.name)) {
            error << "this program has no planted defects: build pvcnoded-sim-planted\n";
            return 2;
        }
        const bool is_found =
            one.scenario.empty() ? judge_one(one.name, first, last, out) : judge_by_scenario(one, out);
        ++(is_found ? passed : failed);
        out.flush();
    }
    plant("none");
    if (passed + failed == 0) {
        error << "no defect is called " << only << '\n';
        return 2;
    }
    out << fmt::format("{} passed, {} failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace pvc::sim
