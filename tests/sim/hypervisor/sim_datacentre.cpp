#include "sim/hypervisor/sim_datacentre.hpp"

#include "sim/hypervisor/sim_migration.hpp"

#include <fmt/format.h>

#include <tuple>

namespace pvc::sim {

namespace {
std::string_view first_label(std::string_view name) {
    return name.substr(0, name.find('.'));
}
std::pair<std::string, std::string> ordered(const std::string& one, const std::string& other) {
    return one < other ? std::pair(one, other) : std::pair(other, one);
}
}  // namespace

sim_datacentre::sim_datacentre(async::timers& world) : clock_(world) {}
sim_datacentre::~sim_datacentre() = default;

sim_machine_guests& sim_datacentre::machine(std::string_view name) {
    const std::string_view label = first_label(name);
    const auto found = machines_.find(label);
    if (found != machines_.end()) {
        return *found->second;
    }
    return *machines_.emplace(label, std::make_unique<sim_machine_guests>(*this, std::string(label))).first->second;
}

sim_machine_guests* sim_datacentre::find(std::string_view name) {
    const auto found = machines_.find(first_label(name));
    return found == machines_.end() ? nullptr : found->second.get();
}

std::string sim_datacentre::name_of(const uuid& id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? to_text(id) : found->second;
}

void sim_datacentre::cut(const std::string& one, const std::string& other) {
    cuts_.insert(ordered(one, other));
    review();
}

void sim_datacentre::join(const std::string& one, const std::string& other) {
    cuts_.erase(ordered(one, other));
    review();
}

bool sim_datacentre::is_cut(const std::string& one, const std::string& other) const {
    return cuts_.contains(ordered(one, other));
}

bool sim_datacentre::is_reachable(const std::string& from, const std::string& to) {
    const sim_machine_guests* target = find(to);
    return target != nullptr && target->is_powered() && !is_cut(from, to);
}

std::size_t sim_datacentre::running_copies(const uuid& id) const {
    std::size_t copies = 0;
    for (const auto& [name, one] : machines_) {
        copies += one->executes(id) ? 1U : 0U;
    }
    return copies;
}

void sim_datacentre::guest_changed(const sim_machine_guests& machine, const sim_guest& guest) {
    if (keeps_history_) {
        history_.push_back({clock_.now(), machine.name, guest.id, guest.is_there(), guest.status()});
    }
    const std::size_t copies = running_copies(guest.id);
    auto& known = copies_[guest.id];
    if (copies > 1 && copies > known) {
        std::string who;
        for (const auto& [name, one] : machines_) {
            if (one->executes(guest.id)) {
                who += (who.empty() ? "" : " and ") + name;
            }
        }
        const double seconds = std::chrono::duration<double>(clock_.now().time_since_epoch()).count();
        double_runs_.push_back(fmt::format("{} run {} at {:.3f} s", who, name_of(guest.id), seconds));
    }
    known = copies;
    if (on_guest) {
        on_guest(machine.name, guest);
    }
    if (changed) {
        changed();
    }
}

void sim_datacentre::review() {
    // A migration that ends may make a caller begin another.
    for (std::size_t i = 0; i < migrations_.size(); ++i) {
        migrations_[i]->review();
    }
}

std::shared_ptr<driver_process> sim_datacentre::migrate(const uuid& id, const std::string& from, const std::string& to,
                                                        sim_guest::answer done) {
    auto driver = std::make_shared<driver_process>();
    const hypervisor::migration how{.peer = to, .data_uri = {}, .connect_within = std::chrono::seconds(5)};
    std::ignore = begin_migration(machine(from), id, how, driver, std::move(done));
    return driver;
}

void sim_datacentre::kill(driver_process& driver) {
    driver.is_alive = false;
    review();
}

sim_migration& sim_datacentre::begin_migration(sim_machine_guests& source, const uuid& id,
                                               const hypervisor::migration& how, std::shared_ptr<driver_process> driver,
                                               sim_guest::answer done) {
    std::erase_if(migrations_, [](const auto& one) { return one->has_ended(); });
    auto& one = *migrations_.emplace_back(
        std::make_unique<sim_migration>(*this, source, source.guest(id), how, std::move(driver), std::move(done)));
    one.begin();
    return one;
}

}  // namespace pvc::sim
