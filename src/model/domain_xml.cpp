#include "pvcnoded/model/domain_xml.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "xml_scan.hpp"

#include <pugixml.hpp>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace pvc::model {

namespace {

std::string_view expected_instead_of(pugi::xml_parse_status status) {
    switch (status) {
        case pugi::status_bad_pi: return "a processing instruction";
        case pugi::status_bad_comment: return "a comment";
        case pugi::status_bad_cdata: return "a CDATA section";
        case pugi::status_bad_pcdata: return "text";
        case pugi::status_bad_start_element: return "a start tag";
        case pugi::status_bad_attribute: return "an attribute with a value in quotes";
        case pugi::status_bad_end_element: return "an end tag";
        case pugi::status_end_element_mismatch: return "the end tag of the open element";
        case pugi::status_no_document_element: return "the element domain";
        default: return "a tag";
    }
}

failure error_of(std::string_view text, const pugi::xml_parse_result& outcome) {
    if (outcome.status == pugi::status_out_of_memory) {
        return failure(errc::too_large, "domain XML", "line 1: not enough memory");
    }
    const auto offset =
        outcome.status == pugi::status_no_document_element ? text.size() : static_cast<std::size_t>(outcome.offset);
    return xml_error(text, offset, expected_instead_of(outcome.status), outcome.status != pugi::status_bad_attribute);
}

// The text of an element; comments and CDATA sections may cut it into pieces.
std::string text_of(pugi::xml_node element) {
    std::string text;
    for (const auto piece : element.children()) {
        if (piece.type() == pugi::node_pcdata || piece.type() == pugi::node_cdata) {
            text += piece.value();
        }
    }
    return text;
}

std::string trimmed_text_of(pugi::xml_node element) {
    return std::string(trim(text_of(element)));
}

// A client can write any number. No more than this is taken from it, so that the sum of a million domains is still a
// number, and one that makes the node look full.
constexpr std::int64_t memory_bytes_max = std::int64_t{1} << 60U;
constexpr std::int64_t bytes_of_mib = std::int64_t{1} << 20U;

// How many bytes libvirt takes a unit for, in any case of letters; none: it knows no such unit.
std::optional<std::int64_t> bytes_of_unit(std::string_view unit) {
    const std::string name = unit.empty() ? "kib" : lower(unit);
    if (name == "b" || name == "byte" || name == "bytes") {
        return 1;
    }
    constexpr std::string_view letters = "kmgtpe";
    const std::string_view rest = std::string_view(name).substr(1);
    const auto power = letters.find(name.front());
    if (power == std::string_view::npos || !(rest.empty() || rest == "ib" || rest == "b")) {
        return std::nullopt;
    }
    std::int64_t bytes = 1;
    for (std::size_t step = 0; step <= power; ++step) {
        bytes *= rest == "b" ? 1000 : 1024;
    }
    return bytes;
}

std::int64_t mib_of(pugi::xml_node memory) {
    const auto value = parse_integer(trimmed_text_of(memory)).value_or(0);
    const auto unit = bytes_of_unit(memory.attribute("unit").value());
    if (value < 0 || !unit) {
        return 0;
    }
    return (value > memory_bytes_max / *unit ? memory_bytes_max : value * *unit) / bytes_of_mib;
}

unsigned count_of(pugi::xml_node vcpus) {
    const auto value = parse_integer(trimmed_text_of(vcpus)).value_or(0);
    return value < 0 || value > std::numeric_limits<unsigned>::max() ? 0U : static_cast<unsigned>(value);
}

std::string_view rbd_image_of(pugi::xml_node source) {
    return std::string_view(source.attribute("protocol").value()) == "rbd" ? source.attribute("name").value() : "";
}

// A chain of them, each below the one that is based on it.
void add_images(pugi::xml_node first, std::vector<std::string>& to) {
    for (auto one = first; one; one = one.child("backingStore")) {
        if (const std::string_view image = rbd_image_of(one.child("source")); !image.empty()) {
            to.emplace_back(image);
        }
    }
}

disk_view view_of_disk(pugi::xml_node disk) {
    const auto source = disk.child("source");
    const std::string_view name = source.attribute("name").value();
    const bool is_rbd = std::string_view(disk.attribute("type").value()) == "network" &&
                        std::string_view(source.attribute("protocol").value()) == "rbd";
    const std::string_view file = source.attribute("file").value();
    const std::string_view device = source.attribute("dev").value();
    disk_view view{.target = disk.child("target").attribute("dev").value(),
                   .source = std::string(!name.empty() ? name : (!file.empty() ? file : device)),
                   .is_rbd = is_rbd && !name.empty(),
                   .is_shared = disk.child("shareable") || disk.child("readonly"),
                   .images_below = {}};
    add_images(disk.child("backingStore"), view.images_below);
    add_images(disk.child("mirror"), view.images_below);
    return view;
}

interface_view view_of_interface(pugi::xml_node interface) {
    const auto source = interface.child("source");
    interface_view view{interface.attribute("type").value(),
                        interface.child("target").attribute("dev").value(),
                        source.attribute("bridge").value(),
                        interface.child("mac").attribute("address").value(),
                        {}};
    if (view.type == "direct" && std::string_view(source.attribute("mode").value()) == "passthrough") {
        view.function = source.attribute("dev").value();
    } else if (view.type == "hostdev") {
        view.function = trimmed_text_of(interface.child("sriov_device"));
    }
    return view;
}

graphics_view view_of_graphics(pugi::xml_node graphics) {
    auto listen = graphics.attribute("listen");
    if (!listen) {
        listen = graphics.find_child_by_attribute("listen", "type", "address").attribute("address");
    }
    return {listen.value(), graphics.attribute("port").value()};
}

domain_xml view_of(pugi::xml_node domain) {
    domain_xml view;
    view.name = text_of(domain.child("name"));
    view.uuid = trimmed_text_of(domain.child("uuid"));
    view.memory_mib = mib_of(domain.child("memory"));
    view.vcpus = count_of(domain.child("vcpu"));
    for (const auto devices : domain.children("devices")) {
        for (const auto disk : devices.children("disk")) {
            view.disks.push_back(view_of_disk(disk));
        }
        for (const auto interface : devices.children("interface")) {
            view.interfaces.push_back(view_of_interface(interface));
        }
        const auto graphics = devices.child("graphics");
        if (graphics && !view.graphics) {
            view.graphics = view_of_graphics(graphics);
        }
    }
    return view;
}

}  // namespace

result<domain_xml> parse_domain_xml(std::string_view text) {
    if (auto scanned = scan_xml(text, {}); !scanned) {
        return std::move(scanned).error();
    }
    pugi::xml_document document;
    const auto outcome = document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!outcome) {
        return error_of(text, outcome);
    }
    const auto root = document.document_element();
    if (std::string_view(root.name()) != "domain") {
        // The offset is that of the name.
        return xml_error(text, static_cast<std::size_t>(root.offset_debug()) - 1, "the element domain");
    }
    return view_of(root);
}

bool has_unusable_vnc_address(const domain_xml& live) {
    return live.graphics &&
           (live.graphics->listen.find(':') != std::string::npos || live.graphics->port.find(':') != std::string::npos);
}

std::string vnc_text(const domain_xml& live) {
    if (!live.graphics || has_unusable_vnc_address(live)) {
        return {};
    }
    return live.graphics->listen + ':' + live.graphics->port;
}

std::vector<std::string> rbd_volumes(std::string_view rbdlist, const domain_xml& stored) {
    auto candidates = parse_comma_list(rbdlist);
    for (const auto& disk : stored.disks) {
        if (disk.is_rbd) {
            candidates.push_back(disk.source);
        }
    }
    std::vector<std::string> volumes;
    std::unordered_set<std::string_view> seen;
    for (const auto& candidate : candidates) {
        if (seen.insert(candidate).second) {
            volumes.push_back(candidate);
        }
    }
    return volumes;
}

}  // namespace pvc::model
