#include "adapter/settings.hpp"

#include "adapter/system_files.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <optional>

namespace pvc::netlink {

namespace {

// Empty: the key is none below that folder.
std::optional<std::string> path_of(const std::string& key) {
    const auto parts = split(key, '/');
    const bool is_inside =
        key.find('\0') == std::string::npos &&
        std::ranges::none_of(parts, [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
    return is_inside ? std::optional("/proc/sys/" + key) : std::nullopt;
}

failure no_such_key(const std::string& key) {
    return failure(errc::not_found, key, "this kernel has no such setting");
}

}  // namespace

result<std::string> read_setting(const std::string& key) {
    const auto path = path_of(key);
    if (!path) {
        return no_such_key(key);
    }
    auto value = read_system_file(*path);
    if (!value) {
        const auto& why = value.error();
        return why.code() == errc::not_found ? no_such_key(key) : failure(why.code(), key, why.cause());
    }
    return value;
}

result<void> write_setting(const std::string& key, const std::string& value) {
    const auto path = path_of(key);
    if (!path) {
        return failure(errc::refused, key, "it is no key below /proc/sys");
    }
    auto written = write_system_file(*path, value);
    if (!written) {
        const auto& why = written.error();
        return why.code() == errc::not_found ? no_such_key(key) : failure(why.code(), key, why.cause());
    }
    return {};
}

}  // namespace pvc::netlink
