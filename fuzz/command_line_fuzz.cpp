// The arguments, one a line.
// Covers: src/app/options.cpp
#include "fuzz_support.hpp"
#include "options.hpp"
#include "pvcnoded/base/text.hpp"

using namespace pvc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::string> arguments;
    if (size > 0) {
        for (const auto line : split(fuzz::text_of(data, size), '\n')) {
            arguments.emplace_back(line);
        }
    }
    const auto options = app::parse_options(arguments);
    const auto is_known = [](const std::string& argument) {
        return argument == "--check-config" || argument == "--version" || argument == "-V" || argument == "--help" ||
               argument == "-h" || argument == "--trust-config";
    };
    const bool only_trusts =
        std::ranges::all_of(arguments, [](const std::string& argument) { return argument == "--trust-config"; });
    PVC_ASSERT(options.problem.empty() || !std::ranges::all_of(arguments, is_known));
    PVC_ASSERT(options.what != app::mode::run || only_trusts || !options.problem.empty());
    PVC_ASSERT(!options.trusted || std::ranges::find(arguments, "--trust-config") != arguments.end());
    PVC_ASSERT(fuzz::is_one_line(options.problem) && options.problem.size() <= size + 64);
    PVC_ASSERT(app::version_text().ends_with('\n') && app::help_text().find("--check-config") != std::string::npos);
    return 0;
}
