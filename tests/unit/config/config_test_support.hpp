// Loading the newer manual's example (base file B of config.md 9) with edits.
#pragma once

#include "pvcnoded/config/load.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::config::test {

inline std::string file_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string data_path(const std::string& name) {
    return std::string(PVC_SOURCE_DIR) + "/tests/unit/config/data/" + name;
}

inline const std::string& base() {
    static const std::string text = file_text(data_path("newer-manual.yaml"));
    return text;
}

// `text` with `old_part`, which must occur exactly once, replaced.
inline std::string edited(std::string text, std::string_view old_part, std::string_view new_part) {
    const auto at = text.find(old_part);
    EXPECT_NE(at, std::string::npos) << "not in the text: " << old_part;
    if (at == std::string::npos) {
        return text;
    }
    EXPECT_EQ(text.find(old_part, at + 1), std::string::npos) << "more than once in the text: " << old_part;
    return text.replace(at, old_part.size(), new_part);
}

inline std::string base_with(std::string_view old_part, std::string_view new_part) {
    return edited(base(), old_part, new_part);
}

inline const std::string networking_path = "pvc.system.configuration.networking";
inline const std::string networking = networking_path + ".";

// B with a list of coordinators as YAML's flow style has it.
inline std::string with_coordinators(std::string_view list) {
    return base_with("    coordinators:\n      - pvchv1\n      - pvchv2\n      - pvchv3\n",
                     "    coordinators: " + std::string(list) + "\n");
}

// B for another host.
inline std::string base_for(const std::string& node) {
    return base_with("  node: pvchv1\n", "  node: " + node + "\n");
}

inline loaded load(std::string_view text, std::string_view hostname = "pvchv1", bool watchdog_device = true) {
    host_facts facts;
    facts.watchdog_device = watchdog_device;
    return load_text(text, "f", hostname, facts);
}

inline std::vector<std::string> messages(const loaded& from) {
    std::vector<std::string> out;
    for (const auto& each : from.diagnostics) {
        out.push_back(each.message());
    }
    return out;
}

using lines = std::vector<std::string>;

// All effective settings by name; empty and a failure if there is no configuration.
inline std::map<std::string, std::string> settings(const loaded& from) {
    EXPECT_TRUE(from.config.has_value()) << ::testing::PrintToString(messages(from));
    if (!from.config) {
        return {};
    }
    const auto all = effective_settings(*from.config);
    return {all.begin(), all.end()};
}

}  // namespace pvc::config::test
