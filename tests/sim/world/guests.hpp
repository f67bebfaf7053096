// The virtual machines of a simulated cluster, as a client defines them: by number.
#pragma once

#include "pvcnoded/base/uuid.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace pvc::sim {

[[nodiscard]] uuid guest_id(std::int64_t number);
// Its key in ZooKeeper.
[[nodiscard]] const std::string& guest_root(std::int64_t number);
// Of a reference node in the storage network, by its place among them.
[[nodiscard]] std::string foreign_address(std::size_t index);
[[nodiscard]] std::string guest_image(std::int64_t number);
// All keys of a new machine in `stop`; `kind` is how its guest behaves (acpi, hang, dirty, off, reset).
[[nodiscard]] std::map<std::string, std::string> guest_keys(std::int64_t number, const std::string& node,
                                                            const std::string& kind);

}  // namespace pvc::sim
