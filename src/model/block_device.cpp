#include "pvcnoded/model/block_device.hpp"

#include "pvcnoded/base/text.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace pvc::model {

namespace {

// Two levels of JSON for each of devices.
constexpr std::size_t lsblk_depth_max = 32;

failure bad_lsblk(std::string why) {
    return failure(errc::invalid, "lsblk", std::move(why));
}

// Null and absent are empty.
std::string lsblk_text(const boost::json::object& from, std::string_view name) {
    const auto* found = from.if_contains(name);
    const auto* text = found == nullptr ? nullptr : found->if_string();
    return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

// A number, in older versions as a text.
std::optional<std::int64_t> lsblk_bytes(const boost::json::object& from) {
    const auto* found = from.if_contains("size");
    const auto* number = found == nullptr ? nullptr : found->if_int64();
    const auto bytes = number != nullptr ? std::optional(*number) : parse_integer(lsblk_text(from, "size"));
    return bytes && *bytes >= 0 ? bytes : std::nullopt;
}

// Recursion is bounded by the depth of the JSON.
result<block_device> lsblk_device(const boost::json::value& from) {  // NOLINT(misc-no-recursion)
    const auto* fields = from.if_object();
    if (fields == nullptr) {
        return bad_lsblk("a device is no object");
    }
    block_device device{lsblk_text(*fields, "name"), lsblk_text(*fields, "type"), lsblk_text(*fields, "fstype"),
                        lsblk_text(*fields, "pttype"), lsblk_text(*fields, "mountpoint")};
    device.path = lsblk_text(*fields, "path");
    device.identity = {lsblk_text(*fields, "maj:min"), 0, lsblk_text(*fields, "wwn"), lsblk_text(*fields, "serial")};
    // What says nothing of its use must not look like an unused one.
    for (const auto* column : {"name", "path", "maj:min", "wwn", "serial", "type", "fstype", "pttype", "mountpoint"}) {
        const auto* value = fields->if_contains(column);
        if (value == nullptr || !(value->is_string() || value->is_null())) {
            return bad_lsblk("\"" + std::string(column) + "\" is missing or no text");
        }
    }
    if (device.name.empty() || device.type.empty()) {
        return bad_lsblk("a device without name or type");
    }
    const auto bytes = lsblk_bytes(*fields);
    if (device.identity.number.empty() || !bytes) {
        return bad_lsblk("a device without number or size");
    }
    device.identity.bytes = *bytes;
    if (const auto* above = fields->if_contains("children")) {
        const auto* list = above->if_array();
        if (list == nullptr) {
            return bad_lsblk("\"children\" is no list");
        }
        for (const auto& one : *list) {
            PVC_TRY(auto child, lsblk_device(one));
            device.above.push_back(std::move(child));
        }
    }
    return device;
}

}  // namespace

result<block_device> parse_block_device(std::string_view text) {
    if (text.size() > lsblk_bytes_max) {
        return bad_lsblk("its list is too long");
    }
    boost::json::parse_options how;
    how.max_depth = lsblk_depth_max;
    boost::json::error_code code;
    const auto parsed = boost::json::parse(boost::json::string_view(text.data(), text.size()), code, {}, how);
    if (code) {
        return bad_lsblk("its list is no JSON: " + code.message());
    }
    const auto* all = parsed.if_object();
    const auto* devices = all == nullptr ? nullptr : all->if_contains("blockdevices");
    const auto* list = devices == nullptr ? nullptr : devices->if_array();
    if (list == nullptr || list->size() != 1) {
        return bad_lsblk("it does not list one device");
    }
    return lsblk_device(list->front());
}

device_signatures parse_device_signatures(std::string_view text) {
    device_signatures found;
    for (const auto line : split(text.substr(0, lsblk_bytes_max), '\n')) {
        const auto name = line.substr(0, line.find('='));
        const auto value = trim(line.substr(std::min(name.size() + 1, line.size())));
        if (name == "TYPE") {
            found.content = value;
        } else if (name == "PTTYPE") {
            found.partition_table = value;
        }
    }
    return found;
}

}  // namespace pvc::model
