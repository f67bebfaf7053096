// conf/pvcnoded.sample.yaml shows every key, and loads as it is.
#include "config_test_support.hpp"
#include "sample_keys.hpp"

#include <algorithm>

namespace pvc::config::test {
namespace {

TEST(sample, loads_without_a_word) {
    const auto got = load(sample());
    EXPECT_EQ(messages(got), lines{});
    EXPECT_EQ(settings(got)["node"], "pvchv1");
}

// Every key that the loader looks up stands in the file: as a key, or in a comment where it would cause a warning.
TEST(sample, has_every_key) {
    const auto text = sample();
    const auto known = load(text).known_keys;
    EXPECT_GT(known.size(), 100U);
    for (const auto& path : known) {
        const auto key = path.substr(path.rfind('.') + 1);
        if (is_only_in_comments(path)) {
            EXPECT_NE(text.find(key), std::string::npos) << path;
            continue;
        }
        std::string indent = "\n" + std::string(2 * static_cast<std::size_t>(std::ranges::count(path, '.')), ' ');
        const bool is_below_a_list = path.find("[]") != std::string::npos;
        indent += is_below_a_list && key == "phy" ? "- " : is_below_a_list ? "  " : "";
        EXPECT_NE(text.find(indent + key + ":"), std::string::npos) << path;
    }
}

// The guidance of config.md 5.9, by a phrase of each row.
TEST(sample, has_the_guidance_of_the_manuals) {
    std::string text = sample();
    for (auto at = text.find("\n"); at != std::string::npos; at = text.find('\n', at)) {  // comments as running text
        const auto next = std::min(text.find_first_not_of(" #", at + 1), text.size());
        text.replace(at, next - at, " ");
    }
    for (const auto* phrase :
         {"usually managed by the deployment automation", "Older releases named it pvcd.yaml", "10-30 s may fit better",
          "self-reset alone should not be relied upon", "usually equal to or less than fence_intervals",
          "migrate is dangerous. It clears the RBD locks", "(not recommended); suicide_intervals must be set",
          "mem suffices for most clusters", "memprov counts stopped and disabled VMs too",
          "Usually the device under the static networks (ens4, bond0)", "To be changed by advanced users only"}) {
        EXPECT_NE(text.find(phrase), std::string::npos) << phrase;
    }
}

TEST(sample, known_keys_cover_base) {
    EXPECT_EQ(load(sample()).known_keys.front(), "pvc");
    const auto known = load(base()).known_keys;
    for (const auto* path : {"pvc.node", "pvc.system.configuration.networking.sriov_device[].vfcount",
                             "pvc.system.fencing.intervals.suicide_interval", "pvc.cluster.coordinators"}) {
        EXPECT_TRUE(std::ranges::binary_search(known, path)) << path;
    }
}

}  // namespace
}  // namespace pvc::config::test
