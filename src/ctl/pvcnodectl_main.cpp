// pvcnodectl: asks the node daemon of this host what it does.
#include "pvcnoded/ctl/client.hpp"
#include "pvcnoded/ctl/options.hpp"
#include "pvcnoded/ctl/tables.hpp"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include <unistd.h>

#include <cstdio>

namespace {

using namespace pvc;

int report(const std::string& text, int status) {
    fmt::print(stderr, "pvcnodectl: {}\n", text);
    return status;
}

int report_failure(const failure& why, const std::string& socket) {
    switch (why.code()) {
        case errc::not_found:
        case errc::unavailable:
            return report(
                fmt::format(
                    "no pvcnoded listens at {} ({})\n"
                    "Does it run? systemctl status pvcnoded. Is its dynamic_directory another one? --socket PATH",
                    socket, why.cause()),
                ctl::exit_status::no_daemon);
        case errc::refused:
            return report(fmt::format("{}: {}; root may ask, and the members of configuration.control.group", socket,
                                      why.cause()),
                          ctl::exit_status::forbidden);
        case errc::timed_out:
            return report(fmt::format("{}: no answer in time: the daemon stands still or has very much to do", socket),
                          ctl::exit_status::no_answer);
        default: return report(why.text(), ctl::exit_status::not_understood);
    }
}

int run(const ctl::options& options) {
    const auto answer = ctl::ask(options.socket, options.asked);
    if (!answer) {
        return report_failure(answer.error(), options.socket);
    }
    if (answer->error) {
        const bool is_forbidden = answer->error->what == protocol::problem::refused;
        return report(answer->error->text, is_forbidden ? ctl::exit_status::forbidden : ctl::exit_status::refused);
    }
    if (options.as_json) {
        fmt::print("{}\n", boost::json::serialize(answer->result));
    } else {
        fmt::print("{}", ctl::table(options.asked.name, answer->result, isatty(STDOUT_FILENO) == 1));
    }
    return std::fflush(stdout) == 0 ? ctl::exit_status::good : ctl::exit_status::refused;
}

}  // namespace

int main(int argc, char** argv) {
    const ctl::options options = ctl::parse_options({argv + 1, argv + argc});
    if (!options.problem.empty()) {
        return report(options.problem, ctl::exit_status::usage);
    }
    if (options.wants_version) {
        fmt::print("pvcnodectl {} (protocol {})\n", PVC_VERSION, protocol::version);
        return ctl::exit_status::good;
    }
    if (!options.help.empty()) {
        fmt::print("{}", options.help);
        return ctl::exit_status::good;
    }
    return run(options);
}
