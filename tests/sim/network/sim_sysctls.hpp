// The settings below /proc/sys/net of one simulated machine: those of "all" and "default", and of each link, which has
// them as long as it is there (of IPv6 as long as its MTU allows that). A new link begins with what "default" says.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pvc::sim {

enum class sysctl_family : bool { v4, v6 };

class sim_sysctls {
public:
    sim_sysctls();

    void add_link(const std::string& name, sysctl_family family);
    void remove_link(const std::string& name, sysctl_family family);
    void rename_link(const std::string& from, const std::string& to);

    [[nodiscard]] std::optional<std::string> read(std::string_view key) const;
    // As the kernel takes it: whole numbers. Forwarding of "all", and its other name ip_forward, reach every link and
    // "default"; so does disable_ipv6 of "all". Errors: not_found, refused.
    result<void> write(const std::string& key, std::string_view value);
    // Each key with its value.
    [[nodiscard]] std::map<std::string, std::string> all() const { return {values_.begin(), values_.end()}; }
    // Of a link; 0 where there is no such key.
    [[nodiscard]] int of(std::string_view link, sysctl_family family, std::string_view name) const;

private:
    struct key_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    void copy_to_all(std::string_view folder, std::string_view name, const std::string& value);

    // Daemons read a dozen of them with each look: found by hash, and nothing depends on their order.
    std::unordered_map<std::string, std::string, key_hash, std::equal_to<>> values_;
};

}  // namespace pvc::sim
