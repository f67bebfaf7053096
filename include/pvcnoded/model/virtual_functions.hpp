// Network cards with virtual functions (SR-IOV), as their drivers tell of them, and one setting of such a function. A
// driver may leave out whatever it likes. Values. Specification: networking.md 4.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pvc::model {

enum class function_link : std::uint8_t { automatic, enable, disable };  // in the order of the kernel

[[nodiscard]] std::string_view to_text(function_link state);  // auto, enable, disable: as in the keys
[[nodiscard]] std::optional<function_link> parse_function_link(std::string_view text);

struct function_vlan {
    std::uint32_t id = 0;  // 0: none
    std::uint32_t qos = 0;
    friend bool operator==(const function_vlan&, const function_vlan&) = default;
};
struct function_rate {  // Mbit/s
    std::uint32_t min = 0;
    std::uint32_t max = 0;  // 0: no limit
    friend bool operator==(const function_rate&, const function_rate&) = default;
};
struct function_spoof_check {
    bool is_on = false;
    friend bool operator==(const function_spoof_check&, const function_spoof_check&) = default;
};
struct function_trust {
    bool is_on = false;
    friend bool operator==(const function_trust&, const function_trust&) = default;
};
struct function_query_rss {
    bool is_on = false;
    friend bool operator==(const function_query_rss&, const function_query_rss&) = default;
};

using function_setting =
    std::variant<function_vlan, function_rate, function_spoof_check, function_link, function_trust, function_query_rss>;

// "VLAN 101, QoS 3", "rate 0 to 1000 Mbit/s", "spoof check on", "link state auto".
[[nodiscard]] std::string to_text(const function_setting& setting);
// What it is a setting of: "VLAN", "rate", "spoof check", "link state", "trust", "RSS query".
[[nodiscard]] std::string_view kind_of(const function_setting& setting);

// Empty members: the driver does not report them.
struct virtual_function {
    int index = 0;
    std::string mac;  // "52:54:00:00:00:01"
    std::optional<function_vlan> vlan;
    std::optional<function_rate> rate;
    std::optional<bool> spoof_check;
    std::optional<function_link> link_state;
    std::optional<bool> trust;
    std::optional<bool> query_rss;
    std::string pci;  // "0000:3b:02.1"; "": not found

    friend bool operator==(const virtual_function&, const virtual_function&) = default;
};

struct physical_function {
    int link = 0;  // index: a card that was made anew is another one
    std::string name;
    int mtu = 0;
    std::vector<virtual_function> functions;  // by index

    [[nodiscard]] const virtual_function* find(int index) const;
    friend bool operator==(const physical_function&, const physical_function&) = default;
};

// Name and number of a function by the name of its key, "ens1f1v3": the last v with nothing but digits behind it.
// Empty: it is none.
struct function_name {
    std::string card;
    int index = 0;
    friend auto operator<=>(const function_name&, const function_name&) = default;
};
[[nodiscard]] std::optional<function_name> parse_function_name(std::string_view name);
[[nodiscard]] std::string to_text(const function_name& name);

// "52:54:00:00:00:01", in either case.
[[nodiscard]] bool is_mac_address(std::string_view text);

// "0000:3b:02.1" in its parts. Empty: it is none.
struct pci_address {
    std::string domain;
    std::string bus;
    std::string slot;
    std::string function;
    friend bool operator==(const pci_address&, const pci_address&) = default;
};
[[nodiscard]] std::optional<pci_address> parse_pci_address(std::string_view text);

}  // namespace pvc::model
