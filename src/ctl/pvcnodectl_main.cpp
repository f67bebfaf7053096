// pvcnodectl: asks the node daemon of this host what it does.
#include "output.hpp"
#include "pvcnoded/ctl/run.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace pvc;

// Beside this program, as a build or a package has it; else wherever PATH has it.
std::string daemon_program() {
    std::array<char, 4096> room{};
    const ssize_t size = ::readlink("/proc/self/exe", room.data(), room.size());
    const std::string own(room.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    const std::string folder = own.substr(0, own.rfind('/') + 1);
    for (const auto& candidate : {folder + "pvcnoded", folder + "../sbin/pvcnoded"}) {
        if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    return "pvcnoded";
}

std::string config_file() {
    // tidy-allow(environment): the one place of this program that reads it
    const char* named = std::getenv("PVCD_CONFIG_FILE");
    return named == nullptr || *named == '\0' ? "/etc/pvc/pvcnoded.yaml" : named;
}

int printed(const std::string& text) {
    return ctl::put_all(stdout, text) ? ctl::exit_status::good : ctl::exit_status::refused;
}

}  // namespace

int main(int argc, char** argv) {
    const ctl::options options = ctl::parse_options({argv + 1, argv + argc});
    if (!options.problem.empty()) {
        ctl::put(stderr, "pvcnodectl: " + options.problem + "\n");
        return ctl::exit_status::usage;
    }
    if (options.wants_version) {
        return printed(fmt::format("pvcnodectl {} (protocol {})\n", PVC_VERSION, protocol::version));
    }
    if (!options.help.empty()) {
        return printed(options.help);
    }
    return ctl::run(options, {daemon_program(), config_file()});
}
