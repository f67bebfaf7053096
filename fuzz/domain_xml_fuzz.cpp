// Domain XML, any bytes: a view or one located error that tells little of the text. A view that is written out again
// and read is the same view; a text that is cut is none.
// Covers: src/model/domain_xml.cpp src/model/xml_scan.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_xml.hpp"

#include <fmt/format.h>

using namespace pvc::model;

static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool is_plain =
            (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (static_cast<unsigned char>(c) >= 0x80);
        out += is_plain ? std::string(1, c) : fmt::format("&#{};", static_cast<unsigned>(c));
    }
    return out;
}

static std::string written(const domain_xml& view) {
    auto text =
        fmt::format("<domain><name>{}</name><uuid>{}</uuid><memory unit='MiB'>{}</memory><vcpu>{}</vcpu><devices>",
                    escaped(view.name), escaped(view.uuid), view.memory_mib, view.vcpus);
    for (const auto& disk : view.disks) {
        text += fmt::format("<disk type='{}'><source protocol='rbd' name='{}'/><target dev='{}'/></disk>",
                            disk.is_rbd ? "network" : "file", escaped(disk.source), escaped(disk.target));
    }
    for (const auto& interface : view.interfaces) {
        const bool is_direct = interface.type == "direct" && !interface.function.empty();
        text += fmt::format(
            "<interface type='{}'><mac address='{}'/><source bridge='{}'{}/><target dev='{}'/>{}</interface>",
            escaped(interface.type), escaped(interface.mac), escaped(interface.bridge),
            is_direct ? fmt::format(" mode='passthrough' dev='{}'", escaped(interface.function)) : "",
            escaped(interface.target),
            is_direct ? "" : fmt::format("<sriov_device>{}</sriov_device>", escaped(interface.function)));
    }
    if (view.graphics) {
        text += fmt::format("<graphics listen='{}' port='{}'/>", escaped(view.graphics->listen),
                            escaped(view.graphics->port));
    }
    return text + "</devices></domain>";
}

static bool are_equal(const domain_xml& a, const domain_xml& b) {
    const auto same_disk = [](const disk_view& x, const disk_view& y) {
        return x.target == y.target && x.source == y.source && x.is_rbd == y.is_rbd;
    };
    const auto same_interface = [](const interface_view& x, const interface_view& y) {
        return x.type == y.type && x.target == y.target && x.bridge == y.bridge && x.mac == y.mac &&
               x.function == y.function;
    };
    return a.name == b.name && a.uuid == b.uuid && a.memory_mib == b.memory_mib && a.vcpus == b.vcpus &&
           std::ranges::equal(a.disks, b.disks, same_disk) &&
           std::ranges::equal(a.interfaces, b.interfaces, same_interface) &&
           a.graphics.has_value() == b.graphics.has_value() &&
           (!a.graphics || (a.graphics->listen == b.graphics->listen && a.graphics->port == b.graphics->port));
}

static void check_view(std::string_view text, const domain_xml& view) {
    PVC_ASSERT(text.size() <= 1024UL * 1024 && text.find('\0') == std::string_view::npos);
    PVC_ASSERT(view.memory_mib >= 0 && view.disks.size() + view.interfaces.size() < 20'000);
    const auto volumes = rbd_volumes({}, view);
    for (const auto& disk : view.disks) {
        PVC_ASSERT(!disk.is_rbd || !disk.source.empty());
        PVC_ASSERT(!disk.is_rbd || std::ranges::find(volumes, disk.source) != volumes.end());
    }
    const auto vnc = vnc_text(view);
    PVC_ASSERT(vnc.empty() || std::ranges::count(vnc, ':') == 1);
    PVC_ASSERT(vnc.empty() == (!view.graphics || has_unusable_vnc_address(view)));

    const auto again = written(view);
    const auto reread = parse_domain_xml(again);
    // Long values grow when they are escaped, and no name is an element of its own.
    PVC_ASSERT((reread && are_equal(view, *reread)) || again.size() > 1024UL * 1024 || view.disks.size() > 5000);
    const auto commented = parse_domain_xml(
        "<!--<a>-->\n" + std::string(text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text) + "\n<!-- > -->");
    PVC_ASSERT(commented ? are_equal(view, *commented) : text.size() > 1024UL * 1000 || text.starts_with("<?"));
    const auto end = text.find_last_not_of(" \t\r\n\v\f");
    PVC_ASSERT(end != std::string_view::npos && text[end] == '>');
    PVC_ASSERT(!parse_domain_xml(text.substr(0, end)));
}

static void check_error(std::string_view text, const pvc::failure& error) {
    PVC_ASSERT(error.code() == pvc::errc::invalid || error.code() == pvc::errc::too_large);
    auto cause = std::string_view(error.cause());
    PVC_ASSERT(cause.starts_with("line ") && cause.size() < 160 && pvc::fuzz::is_printable_ascii(cause));
    cause.remove_prefix(5);
    const auto line = pvc::parse_integer(cause.substr(0, cause.find_first_of(",:")));
    PVC_ASSERT(line && *line >= 1 && *line <= std::ranges::count(text, '\n') + 1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    if (const auto view = parse_domain_xml(text)) {
        check_view(text, *view);
    } else {
        check_error(text, view.error());
    }
    return 0;
}
