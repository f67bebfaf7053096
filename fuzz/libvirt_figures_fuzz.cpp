// The list of names and values of libvirt's bulk statistics: one line each, "u name number", "i name number" or
// "s name text".
// Covers: src/hypervisor/figures_from_parameters.cpp src/hypervisor/domain_numbers.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/hypervisor/figures_from_parameters.hpp"

#include <set>
#include <string>
#include <vector>

using namespace pvc::hypervisor;

namespace {

std::vector<parameter> list_of(std::string_view rest) {
    std::vector<parameter> list;
    while (!rest.empty()) {
        auto line = pvc::fuzz::take_until(rest, '\n');
        const auto kind = pvc::fuzz::take_until(line, ' ');
        parameter one;
        one.name = std::string(pvc::fuzz::take_until(line, ' '));
        const auto number = pvc::parse_integer(line);
        if (kind == "u" && number && *number >= 0) {
            one.value = static_cast<std::uint64_t>(*number);
        } else if (kind == "i" && number) {
            one.value = *number;
        } else {
            one.value = std::string(line);
        }
        list.push_back(std::move(one));
    }
    return list;
}

template <class Figures>
void check_devices(const std::vector<Figures>& devices, std::size_t parameters) {
    PVC_ASSERT(devices.size() <= parameters);
    for (const auto& one : devices) {
        PVC_ASSERT(!one.target.empty());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto list = list_of(pvc::fuzz::text_of(data, size));
    guest who;
    who.name = "web";
    who.status = {pvc::model::run_state::running, pvc::model::pause_cause::none};
    const auto figures = figures_from_parameters(who, list);
    PVC_ASSERT(figures.of.name == "web");
    check_devices(figures.blocks, list.size());
    check_devices(figures.interfaces, list.size());
    std::set<std::string> names;
    for (const auto& [name, value] : figures.memory) {
        PVC_ASSERT(names.insert(name).second);
    }
    // What is unknown changes nothing, wherever it stands.
    auto more = list;
    more.insert(more.begin(), {"no.such.figure", std::uint64_t{7}});
    more.push_back({"block.count", std::uint64_t{4'000'000'000}});
    const auto again = figures_from_parameters(who, more);
    PVC_ASSERT(again.memory == figures.memory && again.vcpus == figures.vcpus &&
               again.cpu_time_ns == figures.cpu_time_ns && again.of.status == figures.of.status &&
               again.blocks.size() == figures.blocks.size() && again.interfaces.size() == figures.interfaces.size());
    return 0;
}
