// The command line: --config FILE --keyring FILE, --version, --help.
#pragma once

#include <string>
#include <vector>

namespace pvc::ceph_helper {

struct options {
    std::string config_file;
    std::string keyring;
    bool wants_help = false;
    bool wants_version = false;
    std::string problem;  // not empty: a usage error
};

[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);
[[nodiscard]] std::string help_text();

}  // namespace pvc::ceph_helper
