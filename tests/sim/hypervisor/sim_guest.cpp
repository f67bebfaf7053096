#include "sim/hypervisor/sim_guest.hpp"

#include "sim/hypervisor/sim_call.hpp"
#include "sim/hypervisor/sim_datacentre.hpp"
#include "sim/hypervisor/sim_migration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;
using hypervisor::call_error;
using hypervisor::call_failure;
using model::guest_class;
using model::guest_status;
using model::pause_cause;
using model::run_state;

namespace {
constexpr guest_status running{run_state::running, pause_cause::none};
constexpr guest_status ending{run_state::shutting_down, pause_cause::none};
constexpr duration lock_limit = 30s;  // a call waits this long for a guest that migrates
constexpr duration job_poll = 10ms;

guest_kind kind_in(std::string_view xml) {
    constexpr std::array<std::pair<std::string_view, guest_kind>, 5> marks{{{"sim:hang", guest_kind::hang},
                                                                            {"sim:off", guest_kind::off},
                                                                            {"sim:reset", guest_kind::reset},
                                                                            {"sim:errs", guest_kind::errs},
                                                                            {"sim:dirty", guest_kind::dirty}}};
    const auto* const found =
        std::ranges::find_if(marks, [xml](const auto& one) { return xml.find(one.first) != std::string_view::npos; });
    return found == marks.end() ? guest_kind::acpi : found->second;
}

call_failure invalid(const std::string& why) {
    return {call_error::wrong_state, "Requested operation is not valid: " + why};
}
}  // namespace

std::string_view to_text(run_state state) {
    constexpr std::array<std::string_view, 8> words{"none",          "running",  "blocked", "paused",
                                                    "shutting_down", "shut_off", "crashed", "suspended"};
    return words[static_cast<std::size_t>(state)];
}

sim_guest::sim_guest(sim_machine_guests& machine, uuid which)
    : id(which), machine_(machine), plans_(machine.centre().clock()) {
    figures.maximum_memory_kib = figures.memory_kib = 65536;
    figures.vcpus = 1;
}

bool sim_guest::executes() const {
    return is_there_ && !is_dead_ && what() == guest_class::alive;
}

std::string sim_guest::live_xml() const {
    if (live_xml_override) {
        return *live_xml_override;
    }
    std::string text = xml_;
    const auto graphics = text.find("<graphics");
    const auto close = text.find('>', graphics);
    const auto port = text.find(" port=", graphics);
    if (graphics != std::string::npos && port < close && text.compare(port + 7, 2, "-1") == 0) {
        text.replace(port + 7, 2, std::to_string(vnc_port_));
    }
    return text;
}

void sim_guest::set_kind(guest_kind kind) {
    set_kind_ = kind_ = kind;
    if (executes() && (kind == guest_kind::reset || kind == guest_kind::errs)) {
        make_noise(kind);
    }
    if (migration_ != nullptr) {
        migration_->kind_changed();
    }
}

void sim_guest::kind_of_xml() {
    set_kind_.reset();
    kind_ = kind_in(xml_);
    if (migration_ != nullptr) {
        migration_->kind_changed();
    }
}

void sim_guest::fail_migration(migration_step at, call_failure failure, source_copy left) {
    migration_faults_.push_back({at, std::move(failure), left});
}

// --- its life ---

void sim_guest::enter(const std::string& name, const std::string& xml, guest_status status) {
    plans_.clear();
    ++life_;
    is_there_ = true;
    is_dead_ = is_creating_ = is_off_asked_ = false;
    name_ = name;
    xml_ = xml;
    kind_ = set_kind_.value_or(kind_in(xml));
    vnc_port_ = machine_.free_vnc_port();
    since_ = machine_.centre().clock().now();
    change(status);
}

void sim_guest::leave() {
    plans_.clear();
    ++life_;
    if (is_creating_) {
        machine_.creation_ends();
    }
    is_there_ = is_dead_ = is_creating_ = is_off_asked_ = false;
    vnc_port_ = 0;
    if (migration_ != nullptr) {
        migration_->side_ended(*this);
        migration_ = nullptr;
    }
    change({});
    for (const auto waiting = std::exchange(when_gone_, {}); const auto& one : waiting) {
        one();
    }
}

void sim_guest::change(guest_status status) {
    status_ = status;
    machine_.centre().guest_changed(machine_, *this);
}

void sim_guest::emit(const std::string& detail) {
    machine_.emit({.what = hypervisor::event_kind::status, .id = id, .status = status_, .detail = detail});
}
void sim_guest::emit(hypervisor::event_kind what, const std::string& detail) {
    machine_.emit({.what = what, .id = id, .status = status_, .detail = detail});
}

std::function<void()> sim_guest::in_this_life(std::function<void()> deed) {
    return [this, life = life_, deed = std::move(deed)] {
        if (life_ == life) {
            deed();
        }
    };
}

void sim_guest::begin_running() {
    ++starts_;
    if (kind_ == guest_kind::off) {
        plans_.after(off_time, [this] { power_off(); });
    } else if (kind_ == guest_kind::reset || kind_ == guest_kind::errs) {
        make_noise(kind_);
    }
}

// As long as it is of that kind.
void sim_guest::make_noise(guest_kind kind) {
    plans_.after(kind == guest_kind::reset ? duration(1s) : 100ms, [this, kind] {
        if (kind_ != kind) {
            return;
        }
        if (kind == guest_kind::reset) {
            reset();
        } else if (executes()) {
            emit(hypervisor::event_kind::io_error, "vda");
        }
        make_noise(kind);
    });
}

void sim_guest::begin_ending(const std::string& shutdown_detail, const std::string& stopped_detail, duration time) {
    plans_.clear();
    if (migration_ != nullptr) {
        migration_->side_ended(*this);
    }
    change(ending);
    emit(shutdown_detail);
    machine_.later(time, in_this_life([this, stopped_detail] { end(stopped_detail); }));
}

void sim_guest::end(const std::string& stopped_detail) {
    // The event goes out before whoever waits for the end is answered, and after the domain is gone.
    auto waiting = std::exchange(when_gone_, {});
    leave();
    machine_.emit({.what = hypervisor::event_kind::status,
                   .id = id,
                   .status = {run_state::shut_off, pause_cause::none},
                   .detail = stopped_detail});
    for (const auto& one : waiting) {
        one();
    }
}

// --- what happens to it ---

void sim_guest::power_off() {
    if (executes()) {
        begin_ending("SHUTDOWN(1)", "STOPPED(0)", going_time);
    }
}

void sim_guest::crash() {
    if (is_there_ && !is_dead_) {
        plans_.clear();
        is_dead_ = true;
        if (migration_ != nullptr) {
            migration_->side_ended(*this);
        }
        change(status_);
        machine_.later(crash_notice, in_this_life([this] { end("STOPPED(5)"); }));
    }
}

void sim_guest::reset() {
    if (executes()) {
        emit(hypervisor::event_kind::rebooted, "REBOOT");
    }
}

void sim_guest::suspend() {
    if (executes()) {
        change({run_state::paused, pause_cause::user});
        emit("SUSPENDED(0)");
    }
}

void sim_guest::resume() {
    if (is_there_ && !is_dead_ && !executes()) {
        change(running);
        emit("RESUMED(0)");
        if (is_off_asked_) {
            plans_.after(shutdown_time, [this] { power_off(); });
        }
    }
}

void sim_guest::pause_by_io_error(const std::string& disk) {
    if (executes()) {
        change({run_state::paused, pause_cause::io_error});
        emit(hypervisor::event_kind::io_error, disk);
        emit("SUSPENDED(2)");
    }
}

void sim_guest::change_devices() {
    if (is_there_) {
        emit(hypervisor::event_kind::devices_changed, "devices");
    }
}

void sim_guest::set_status(guest_status status, const std::string& detail) {
    if (is_there_ && status.state == run_state::none) {
        end(detail);
    } else if (is_there_) {
        change(status);
        emit(detail);
    }
}

void sim_guest::vanish() {
    if (is_there_) {
        leave();
    }
}

void sim_guest::appear(const std::string& name, const std::string& xml, guest_status status) {
    if (is_there_) {
        leave();
    }
    enter(name, xml, status);
    if (executes()) {
        emit("RESUMED(0)");
        begin_running();
    }
    emit("STARTED(0)");
}

// --- calls ---

void sim_guest::create(const std::string& name, const std::string& xml, duration takes, answer done) {
    if (is_dead_) {
        done(call_failure(call_error::being_removed,
                          fmt::format("operation failed: domain '{}' is already being removed", name)));
        return;
    }
    if (is_there_ && status_.state != run_state::shut_off) {
        done(invalid(fmt::format("domain is already active as '{}'", name_)));
        return;
    }
    if (machine_.is_name_taken(name, id)) {
        done(call_failure(call_error::other,
                          fmt::format("operation failed: domain '{}' already exists with another uuid", name)));
        return;
    }
    // Also for as long as its disks keep it waiting (measured with libvirt 9.0); a libvirtd that is not that far yet,
    // as one of its own programs keeps it waiting, answers nobody who asks for this domain or for all.
    enter(name, xml, {run_state::paused, pause_cause::starting_up});
    is_creating_ = true;
    machine_.creation_begins();
    when_gone_.emplace_back([done] {
        done(call_failure(call_error::other, "operation failed: the domain was destroyed while it started"));
    });
    machine_.later(takes, in_this_life([this, done = std::move(done)] {
                       is_creating_ = false;
                       machine_.creation_ends();
                       when_gone_.clear();
                       change(running);
                       emit("RESUMED(0)");
                       emit("STARTED(0)");
                       begin_running();
                       done({});
                   }));
}

void sim_guest::shutdown(answer done) {
    if (!is_there_) {
        done(not_there(id));
    } else if (is_dead_) {
        done(call_failure(call_error::other, "internal error: qemu unexpectedly closed the monitor"));
    } else if (migration_ != nullptr) {
        machine_.later(lock_limit, [done = std::move(done)] {
            done(call_failure(call_error::other, "Timed out during operation: cannot acquire state change lock"));
        });
    } else if (!executes()) {
        done(invalid("domain is not running"));
    } else {
        if (kind_ == guest_kind::acpi && !is_off_asked_) {
            is_off_asked_ = true;
            plans_.after(shutdown_time, [this] { power_off(); });
        }
        done({});
    }
}

void sim_guest::destroy(std::optional<duration> takes, answer done) {
    if (!is_there_) {
        done(not_there(id));
        return;
    }
    if (what() == guest_class::ending) {
        when_gone_.emplace_back([done = std::move(done)] { done({}); });
        // What does not go by itself is killed.
        machine_.later(takes.value_or(destroy_time), in_this_life([this] { end("STOPPED(1)"); }));
        return;
    }
    when_gone_.emplace_back([done = std::move(done)] { done({}); });
    if (is_dead_) {
        machine_.later(takes.value_or(10ms), in_this_life([this] { end("STOPPED(1)"); }));
        return;
    }
    if (is_creating_) {
        end("STOPPED(1)");
        return;
    }
    begin_ending("SHUTDOWN(2)", "STOPPED(1)", takes.value_or(destroy_time));
}

void sim_guest::resume_call(answer done) {
    if (!is_there_) {
        done(not_there(id));
    } else if (migration_ != nullptr) {
        done(invalid("domain is being migrated"));
    } else if (executes()) {
        done(invalid("domain is already running"));
    } else if (is_dead_ || is_creating_ || what() == guest_class::ending || what() == guest_class::absent) {
        done(invalid("domain is not paused"));
    } else {
        resume();
        done({});
    }
}

// `deed`, when no migration holds the guest any more.
void sim_guest::with_devices(answer done, std::function<hypervisor::call_result<void>()> deed, duration waited) {
    if (!is_there_) {
        done(not_there(id));
    } else if (is_dead_) {
        done(call_failure(call_error::other, "internal error: qemu unexpectedly closed the monitor"));
    } else if (migration_ != nullptr && waited >= lock_limit) {
        done(call_failure(call_error::other, "Timed out during operation: cannot acquire state change lock"));
    } else if (migration_ != nullptr) {
        machine_.later(job_poll, [this, done = std::move(done), deed = std::move(deed), waited] {
            with_devices(done, deed, waited + job_poll);
        });
    } else if (is_creating_ || what() == guest_class::ending || what() == guest_class::absent) {
        done(invalid("domain is not running"));
    } else {
        done(deed());
    }
}

void sim_guest::attach_device(const std::string& xml, answer done) {
    with_devices(std::move(done), [this, xml]() -> hypervisor::call_result<void> {
        const auto end = xml_.rfind("</devices>");
        if (!xml.starts_with('<') || !xml.ends_with('>') || end == std::string::npos) {
            return call_failure(call_error::other,
                                "XML error: (device_definition):1: Start tag expected, '<' not found");
        }
        if (xml_.find(xml) != std::string::npos) {
            return call_failure(call_error::other, "operation failed: target already exists");
        }
        xml_.insert(end, xml);
        change_devices();
        return {};
    });
}

void sim_guest::detach_device(const std::string& xml, answer done) {
    with_devices(std::move(done), [this, xml]() -> hypervisor::call_result<void> {
        const auto at = xml.empty() ? std::string::npos : xml_.find(xml);
        if (at == std::string::npos) {
            return call_failure(call_error::other, "operation failed: device not found");
        }
        xml_.erase(at, xml.size());
        change_devices();
        return {};
    });
}

hypervisor::call_result<void> sim_guest::abort_migration() {
    if (!is_there_) {
        return not_there(id);
    }
    if (migration_ == nullptr || !migration_->is_of(*this)) {
        return invalid("no job is active on the domain");
    }
    return migration_->abort();
}

hypervisor::migration_progress sim_guest::migration_progress() const {
    return migration_ == nullptr ? hypervisor::migration_progress() : migration_->progress();
}

// --- libvirtd and the power ---

void sim_guest::libvirtd_ended() {
    when_gone_.clear();
    if (is_creating_) {
        leave();
    }
}

void sim_guest::libvirtd_began() {
    if (is_dead_) {
        machine_.later(50ms, in_this_life([this] { end("STOPPED(5)"); }));
    } else if (is_there_ && what() == guest_class::ending) {
        machine_.later(50ms, in_this_life([this] { end("STOPPED(0)"); }));
    }
}

void sim_guest::power_lost() {
    when_gone_.clear();
    // Nobody notices but by silence.
    migration_ = nullptr;
    if (is_there_) {
        leave();
    }
}

}  // namespace pvc::sim
