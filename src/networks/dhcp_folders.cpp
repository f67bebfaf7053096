#include "dhcp_folders.hpp"

#include "own_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace pvc::networks {

namespace {

constexpr std::uint32_t dhcp_folder_mode = 0755;
constexpr duration between_folder_checks = std::chrono::seconds(30);

}  // namespace

dhcp_networks dhcp_networks_of(const std::map<std::uint32_t, network_row>& rows) {
    dhcp_networks all;
    for (const auto& [vni, row] : rows) {
        if (row.is_gone) {
            continue;
        }
        if (!row.wanted) {
            all.unclear.insert(vni);
        } else if (row.wanted->type == model::network_type::managed) {
            all.managed.insert(vni);
        }
    }
    return all;
}

dhcp_folders::dhcp_folders(core::node_context& node)
    : node_(node), remarks_(node.log), folder_(node.config->directories.dynamic + "/dnsmasq") {}

void dhcp_folders::want(dhcp_networks networks) {
    if (wanted_ && *wanted_ == networks) {
        return;
    }
    wanted_ = std::make_shared<const dhcp_networks>(std::move(networks));
    pause_.succeeded();  // what failed were others
    changed_.notify();
}

async::awaitable<void> dhcp_folders::run() {
    for (;;) {
        const auto networks = wanted_;
        if (networks && pause_.is_over(node_.clock().now())) {
            const bool is_kept = co_await keep(networks);
            if (is_kept) {
                pause_.succeeded();
            } else if (networks == wanted_) {
                pause_.failed(node_.clock().now());
            }
        }
        const time_point next = pause_.until().value_or(node_.clock().now() + between_folder_checks);
        co_await changed_.wait_until(node_.clock(), next, "other networks, another try, or a look at the directories");
    }
}

// Numbers of networks under which there is something else: a symbolic link leads to what is somebody else's, and what
// DHCP writes would go there.
std::set<std::uint32_t> dhcp_folders::in_place_of_folders() const {
    const auto all = node_.port.host.list_files(folder_);
    const auto folders = node_.port.host.list_folders(folder_);
    std::set<std::uint32_t> found;
    for (const auto& name : all&& folders ? *all : std::vector<std::string>()) {
        const auto vni = model::vni_of(name, "");
        if (vni && std::ranges::find(*folders, name) == folders->end()) {
            found.insert(*vni);
        }
    }
    return found;
}

// Of what is gone first: who was told of a removal shall not find its reservations.
result<std::vector<dhcp_folders::step>> dhcp_folders::steps_for(const dhcp_networks& networks) const {
    if (auto may_be = may_be_folder(node_.port.host, node_.config->directories.dynamic, "dnsmasq"); !may_be) {
        return std::move(may_be).error();
    }
    const auto names = node_.port.host.list_folders(folder_);
    if (!names && names.error().code() != errc::not_found) {
        return names.error();
    }
    std::vector<step> steps;
    auto there = in_place_of_folders();
    for (const auto& name : names ? *names : std::vector<std::string>()) {
        const auto vni = model::vni_of(name, "");
        if (!vni) {
            continue;  // not of a network
        }
        there.insert(*vni);
        if (!networks.managed.contains(*vni) && !networks.unclear.contains(*vni)) {
            steps.push_back({folder_ + "/" + name, false});
        }
    }
    for (const auto vni : networks.managed) {
        if (!there.contains(vni)) {
            steps.push_back({folder_ + "/" + std::to_string(vni), true});
        }
    }
    return steps;
}

async::awaitable<result<void>> dhcp_folders::carry_out(step one) {
    if (one.is_made) {
        auto made = co_await node_.port.host.make_directory(one.path, dhcp_folder_mode, "");
        co_return made;
    }
    auto removed = co_await node_.port.host.remove_folder(one.path);
    co_return removed;
}

async::awaitable<bool> dhcp_folders::keep(std::shared_ptr<const dhcp_networks> networks) {
    std::optional<failure> trouble;
    std::set<std::uint32_t> others;
    auto steps = steps_for(*networks);
    if (steps) {
        others = in_place_of_folders();
    } else {
        trouble = steps.error();
        steps = std::vector<step>();
    }
    for (const auto& one : *steps) {
        if (networks != wanted_) {
            co_return false;
        }
        auto done = co_await carry_out(one);
        if (done) {
            continue;
        }
        trouble = trouble.value_or(done.error());
        if (done.error().code() == errc::timed_out) {
            break;  // the disk hangs: the next would wait for it as long
        }
    }
    std::vector<policy::network_remark> said;
    for (const auto vni : others) {
        if (!networks->managed.contains(vni)) {
            said.push_back({message::network_left_alone, false,
                            fmt::format("{}/{}: {}: it is left alone", folder_, vni, is_no_folder)});
        } else if (!trouble) {
            trouble.emplace(errc::refused, fmt::format("{}/{}", folder_, vni), std::string(is_no_folder));
        }
    }
    if (trouble) {
        said.push_back({message::network_failed, false,
                        "the directories of client networks for DHCP are not as they shall be: " + trouble->text() +
                            ", trying again"});
    }
    remarks_.tell("directories for DHCP", std::move(said));
    co_return !trouble;
}

}  // namespace pvc::networks
