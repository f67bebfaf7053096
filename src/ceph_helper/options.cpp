#include "pvcnoded/ceph_helper/options.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::ceph_helper {

options parse_options(const std::vector<std::string>& arguments) {
    options out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            out.wants_help = true;
            return out;
        }
        if (argument == "--version" || argument == "-V") {
            out.wants_version = true;
            return out;
        }
        if (argument != "--config" && argument != "--keyring") {
            out.problem = "unknown argument \"" + shown(argument) + "\"; see pvcnoded-ceph --help";
            return out;
        }
        if (i + 1 == arguments.size() || arguments[i + 1].empty()) {
            out.problem = argument + " needs a file; see pvcnoded-ceph --help";
            return out;
        }
        (argument == "--config" ? out.config_file : out.keyring) = arguments[++i];
    }
    if (out.config_file.empty() || out.keyring.empty()) {
        out.problem = "--config and --keyring are needed; see pvcnoded-ceph --help";
    }
    return out;
}

std::string help_text() {
    return "Usage: pvcnoded-ceph --config FILE --keyring FILE | --version | --help\n"
           "\n"
           "Asks Ceph for pvcnoded, which starts it when it needs it. It is of no use by itself: it reads requests "
           "from\n"
           "descriptor 3, a socket, answers there, and ends with it.\n"
           "\n"
           "  --config FILE   Ceph's configuration (ceph.conf)\n"
           "  --keyring FILE  the keyring of client.admin\n"
           "  --version       print the version\n"
           "  --help          print this text\n"
           "\n"
           "Exit status: 0 the socket ended, 1 a request was not understood, 2 usage error or no socket.\n";
}

}  // namespace pvc::ceph_helper
