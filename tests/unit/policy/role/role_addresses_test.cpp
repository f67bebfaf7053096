// networking.md 6: which addresses the primary has, and what is to be done of wanted and present (cases 36 to 38).
#include "pvcnoded/policy/role/role_addresses.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using enum address_wish;

host_address address_of(std::string_view text) {
    return *parse_host_address(text);
}

// "brcluster 10.0.0.254/24"
placed_address placed(const std::string& text) {
    const auto blank = text.find(' ');
    return {text.substr(0, blank), address_of(text.substr(blank + 1))};
}

std::vector<placed_address> all_placed(const std::vector<std::string>& texts) {
    std::vector<placed_address> all;
    for (const auto& text : texts) {
        all.push_back(placed(text));
    }
    return all;
}

config::node_config config_of(const std::string& storage_bridge) {
    config::node_config config;
    config.functions.networking = true;
    config.networks.upstream.bridge = "brupstream";
    config.networks.upstream.floating_ip = address_of("1.1.1.10/24");
    config.networks.cluster.bridge = "brcluster";
    config.networks.cluster.floating_ip = address_of("10.0.0.254/24");
    config.networks.storage.bridge = storage_bridge;
    config.networks.storage.floating_ip = address_of("10.1.0.254/16");
    return config;
}

TEST(role_addresses, case_36_three_bridges_and_lo_in_the_order_of_phases) {
    const auto all = role_addresses(config_of("brstorage"));
    std::string said;
    for (const auto& one : all) {
        said += std::string(to_text(one.taken_up)) + " " + one.where.text() + "\n";
    }
    EXPECT_EQ(said,
              "C 1.1.1.10/24 on brupstream\nD 10.0.0.254/24 on brcluster\nD 10.1.0.254/16 on brstorage\n"
              "E 169.254.169.254/32 on lo\n");
}

TEST(role_addresses, case_37_a_shared_device_has_one_bridge) {
    EXPECT_EQ(role_addresses(config_of("brcluster")).at(2).where, placed("brcluster 10.1.0.254/16"));
}

TEST(role_addresses, without_networking_there_are_none) {
    auto config = config_of("brstorage");
    config.functions.networking = false;
    EXPECT_TRUE(role_addresses(config).empty());
}

struct work_case {
    const char* what;
    std::vector<std::pair<std::string, address_wish>> users;
    std::vector<std::string> present;
    std::vector<std::string> add;
    std::vector<std::string> remove;
};

TEST(role_addresses, work) {
    const std::string a = "br 10.0.0.254/24";
    const std::string b = "br 10.1.0.254/24";
    const std::string own = "br 10.0.0.1/24";
    const work_case cases[] = {
        {"a wanted one is missing", {{a, wanted}}, {own}, {a}, {}},
        {"it is there", {{a, wanted}}, {own, a}, {}, {}},
        {"it is on another device", {{a, wanted}}, {"br2 10.0.0.254/24"}, {a}, {}},
        {"with another prefix length", {{a, wanted}}, {"br 10.0.0.254/32"}, {a}, {"br 10.0.0.254/32"}},
        {"twice", {{a, wanted}}, {a, "br 10.0.0.254/32"}, {}, {"br 10.0.0.254/32"}},
        {"an unwanted one is there", {{a, unwanted}}, {own, a}, {}, {a}},
        {"with another prefix length", {{a, unwanted}}, {"br 10.0.0.254/16"}, {}, {"br 10.0.0.254/16"}},
        {"it is not", {{a, unwanted}}, {own}, {}, {}},
        {"found, and nobody has decided", {{a, as_found}}, {a}, {}, {}},
        {"not found, likewise", {{a, as_found}}, {}, {}, {}},
        {"equal on one bridge: added once", {{a, wanted}, {a, wanted}}, {}, {a}, {}},
        {"one user is left", {{a, unwanted}, {a, wanted}}, {a}, {}, {}},
        {"the last one goes", {{a, unwanted}, {a, unwanted}}, {a}, {}, {a}},
        {"one found, one unwanted", {{a, unwanted}, {a, as_found}}, {a}, {}, {}},
        {"one found, one wanted", {{a, as_found}, {a, wanted}}, {}, {a}, {}},
        {"two lengths: the first who wants it",
         {{a, unwanted}, {"br 10.0.0.254/16", wanted}, {a, wanted}},
         {a},
         {"br 10.0.0.254/16"},
         {a}},
        {"each for itself", {{a, wanted}, {b, unwanted}}, {b}, {a}, {b}},
    };
    for (const auto& row : cases) {
        std::vector<role_address> all;
        for (const auto& [where, wish] : row.users) {
            all.push_back({"", role_phase::c, placed(where), wish});
        }
        const auto present = all_placed(row.present);
        const address_work expected{all_placed(row.add), all_placed(row.remove)};
        EXPECT_EQ(work_on(all, present), expected) << row.what;
    }
}

}  // namespace
}  // namespace pvc::policy
