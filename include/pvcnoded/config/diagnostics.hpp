// Everything that is wrong with a configuration file, collected: the daemon never stops at the first problem.
// Form of a message (config.md 2): <file>:<line>: <yaml.path>: <what>; expected <expectation>, got <value> (<type>)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::config {

enum class severity : std::uint8_t {
    fatal,    // no configuration comes out of this file; exit status 78
    error,    // start-up goes on; logged at level "e" (a setting that could cost data is not in effect)
    warning,  // start-up goes on; logged at level "w"
    info,     // nothing is wrong; logged at level "i", and no error with --strict
};

struct diagnostic {
    severity level = severity::fatal;
    std::string file;
    int line = 0;      // from 1; 0 = about the file as a whole
    std::string text;  // what follows the location

    // "<file>:<line>: <text>": for a sink that shows the level itself.
    [[nodiscard]] std::string located() const;
    // located() with the prefix "info: ", or "warning: ", unless it is fatal: for stderr.
    [[nodiscard]] std::string message() const;
};

class diagnostics {
public:
    explicit diagnostics(std::string file) : file_(std::move(file)) {}

    void add(severity level, int line, std::string text);
    [[nodiscard]] bool has_fatal() const;
    [[nodiscard]] const std::string& file() const { return file_; }
    // In the order of lines; of one line in the order of finding.
    [[nodiscard]] std::vector<diagnostic> take();

private:
    std::string file_;
    std::multimap<int, diagnostic> all_;  // by line; equal ones keep the order of finding
};

// One line of printable text, at most 80 characters: control characters become \xNN, the rest of a long one "...".
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace pvc::config
