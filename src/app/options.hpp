// The command line: --check-config [--strict] [--against-host], --trust-config, --version, --help. Everything else
// comes from the configuration file.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pvc::app {

enum class mode : std::uint8_t { run, check_configuration, version, help };

struct options {
    mode what = mode::run;
    bool strict = false;        // of a check: warnings count as errors
    bool against_host = false;  // of a check: also what would be changed of the host's network
    bool trusted = false;       // the configuration is taken whoever could change it
    std::string problem;        // not empty: a usage error
};

[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);
[[nodiscard]] std::string help_text();
[[nodiscard]] std::string version_text();

}  // namespace pvc::app
