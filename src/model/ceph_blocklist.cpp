#include "pvcnoded/model/ceph_blocklist.hpp"

#include "pvcnoded/base/text.hpp"

#include <boost/json/stream_parser.hpp>

#include <utility>

namespace pvc::model {

namespace json = boost::json;

namespace {

constexpr std::size_t depth_max = 8;
constexpr std::size_t entries_max = 100'000;
constexpr std::string_view subject = "blocklist of Ceph";

failure no_list() {
    return failure(errc::invalid, std::string(subject), "expected a list as JSON, got something else");
}

// The list that the text begins with; the text is what follows it then.
result<json::value> take_list(std::string_view& text) {
    json::parse_options options;
    options.max_depth = depth_max;
    json::stream_parser parser({}, options);
    json::error_code wrong;
    const std::size_t used = parser.write_some(text.data(), text.size(), wrong);
    if (wrong || !parser.done()) {
        return no_list();
    }
    json::value parsed = parser.release();
    if (!parsed.is_array()) {
        return no_list();
    }
    text.remove_prefix(used);
    return parsed;
}

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
    PVC_TRY(const json::value parsed, take_list(text));
    if (!trim(text).empty()) {
        PVC_TRY(const json::value ranges, take_list(text));
        ignore(ranges, "of whole networks, which name no client");
    }
    if (!trim(text).empty()) {
        return no_list();
    }
    if (parsed.get_array().size() > entries_max) {
        return failure(errc::too_large, std::string(subject), "more than 100,000 entries");
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
