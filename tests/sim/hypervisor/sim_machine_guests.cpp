#include "sim/hypervisor/sim_machine_guests.hpp"

#include "sim/hypervisor/sim_datacentre.hpp"
#include "sim/hypervisor/sim_hypervisor.hpp"

#include <algorithm>

namespace pvc::sim {

sim_machine_guests::sim_machine_guests(sim_datacentre& centre, std::string machine_name)
    : name(std::move(machine_name)), centre_(centre), libvirtd_(centre.clock()), alarms_(centre.clock()) {}

sim_machine_guests::~sim_machine_guests() = default;

sim_guest& sim_machine_guests::guest(const uuid& id) {
    auto& slot = guests_[id];
    if (!slot) {
        slot = std::make_unique<sim_guest>(*this, id);
    }
    return *slot;
}

sim_guest& sim_machine_guests::put_running(const uuid& id, const std::string& guest_name, const std::string& xml) {
    sim_guest& one = guest(id);
    one.appear(guest_name, xml);
    return one;
}

std::vector<uuid> sim_machine_guests::guests() const {
    std::vector<uuid> ids;
    for (const auto& [id, one] : guests_) {
        if (one->is_there()) {
            ids.push_back(id);
        }
    }
    return ids;
}

bool sim_machine_guests::executes(const uuid& id) const {
    const auto found = guests_.find(id);
    return found != guests_.end() && found->second->executes();
}

bool sim_machine_guests::is_name_taken(const std::string& guest_name, const uuid& by_other_than) const {
    return std::ranges::any_of(guests_, [&](const auto& entry) {
        return entry.first != by_other_than && entry.second->is_there() && entry.second->name() == guest_name;
    });
}

int sim_machine_guests::free_vnc_port() const {
    int port = 5900;
    while (std::ranges::any_of(
        guests_, [port](const auto& entry) { return entry.second->is_there() && entry.second->vnc_port_ == port; })) {
        ++port;
    }
    return port;
}

void sim_machine_guests::creation_begins() {
    most_creations_ = std::max(most_creations_, ++creations_);
}

// --- libvirtd ---

void sim_machine_guests::later(duration time, std::function<void()> deed) {
    if (libvirtd() != libvirtd_state::down) {
        libvirtd_.after(time, [this, deed = std::move(deed)]() mutable { serve(std::move(deed)); });
    }
}

void sim_machine_guests::serve(std::function<void()> deed) {
    if (state_ == libvirtd_state::stopped) {
        backlog_.push_back(std::move(deed));
    } else {
        deed();
    }
}

void sim_machine_guests::emit(const hypervisor::guest_event& event) {
    if (libvirtd() == libvirtd_state::stopped) {
        backlog_.emplace_back([this, event] { emit(event); });
    } else if (libvirtd() == libvirtd_state::running && daemon_ != nullptr) {
        daemon_->push(event);
    }
}

void sim_machine_guests::stop_libvirtd() {
    if (libvirtd() == libvirtd_state::running) {
        state_ = libvirtd_state::stopped;
        alarms_.clear();
        alarms_.after(centre_.times.keepalive, [this] {
            if (daemon_ != nullptr) {
                daemon_->connection_broke("connection closed due to keepalive timeout");
            }
        });
        changed();
    }
}

void sim_machine_guests::continue_libvirtd() {
    if (libvirtd() == libvirtd_state::stopped) {
        state_ = libvirtd_state::running;
        alarms_.clear();
        for (const auto backlog = std::exchange(backlog_, {}); const auto& deed : backlog) {
            deed();
        }
        changed();
    }
}

void sim_machine_guests::kill_libvirtd() {
    if (libvirtd() != libvirtd_state::down) {
        end_libvirtd();
        changed();
    }
}

void sim_machine_guests::end_libvirtd() {
    state_ = libvirtd_state::down;
    alarms_.clear();
    libvirtd_.clear();
    backlog_.clear();
    break_connection();
    for (const auto& [id, one] : guests_) {
        one->libvirtd_ended();
    }
}

void sim_machine_guests::start_libvirtd() {
    if (is_powered_ && state_ == libvirtd_state::down) {
        state_ = libvirtd_state::running;
        for (const auto& [id, one] : guests_) {
            one->libvirtd_began();
        }
        changed();
    }
}

void sim_machine_guests::break_connection() {
    if (daemon_ != nullptr) {
        daemon_->connection_broke("End of file while reading data: Input/output error");
    }
}

void sim_machine_guests::lose_power() {
    if (std::exchange(is_powered_, false)) {
        end_libvirtd();
        for (const auto& [id, one] : guests_) {
            one->power_lost();
        }
        changed();
    }
}

void sim_machine_guests::power_on() {
    if (!is_powered_) {
        is_powered_ = true;
        start_libvirtd();
    }
}

void sim_machine_guests::disconnect(sim_hypervisor& daemon) {
    if (daemon_ == &daemon) {
        daemon_ = nullptr;
    }
}

void sim_machine_guests::detach(sim_hypervisor& daemon) {
    disconnect(daemon);
    std::erase(attached_, &daemon);
}

void sim_machine_guests::changed() {
    for (sim_hypervisor* one : attached_) {
        one->libvirtd_changed();
    }
    centre_.review();
}

// --- the record ---

void sim_machine_guests::note_hanging(const std::string& text) {
    hanging_[text] = centre_.clock().now();
}

std::optional<time_point> sim_machine_guests::hangs_since(const std::string& text) const {
    const auto found = hanging_.find(text);
    return found != hanging_.end() ? std::optional(found->second) : std::nullopt;
}

void sim_machine_guests::record(const std::string& text, bool is_reading) {
    calls_.push_back({centre_.clock().now(), text, is_reading});
    if (centre_.on_call) {
        centre_.on_call(name, calls_.back());
    }
}

std::vector<std::string> sim_machine_guests::calls() const {
    std::vector<std::string> texts;
    for (const auto& one : calls_) {
        if (!one.is_reading) {
            texts.push_back(one.text);
        }
    }
    return texts;
}

std::size_t sim_machine_guests::count(std::string_view text) const {
    return static_cast<std::size_t>(std::ranges::count(calls_, text, &call::text));
}

std::vector<time_point> sim_machine_guests::times(std::string_view text) const {
    std::vector<time_point> times;
    for (const auto& one : calls_) {
        if (one.text == text) {
            times.push_back(one.at);
        }
    }
    return times;
}

}  // namespace pvc::sim
