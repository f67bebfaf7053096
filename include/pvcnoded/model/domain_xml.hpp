// What the daemon reads from a libvirt domain XML, stored or live. The text itself is never changed.
//
// Total: any bytes give a view or one located error. Nothing outside the text is looked at: no DTD, no external entity.
// Limits: 1 MiB of text, 64 levels, 20,000 elements. Specification: vm-domains.md 12.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// A devices/disk element.
struct disk_view {
    std::string target;      // target dev
    std::string source;      // source name, else source file, else source dev (block devices); empty: no medium
    bool is_rbd = false;     // type network, protocol rbd: `source` is pool/[namespace/]image
    bool is_shared = false;  // <shareable/> or <readonly/>
    std::vector<std::string> images_below;  // RBD images that it is copied to (mirror) or based on (backingStore)
};
// A devices/interface element.
struct interface_view {
    std::string type;    // bridge, direct, hostdev, …
    std::string target;  // target dev; empty in a stored XML
    std::string bridge;  // source bridge
    std::string mac;     // mac address, as written
    // The virtual function of a network card that it is: source dev of a direct one that has its device for itself
    // (mode passthrough), the element sriov_device of a hostdev one, which is the clients' own. Empty: none.
    std::string function;
};
// The first devices/graphics element.
struct graphics_view {
    std::string listen;  // attribute, else the address of the first nested listen element of type address
    std::string port;
};
struct domain_xml {
    std::string name;
    std::string uuid;             // as written; empty if there is none
    std::int64_t memory_mib = 0;  // rounded down; 0 if missing, malformed, or of a unit that libvirt lacks
    unsigned vcpus = 0;
    std::vector<disk_view> disks;
    std::vector<interface_view> interfaces;
    std::optional<graphics_view> graphics;
};

// Errors: invalid ("line 3: …", what was expected and what was found), too_large.
[[nodiscard]] result<domain_xml> parse_domain_xml(std::string_view text);

// The value of the key `vnc`: "<listen>:<port>", "" without graphics or for an address with a colon (clients cannot
// parse that).
[[nodiscard]] std::string vnc_text(const domain_xml& live);
[[nodiscard]] bool has_unusable_vnc_address(const domain_xml& live);

// Union of the items of `rbdlist` (comma-separated, trimmed, without empty ones) and the RBD disks of the XML, in that
// order, each once (vm-domains.md 7).
[[nodiscard]] std::vector<std::string> rbd_volumes(std::string_view rbdlist, const domain_xml& stored);

}  // namespace pvc::model
