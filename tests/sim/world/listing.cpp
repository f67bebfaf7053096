// What there is: `pvcnoded-sim list`.
#include "sim/world/listing.hpp"

#include "sim/world/registry.hpp"
#include "sim/world/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <vector>

namespace pvc::sim {

namespace {

// The scenarios of a folder with their titles: that of the source tree if we are in it, else the installed one.
void list_scenarios(std::ostream& out) {
    for (const std::string_view folder : {"tests/sim/scenarios", "/usr/share/doc/pvcnoded/scenarios"}) {
        std::error_code missing;
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
            if (entry.path().extension() == ".scenario") {
                files.push_back(entry.path());
            }
        }
        if (files.empty()) {
            continue;
        }
        std::ranges::sort(files);
        out << "scenarios in " << folder << ":\n";
        for (const auto& file : files) {
            std::ifstream in(file);
            std::string title;
            std::getline(in, title);
            out << fmt::format("  {:64} {}\n", file.filename().string(),
                               title.starts_with("# ") ? title.substr(2) : "");
        }
        return;
    }
}

}  // namespace

void list_all(std::ostream& out) {
    out << "actions (scenario lines, and the kinds of --faults):\n";
    for (const auto* one : all_subjects().actions()) {
        const action_kind& info = *one;
        std::string form(info.name);
        for (const char kind : info.takes) {
            form += kind == 'n'   ? " NODE"
                    : kind == 'd' ? " DURATION"
                    : kind == 'i' ? " NUMBER"
                    : kind == 'p' ? " PATH"
                                  : " VALUE";
        }
        form += info.can_last ? " [for DURATION]" : "";
        out << fmt::format("  {:42} {}\n", form, info.meaning);
    }
    out << "invariants, checked after every step:\n";
    for (const auto* one : all_subjects().rules()) {
        if (!one->name.empty()) {
            out << fmt::format("  {:24} {}\n", one->name, one->meaning);
        }
    }
    out << "progress, demanded once everything is healed:\n";
    for (const auto* one : all_subjects().conditions()) {
        out << fmt::format("  {:24} {}\n", one->name, one->meaning);
    }
    list_sweep(out);
    list_scenarios(out);
}

}  // namespace pvc::sim
