// From the text of pvcnoded.yaml to a node_config, or to every reason why not (config.md).
//
// load_text is pure: facts about the host come in as an argument, so that tests and the fuzzer see what production
// runs.
#pragma once

#include "pvcnoded/config/diagnostics.hpp"
#include "pvcnoded/config/node_config.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::config {

struct environment {
    std::optional<std::string> config_file;  // PVCD_CONFIG_FILE
    std::string hostname;                    // PVCD_HOSTNAME, else gethostname()
};

// What becomes of a file that somebody else than root and the running user can change, itself or by its folder: who can
// change it can have commands run as root.
enum class changeable_file : std::uint8_t { accepted, told, refused };

// What the file alone cannot tell. An empty function counts as "everything is there".
struct host_facts {
    bool watchdog_device = false;       // a kernel watchdog device exists (opening it would arm it)
    std::optional<unsigned> file_mode;  // permission bits of the file
    bool is_of_root_and_sudo = false;   // its owner is root, its group the one that this host calls sudo
    changeable_file others_can_change = changeable_file::accepted;
    std::string who_can_change;  // words about it; empty: nobody
    std::function<bool(const std::string&)> directory_exists;
    std::function<bool(const std::string&)> file_readable;
};

struct loaded {
    std::optional<node_config> config;    // there, unless a diagnostic is fatal
    std::vector<diagnostic> diagnostics;  // in the order of lines
    bool missing_variable = false;        // PVCD_CONFIG_FILE unset or empty: exit status 1, not 78
    std::vector<std::string> known_keys;  // every path that was looked up, sorted; list items as "[]"
};

// `text` may be anything; more than 1 MiB is refused. `hostname` is the full host name.
[[nodiscard]] loaded load_text(std::string_view text, std::string_view file_name, std::string_view hostname,
                               const host_facts& facts = {});

// Reads the file (at most 1 MiB + 1 byte of it); puts its mode, and looks at the file system for functions that are
// empty, into `facts`. Blocking; only at start.
[[nodiscard]] loaded load_file(const environment& from, host_facts facts = {});

// For --check-config: sorted by name; secrets as ********, booleans as true and false, no value as "none".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effective_settings(const node_config& config);

}  // namespace pvc::config
