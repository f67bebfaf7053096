#include "pvcnoded/model/ceph_blocklist.hpp"

#include <boost/json/parse.hpp>

#include <utility>

namespace pvc::model {

namespace json = boost::json;

namespace {

constexpr std::size_t depth_max = 8;
constexpr std::size_t entries_max = 100'000;

std::string_view without_kind(std::string_view address) {
    for (const std::string_view kind : {"v1:", "v2:", "any:"}) {
        if (address.starts_with(kind)) {
            return address.substr(kind.size());
        }
    }
    return address;
}

}  // namespace

result<std::vector<std::string>> parse_ceph_blocklist(std::string_view text) {
    constexpr std::string_view name = "blocklist of Ceph";
    json::parse_options options;
    options.max_depth = depth_max;
    json::error_code wrong;
    const json::value parsed = json::parse(json::string_view(text.data(), text.size()), wrong, {}, options);
    if (wrong || !parsed.is_array()) {
        return failure(errc::invalid, std::string(name), "expected a list as JSON, got something else");
    }
    if (parsed.get_array().size() > entries_max) {
        return failure(errc::too_large, std::string(name), "more than 100,000 entries");
    }
    std::vector<std::string> all;
    for (const auto& one : parsed.get_array()) {
        const json::object* entry = one.if_object();
        const json::value* address = entry == nullptr ? nullptr : entry->if_contains("addr");
        if (address != nullptr && address->is_string()) {
            all.emplace_back(address->get_string());
        }
    }
    return all;
}

bool is_same_client(std::string_view one, std::string_view other) {
    return without_kind(one) == without_kind(other);
}

}  // namespace pvc::model
