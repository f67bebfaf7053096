// What clients write into /cmd/domains.
// Covers: src/model/domain_command.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_command.hpp"

using namespace pvc::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    for (const bool is_done : {true, false}) {
        const auto answer = command_answer(is_done, text);
        PVC_ASSERT(!parse_domain_command(answer) && answer.size() <= answer_bytes_max);
        PVC_ASSERT(text.starts_with(std::string_view(answer).substr(8)));
    }
    const auto command = parse_domain_command(text);
    if (!command) {
        return 0;
    }
    PVC_ASSERT(text.find(to_text(command->verb)) != std::string_view::npos);
    PVC_ASSERT(command->id || !command->fault.empty());
    PVC_ASSERT(pvc::fuzz::is_printable_ascii(command->fault) && command->fault.size() < 100);
    if (!command->fault.empty()) {
        PVC_ASSERT(command->device.empty());
        return 0;
    }
    // What is well-formed says the same in its shortest spelling.
    auto again = std::string(to_text(command->verb)) + " " + to_text(*command->id);
    if (command->verb == domain_verb::flush_locks) {
        PVC_ASSERT(command->device.empty());
    } else {
        const auto& device = command->device;
        PVC_ASSERT(device.starts_with('<') && device.ends_with('>') && device.size() < text.size());
        PVC_ASSERT(device.find("  ") == std::string::npos && device.find_first_of("\t\r\n\v\f") == std::string::npos);
        PVC_ASSERT(device.find('\0') == std::string::npos && device.find("<!DOCTYPE") == std::string::npos);
        again += " " + device;
    }
    PVC_ASSERT(parse_domain_command(again) == command);
    return 0;
}
