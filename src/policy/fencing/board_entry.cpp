#include "pvcnoded/policy/fencing/board_entry.hpp"

#include "pvcnoded/base/board_account.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <cctype>

namespace pvc::policy {

namespace {

constexpr std::string_view begins_guid = "System GUID";
constexpr std::size_t guid_digits = 32;
constexpr std::string_view not_set = "null";  // the default of the configuration

std::string entry_trouble(std::string_view key, const std::optional<std::string>& value,
                          std::string (*find)(std::string_view)) {
    const auto trouble = value ? find(*value) : std::string("is missing");
    return trouble.empty() ? std::string() : "its key " + std::string(key) + " " + trouble;
}

}  // namespace

read_board_entry board_entry_of(const std::optional<std::string>& host, const std::optional<std::string>& user,
                                const std::optional<std::string>& password) {
    read_board_entry read{{host.value_or(""), user.value_or(""), secret(password.value_or(""))}, {}};
    for (const auto& trouble : {entry_trouble("ipmihostname", host, trouble_with_board_host),
                                entry_trouble("ipmiusername", user, trouble_with_board_user),
                                entry_trouble("ipmipassword", password, trouble_with_board_password)}) {
        if (read.trouble.empty()) {
            read.trouble = trouble;
        }
    }
    if (read.trouble.empty() && user == not_set && password == not_set) {
        read.trouble = "user and password of its board are not configured";
    }
    return read;
}

std::string read_board_guid(std::optional<int> status, std::string_view output) {
    if (status != 0) {
        return {};
    }
    for (const auto line : split(output, '\n')) {
        const auto colon = line.find(':');
        if (!line.starts_with(begins_guid) || colon == std::string_view::npos) {
            continue;
        }
        std::string guid(trim(line.substr(colon + 1)));
        std::ranges::transform(guid, guid.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        std::string digits = guid;
        std::erase(digits, '-');
        const bool is_hex = digits.size() == guid_digits &&
                            std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
        const bool is_set = is_hex && !std::ranges::all_of(digits, [&](char c) { return c == digits.front(); });
        return is_set ? guid : std::string();
    }
    return {};
}

}  // namespace pvc::policy
