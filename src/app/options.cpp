#include "options.hpp"

#include "build_id.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/schema.hpp"

#include <fmt/format.h>

#ifndef PVC_VERSION
#define PVC_VERSION "unknown"
#endif

namespace pvc::app {

options parse_options(const std::vector<std::string>& arguments) {
    options out;
    for (const auto& argument : arguments) {
        if (argument == "--check-config") {
            out.what = mode::check_configuration;
        } else if (argument == "--strict") {
            out.strict = true;
        } else if (argument == "--against-host") {
            out.against_host = true;
        } else if (argument == "--trust-config") {
            out.trusted = true;
        } else if (argument == "--version" || argument == "-V") {
            out.what = mode::version;
            return out;
        } else if (argument == "--help" || argument == "-h") {
            out.what = mode::help;
            return out;
        } else {
            out.problem = fmt::format("unknown argument \"{}\"; see pvcnoded --help", ascii_only(argument));
            return out;
        }
    }
    if (out.strict && out.what != mode::check_configuration) {
        out.problem = "--strict goes with --check-config; see pvcnoded --help";
    }
    if (out.against_host && out.what != mode::check_configuration) {
        out.problem = "--against-host goes with --check-config; see pvcnoded --help";
    }
    return out;
}

std::string version_text() {
    return fmt::format("{} (schema versions 0 to {}; seen by peers as PVC 0.9.82, from schema 11 on as 1.0.3)\n",
                       implementation_text(), model::highest_schema);
}

std::string help_text() {
    return "Usage: pvcnoded [--check-config [--strict] [--against-host]] [--trust-config] | --version | --help\n"
           "\n"
           "The node daemon of a PVC cluster. Reads the file named by PVCD_CONFIG_FILE.\n"
           "\n"
           "  --check-config  validate the file, print the effective settings, touch nothing else\n"
           "  --strict        with it: warnings are errors\n"
           "  --against-host  with it: print what would be changed of this host's network, and change nothing\n"
           "  --trust-config  take the file although others could change it (tests)\n"
           "  --version       print the version\n"
           "  --help          print this text\n"
           "\n"
           "Environment:\n"
           "  PVCD_CONFIG_FILE   the configuration file; required\n"
           "  PVCD_HOSTNAME      used instead of the kernel's host name (tests, containers)\n"
           "  PVCD_SCHEMA_LIMIT  10 to 15: the schema version this node may be raised to\n"
           "  NOTIFY_SOCKET      where the supervisor is told READY=1, STATUS=, WATCHDOG=1 and STOPPING=1\n"
           "\n"
           "Signals: TERM, INT, QUIT stop in order; HUP reopens the log file; USR1 writes the task tree into the log.\n"
           "\n"
           "Exit status: 0 orderly stop, 1 environment failure, 2 usage error, 78 configuration error.\n";
}

}  // namespace pvc::app
