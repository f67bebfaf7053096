#include "sim/hypervisor/sim_migration.hpp"

#include <algorithm>

namespace pvc::sim {

using hypervisor::call_error;
using hypervisor::call_failure;
using hypervisor::call_result;
using model::guest_class;
using model::pause_cause;
using model::run_state;

namespace {
constexpr model::guest_status incoming{run_state::paused, pause_cause::migration};
constexpr model::guest_status arrived_running{run_state::running, pause_cause::none};
constexpr double never_below = 0.4;  // of the memory: what a dirty guest always has left

duration seconds(double count) {
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(count));
}
call_failure broken(const std::string& why) {
    return {call_error::unavailable, "internal error: client socket is closed: " + why};
}
call_failure out_of_reach(const std::string& why) {
    return {call_error::no_target, "internal error: client socket is closed: " + why};
}
call_failure failed(const std::string& why) {
    return {call_error::other, "operation failed: " + why};
}
}  // namespace

sim_migration::sim_migration(sim_datacentre& centre, sim_machine_guests& source, sim_guest& guest,
                             const hypervisor::migration& how, std::shared_ptr<driver_process> driver,
                             sim_guest::answer done)
    : centre_(centre),
      source_(source),
      guest_(guest),
      peer_(how.peer),
      connect_within_(how.connect_within),
      mib_per_second_(how.mib_per_second),
      driver_(std::move(driver)),
      done_(std::move(done)),
      step_(centre.clock()),
      silence_(centre.clock()),
      collapse_(centre.clock()) {}

void sim_migration::next(phase to, duration time, deed then) {
    phase_ = to;
    then_ = then;
    if (is_held_) {
        held_back_ = time;
    } else {
        step_.arm(centre_.clock().now() + time, [this] { (this->*then_)(); });
    }
}

// --- its steps ---

void sim_migration::begin() {
    if (!guest_.is_there()) {
        end(call_failure(call_error::no_domain, "Domain not found"));
        return;
    }
    if (guest_.is_migrating()) {
        end(call_failure(call_error::wrong_state,
                         "Requested operation is not valid: another migration job is already running for domain"));
        return;
    }
    if (guest_.is_dead_ || guest_.is_creating_ ||
        (guest_.what() != guest_class::alive && guest_.what() != guest_class::paused)) {
        end(call_failure(call_error::wrong_state, "Requested operation is not valid: domain is not running"));
        return;
    }
    target_machine_ = centre_.find(peer_);
    if (target_machine_ == nullptr || target_machine_ == &source_) {
        end(call_failure(call_error::no_target, "unable to connect to server at '" + peer_ + ":16509'"));
        return;
    }
    guest_.migration_ = this;
    source_life_ = guest_.life_;
    total_ = guest_.memory_bytes;
    bandwidth_ = centre_.times.bandwidth_bytes_per_second;
    if (mib_per_second_ > 0) {
        bandwidth_ = std::min(bandwidth_, mib_per_second_ * 1024.0 * 1024.0);
    }
    if (!guest_.migration_faults_.empty()) {
        fault_ = std::move(guest_.migration_faults_.front());
        guest_.migration_faults_.pop_front();
    }
    if (takes_fault(migration_step::connect)) {
        next(phase::connecting, centre_.times.connect, &sim_migration::fail_as_told);
        return;
    }
    next(phase::connecting, connect_within_, &sim_migration::connect_late);
    review();
}

void sim_migration::try_connect() {
    if (takes_fault(migration_step::connect) || driver_->is_paused || source_.libvirtd() != libvirtd_state::running ||
        !centre_.is_reachable(source_.name, target_machine_->name)) {
        return;
    }
    if (target_machine_->libvirtd() == libvirtd_state::down) {
        end(call_failure(call_error::no_target,
                         "unable to connect to server at '" + peer_ + ":16509': Connection refused"));
    } else if (target_machine_->libvirtd() == libvirtd_state::running) {
        next(phase::preparing, centre_.times.prepare, &sim_migration::prepare);
    }
}

void sim_migration::connect_late() {
    end(call_failure(call_error::no_target,
                     "unable to connect to server at '" + peer_ + ":16509': Connection timed out"));
}

void sim_migration::fail_as_told() {
    const call_failure why = fault_->failure;
    drop_target(false);
    end(why);
}

void sim_migration::prepare() {
    if (takes_fault(migration_step::prepare)) {
        fail_as_told();
        return;
    }
    if (target_machine_->refuses.contains(guest_.id)) {
        end(call_failure(
            call_error::unsupported,
            "unsupported configuration: guest and host CPU are not compatible: missing features: avx512f"));
        return;
    }
    sim_guest& there = target_machine_->guest(guest_.id);
    if (there.is_there()) {
        end(call_failure(call_error::wrong_state,
                         "Requested operation is not valid: domain is already active as '" + there.name() + "'"));
        return;
    }
    if (target_machine_->is_name_taken(guest_.name(), guest_.id)) {
        end(failed("domain '" + guest_.name() + "' already exists with another uuid"));
        return;
    }
    target_ = &there;
    there.migration_ = this;
    there.memory_bytes = guest_.memory_bytes;
    there.enter(guest_.name(), guest_.xml(), incoming);
    there.kind_ = guest_.kind();
    there.emit("STARTED(1)");
    phase_ = phase::copying;
    base_remaining_ = total_;
    copy_since_ = centre_.clock().now();
    arm_copy();
}

void sim_migration::arm_copy() {
    const duration whole = seconds(static_cast<double>(remaining()) / bandwidth_);
    if (takes_fault(migration_step::copy)) {
        next(phase::copying, whole / 2, &sim_migration::fail_as_told);
    } else if (!is_dirty()) {
        next(phase::copying, whole, &sim_migration::copied);
    } else {
        step_.disarm();
        held_back_.reset();
    }
}

void sim_migration::kind_changed() {
    if (phase_ == phase::copying) {
        base_remaining_ = remaining();
        copy_since_ = centre_.clock().now();
        arm_copy();
    }
}

void sim_migration::copied() {
    // Nobody executes from here until the target begins.
    arrives_as_ = guest_.executes() ? arrived_running : guest_.status();
    guest_.change(incoming);
    guest_.emit("SUSPENDED(1)");
    next(phase::switching, centre_.times.switch_over, &sim_migration::switched);
}

void sim_migration::switched() {
    if (takes_fault(migration_step::reply) && fault_->left == source_copy::running) {
        source_runs_on();
    }
    target_->change(arrives_as_);
    target_->emit(target_->executes() ? "RESUMED(1)" : "SUSPENDED(0)");
    if (target_->executes()) {
        target_->begin_running();
    }
    next(phase::replying, centre_.times.reply, &sim_migration::replied);
}

void sim_migration::replied() {
    if (takes_fault(migration_step::reply)) {
        const call_failure why = fault_->failure;
        const bool is_source_gone = fault_->left == source_copy::gone;
        end(why);
        if (is_source_gone && has_source()) {
            guest_.end("STOPPED(3)");
        }
        return;
    }
    end({});
    if (has_source()) {
        source_.later(centre_.times.source_end,
                      guest_.in_this_life([this_guest = &guest_] { this_guest->end("STOPPED(3)"); }));
    }
}

void sim_migration::end(call_result<void> outcome) {
    phase_ = phase::ended;
    step_.disarm();
    silence_.disarm();
    collapse_.disarm();
    if (has_target()) {
        target_->migration_ = nullptr;
    }
    if (guest_.migration_ == this) {
        guest_.migration_ = nullptr;
        if (guest_.is_there()) {
            guest_.emit(hypervisor::event_kind::job_ended, outcome ? "migration" : outcome.error().text);
        }
    }
    if (const auto done = std::exchange(done_, nullptr); done && driver_->is_alive) {
        done(std::move(outcome));
    }
}

// --- what goes wrong ---

void sim_migration::side_ended(const sim_guest& which) {
    if (phase_ == phase::ended || phase_ == phase::replying) {
        return;
    }
    if (&which == target_) {
        target_->migration_ = nullptr;
        source_runs_on();
        end(failed("migration out job: unexpectedly failed"));
    } else {
        guest_.migration_ = nullptr;
        drop_target(false);
        end(failed("domain is not running"));
    }
}

bool sim_migration::is_frozen() const {
    return driver_->is_paused || source_.libvirtd() == libvirtd_state::stopped ||
           target_machine_->libvirtd() == libvirtd_state::stopped ||
           !centre_.is_reachable(source_.name, target_machine_->name);
}

void sim_migration::hold(bool held) {
    if (held == is_held_) {
        return;
    }
    const time_point now = centre_.clock().now();
    if (held) {
        if (phase_ == phase::copying) {
            base_remaining_ = remaining();
        }
        held_back_ = step_.armed() ? std::optional(step_.when() - now) : std::nullopt;
        step_.disarm();
        silence_.arm(now + centre_.times.keepalive, [this] {
            const bool is_source = driver_->is_paused || source_.libvirtd() == libvirtd_state::stopped;
            collapse(is_source ? broken("keepalive timeout") : out_of_reach("keepalive timeout"), false);
        });
    } else {
        copy_since_ = now;
        silence_.disarm();
    }
    is_held_ = held;
    if (!held && held_back_) {
        next(phase_, *std::exchange(held_back_, std::nullopt), then_);
    }
}

void sim_migration::review() {
    if (phase_ == phase::ended || collapse_.armed()) {
        return;
    }
    const time_point now = centre_.clock().now();
    if (!driver_->is_alive || !source_.is_powered()) {
        // A process that ends closes its sockets; a machine that is off is noticed by its silence.
        const duration noticed = source_.is_powered() ? centre_.times.driver_end : centre_.times.keepalive;
        step_.disarm();
        silence_.disarm();
        collapse_.arm(now + noticed, [this] { collapse(broken("the driver is gone"), true); });
        return;
    }
    if (source_.libvirtd() == libvirtd_state::down) {
        collapse(broken("End of file"), false);
    } else if (phase_ == phase::connecting) {
        try_connect();
    } else if (target_machine_->is_powered() &&
               (target_machine_->libvirtd() == libvirtd_state::down || (phase_ > phase::preparing && !has_target()))) {
        // The second: it was without power for a moment.
        collapse(out_of_reach("End of file"), false);
    } else {
        hold(is_frozen());
    }
}

void sim_migration::collapse(const call_failure& why, bool driver_killed) {
    if (phase_ == phase::replying) {
        // The hand-over is done: the target runs, and this side has not heard of it.
        if (has_target()) {
            target_->migration_ = nullptr;
        }
        end(why);
        if (driver_killed && has_source()) {
            guest_.end("STOPPED(3)");
        }
        return;
    }
    drop_target(driver_killed);
    if (source_.is_powered()) {
        source_runs_on();
    }
    end(why);
}

void sim_migration::drop_target(bool driver_killed) {
    if (!has_target()) {
        return;
    }
    target_->migration_ = nullptr;
    if (!target_->is_there()) {
        return;
    }
    if (target_machine_->libvirtd() == libvirtd_state::down) {
        target_->leave();
    } else if (driver_killed) {
        target_->begin_ending("SHUTDOWN(2)", "STOPPED(1)", duration::zero());
    } else if (target_machine_->libvirtd() == libvirtd_state::stopped) {
        target_machine_->later(duration::zero(),
                               target_->in_this_life([there = target_] { there->end("STOPPED(5)"); }));
    } else {
        target_->end("STOPPED(5)");
    }
}

void sim_migration::source_runs_on() {
    if (has_source() && guest_.status() == incoming) {
        guest_.change(arrives_as_);
        guest_.emit("RESUMED(1)");
    }
}

call_result<void> sim_migration::abort() {
    if (phase_ == phase::switching || phase_ == phase::replying) {
        return call_failure(call_error::wrong_state,
                            "Requested operation is not valid: cannot abort migration in its last phase");
    }
    drop_target(false);
    end(call_failure(call_error::aborted, "operation aborted: migration out job: canceled by client"));
    return {};
}

// --- how far it is ---

bool sim_migration::takes_fault(migration_step at) const {
    return fault_ && fault_->at == at;
}

std::uint64_t sim_migration::remaining() const {
    const duration passed = is_held_ ? duration::zero() : centre_.clock().now() - copy_since_;
    const auto sent = static_cast<std::uint64_t>(std::chrono::duration<double>(passed).count() * bandwidth_);
    const std::uint64_t left = sent > base_remaining_ ? 0 : base_remaining_ - sent;
    const auto floor = static_cast<std::uint64_t>(static_cast<double>(total_) * never_below);
    return is_dirty() ? std::max(left, std::min(floor, base_remaining_)) : left;
}

hypervisor::migration_progress sim_migration::progress() const {
    hypervisor::migration_progress now;
    now.running = true;
    now.total_bytes = total_;
    now.remaining_bytes = phase_ < phase::copying ? total_ : phase_ == phase::copying ? remaining() : 0;
    now.processed_bytes = total_ - now.remaining_bytes;
    now.dirty_pages_per_second = is_dirty() ? 13824 : 20;
    now.bytes_per_second = static_cast<std::uint64_t>(bandwidth_);
    now.downtime_ms = is_dirty() ? 30000 : 20;
    return now;
}

}  // namespace pvc::sim
