#include "sim/network/sim_sysctls.hpp"

#include <algorithm>
#include <charconv>
#include <span>

namespace pvc::sim {

namespace {

struct initial_value {
    std::string_view name;
    std::string_view all;
    std::string_view others;
};

// Of a kernel that nobody has told anything.
constexpr initial_value v4_values[] = {
    {"accept_redirects", "1", "1"},    {"accept_source_route", "0", "1"}, {"forwarding", "0", "0"},
    {"promote_secondaries", "0", "0"}, {"rp_filter", "0", "0"},           {"send_redirects", "1", "1"},
    {"arp_ignore", "0", "0"},          {"proxy_arp", "0", "0"},
};
constexpr initial_value v6_values[] = {
    {"accept_dad", "0", "1"},      {"accept_ra", "1", "1"},        {"accept_ra_defrtr", "1", "1"},
    {"accept_ra_pinfo", "1", "1"}, {"accept_redirects", "1", "1"}, {"accept_source_route", "0", "0"},
    {"autoconf", "1", "1"},        {"disable_ipv6", "0", "0"},     {"forwarding", "0", "0"},
    {"use_tempaddr", "0", "0"},    {"proxy_ndp", "0", "0"},
};

constexpr std::string_view folder_of(sysctl_family family) {
    return family == sysctl_family::v4 ? "net/ipv4/conf/" : "net/ipv6/conf/";
}

std::span<const initial_value> values_of(sysctl_family family) {
    return family == sysctl_family::v4 ? std::span<const initial_value>(v4_values)
                                       : std::span<const initial_value>(v6_values);
}

std::string key_of(std::string_view folder, std::string_view link, std::string_view name) {
    std::string key;
    key.reserve(folder.size() + link.size() + 1 + name.size());
    return key.append(folder).append(link).append("/").append(name);
}

// Nothing that leads elsewhere.
bool is_key(std::string_view key) {
    while (!key.empty()) {
        const auto part = key.substr(0, key.find('/'));
        if (part.empty() || part == "." || part == ".." || part.size() + 1 == key.size()) {
            return false;
        }
        key.remove_prefix(std::min(key.size(), part.size() + 1));
        if (key.empty()) {
            return true;
        }
    }
    return false;
}

std::string_view real_key(std::string_view key) {
    return key == "net/ipv4/ip_forward" ? "net/ipv4/conf/all/forwarding" : key;
}

}  // namespace

sim_sysctls::sim_sysctls() {
    for (const auto family : {sysctl_family::v4, sysctl_family::v6}) {
        for (const auto& one : values_of(family)) {
            values_.emplace(key_of(folder_of(family), "all", one.name), one.all);
            values_.emplace(key_of(folder_of(family), "default", one.name), one.others);
        }
    }
}

void sim_sysctls::add_link(const std::string& name, sysctl_family family) {
    for (const auto& one : values_of(family)) {
        values_[key_of(folder_of(family), name, one.name)] = values_.at(key_of(folder_of(family), "default", one.name));
    }
}

void sim_sysctls::remove_link(const std::string& name, sysctl_family family) {
    for (const auto& one : values_of(family)) {
        values_.erase(key_of(folder_of(family), name, one.name));
    }
}

void sim_sysctls::rename_link(const std::string& from, const std::string& to) {
    for (const auto family : {sysctl_family::v4, sysctl_family::v6}) {
        for (const auto& one : values_of(family)) {
            if (auto node = values_.extract(key_of(folder_of(family), from, one.name))) {
                node.key() = key_of(folder_of(family), to, one.name);
                values_.insert(std::move(node));
            }
        }
    }
}

std::optional<std::string> sim_sysctls::read(std::string_view key) const {
    const auto found = values_.find(real_key(key));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

int sim_sysctls::of(std::string_view link, sysctl_family family, std::string_view name) const {
    const auto found = values_.find(key_of(folder_of(family), link, name));
    int value = 0;
    if (found != values_.end()) {
        const auto& text = found->second;
        std::from_chars(text.data(), text.data() + text.size(), value);
    }
    return value;
}

void sim_sysctls::copy_to_all(std::string_view folder, std::string_view name, const std::string& value) {
    for (auto& [key, now] : values_) {
        if (key.starts_with(folder) && key.ends_with(std::string("/").append(name))) {
            now = value;
        }
    }
}

result<void> sim_sysctls::write(const std::string& key, std::string_view value) {
    if (!is_key(key)) {
        return failure(errc::refused, key, "it is no key below /proc/sys");
    }
    const auto found = values_.find(real_key(key));
    if (found == values_.end()) {
        return failure(errc::not_found, key, "No such file or directory");
    }
    int number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    if (value.empty() || read.ec != std::errc() || read.ptr != value.data() + value.size()) {
        return failure(errc::refused, key, "Invalid argument");
    }
    const bool has_changed = found->second != std::to_string(number);
    found->second = std::to_string(number);
    const std::string& written = found->first;
    if (written == "net/ipv4/conf/all/forwarding" && has_changed) {
        values_["net/ipv4/conf/all/accept_redirects"] = number == 0 ? "1" : "0";
    }
    if (written == "net/ipv4/conf/all/forwarding" || written == "net/ipv6/conf/all/forwarding" ||
        written == "net/ipv6/conf/all/disable_ipv6") {
        copy_to_all(written.substr(0, written.find("all/")), written.substr(written.rfind('/') + 1), found->second);
    }
    return {};
}

}  // namespace pvc::sim
