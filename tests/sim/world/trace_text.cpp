#include "sim/world/trace_text.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <ostream>

namespace pvc::sim {

namespace {

constexpr std::size_t longest_traced = 160;

std::string guest_text(const sim_guest& guest) {
    const auto status = guest.status();
    return std::string(sim::to_text(status.state)) +
           (guest.executes() ? "" : " (" + std::string(model::to_text(status.cause)) + ")");
}

}  // namespace

trace_text::trace_text(cluster& world, std::ostream& out, std::function<bool()> is_on)
    : world_(world), out_(out), is_on_(std::move(is_on)) {
    world_.ensemble.observe([this](const recorded_change& change) {
        if (change.what == recorded_kind::check || !is_on_()) {
            return;
        }
        const bool is_member = change.owner > 0 && change.owner <= world_.members.size();
        std::string text = fmt::format("0x{:x} {}", change.zxid, to_text(change.what));
        if (!change.path.empty()) {
            text += ' ' + change.path;
        }
        if (change.what == recorded_kind::create || change.what == recorded_kind::set) {
            text += " = " + change.data.substr(0, longest_traced);
        }
        const bool is_foreign = change.owner >= cluster::first_foreign_number &&
                                change.owner - cluster::first_foreign_number < world_.foreigners.size();
        line(is_member    ? world_.members[change.owner - 1]->name()
             : is_foreign ? world_.foreigners[change.owner - cluster::first_foreign_number]->settings.name
                          : "client",
             text);
    });
    world_.on_action = [this](const action& what) { line("*", to_text(what)); };
    world_.on_exit = [this, before = world_.on_exit](member& one) {
        const std::string why = one.node.complaints.empty() ? "" : ": " + one.node.complaints.back();
        line(one.name(), fmt::format("ended with status {}{}", *one.last_exit, why));
        if (before) {
            before(one);
        }
    };
    world_.on_hypervisor_call.emplace_back(
        [this](const std::string& machine, const std::string& call) { line(machine, "libvirt " + call); });
    world_.on_program.emplace_back(
        [this](const std::string& machine, const std::string& program) { line(machine, "runs " + program); });
    world_.on_guest_change.emplace_back([this](const std::string& machine, const sim_guest& guest) {
        const std::string name = world_.hardware.centre.name_of(guest.id);
        line(machine, fmt::format("  {} {}", name, guest.is_there() ? guest_text(guest) : "gone"));
    });
    for (auto& one : world_.members) {
        one->node.standard_output->tap = [this, &one](std::string_view bytes) { line(one->name() + " log", bytes); };
    }
}

void trace_text::line(std::string_view who, std::string_view what) {
    if (is_on_()) {
        const double now = std::chrono::duration<double>(world_.now() - time_point{}).count();
        std::string text = ascii_only(trim(what));
        out_ << fmt::format("{:13.6f}  {:8}  {}\n", now, who, text);
    }
}

}  // namespace pvc::sim
