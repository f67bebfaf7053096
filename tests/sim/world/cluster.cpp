#include "sim/world/cluster.hpp"

#include "sim/world/guests.hpp"

#include <algorithm>

namespace pvc::sim {

cluster::cluster(cluster_settings settings) : ensemble(loop.clock()), hardware(loop.clock()), later(loop.clock()) {
    if (settings.shuffle) {
        loop.context().shuffle(random_source(settings.seed).split("order of ready work").next());
    }
    if (settings.schema) {
        initialise(ensemble, *settings.schema);
        ensemble.put("/config/primary_node", "none");
    }
    ensemble.observe([this](const recorded_change& change) {
        hash.add(static_cast<std::uint64_t>(change.zxid) << 8 | static_cast<std::uint64_t>(change.what));
        if (change.what != recorded_kind::check) {
            hash.add(change.path);
            // Of long values (logs) the ends: whatever differs in one run differs there sooner or later.
            const std::string_view data = change.data;
            hash.add(static_cast<std::uint64_t>(data.size()));
            hash.add(data.substr(0, 256));
            hash.add(data.substr(data.size() - std::min<std::size_t>(data.size(), 256)));
            hash.add(change.owner);
        }
    });
    std::uint32_t number = 0;
    for (auto& one : settings.nodes) {
        members.push_back(std::make_unique<member>(loop, ensemble, hardware, std::move(one), ++number));
        members.back()->node.seed = random_source(settings.seed).split(members.back()->name()).next();
    }
    hardware.centre.keep_history(false);
    hardware.centre.times.reply = settings.migration_reply;
    hardware.centre.times.bandwidth_bytes_per_second =
        static_cast<double>(64UL << 20U) / std::chrono::duration<double>(settings.migration_time).count();
    hardware.centre.on_call = [this](const std::string& machine, const sim_machine_guests::call& what) {
        if (!what.is_reading) {
            for (const auto& told : on_hypervisor_call) {
                told(machine, what.text);
            }
        }
    };
    hardware.centre.on_guest = [this](const std::string& machine, const sim_guest& guest) {
        for (const auto& told : on_guest_change) {
            told(machine, guest);
        }
    };
    hardware.centre.changed = [this] {
        hash.add(static_cast<std::uint64_t>(now().time_since_epoch().count()));
        follow_disks();
    };
    for (const auto& name : settings.foreign) {
        ignore(hardware.centre.machine(name).name, "it has a hypervisor that can be asked");
        foreign_settings wanted;
        wanted.name = name;
        wanted.storage = false;
        wanted.seed = random_source(settings.seed).split(name).next();
        if (settings.has_foreign_guests) {
            wanted.machines = &hardware.centre;
            wanted.refuse_start = [this, address = foreign_address(foreigners.size())](const uuid& id) {
                return refuse_foreign_start(id, address);
            };
        }
        foreigners.push_back(std::make_unique<foreign_node>(loop, ensemble, std::move(wanted)));
        if (settings.has_foreign_guests) {
            foreigners.back()->link().number = first_foreign_number + static_cast<std::uint32_t>(foreigners.size() - 1);
        }
    }
}

std::vector<sim_machine_guests*> cluster::foreign_machines() {
    std::vector<sim_machine_guests*> found;
    for (const auto& one : foreigners) {
        if (one->settings.machines != nullptr) {
            found.push_back(&hardware.centre.machine(one->settings.name));
        }
    }
    return found;
}

cluster::~cluster() {
    later.clear();
    for (auto& one : members) {
        one->node.kill();
    }
    foreigners.clear();
}

member* cluster::find(std::string_view name) {
    const auto found = std::ranges::find_if(members, [name](const auto& one) { return one->name() == name; });
    return found == members.end() ? nullptr : found->get();
}

foreign_node* cluster::find_foreign(std::string_view name) {
    const auto found = std::ranges::find_if(foreigners, [name](const auto& one) { return one->settings.name == name; });
    return found == foreigners.end() ? nullptr : found->get();
}

bool cluster::is_calm(const member& one) const {
    return one.open_faults == 0 && open_faults_ == 0 && now() >= one.calm_from && now() >= calm_from_;
}

void cluster::disturb(member& one, std::optional<duration> time) {
    one.calm_from = std::max(one.calm_from, now() + time.value_or(duration::zero()) + settle);
}

void cluster::disturb_all(std::optional<duration> time) {
    calm_from_ = std::max(calm_from_, now() + time.value_or(duration::zero()) + settle);
}

void cluster::end_fault(member* one) {
    auto& open = one == nullptr ? open_faults_ : one->open_faults;
    open -= open > 0 ? 1 : 0;
    if (one == nullptr) {
        disturb_all(std::nullopt);
    } else {
        disturb(*one, std::nullopt);
    }
}

void cluster::lasting(const action& what, member* target, bool disturbs, std::function<void()> undo) {
    const auto kind = static_cast<std::size_t>(what.what);
    auto& counter = target == nullptr ? applied_[kind] : target->applied[kind];
    const std::uint64_t mine = ++counter;
    if (disturbs) {
        // An end that nobody planned is the business of heal().
        if (target == nullptr) {
            disturb_all(what.lasts);
            open_faults_ += what.lasts ? 0 : 1;
        } else {
            disturb(*target, what.lasts);
            target->open_faults += what.lasts ? 0 : 1;
        }
    }
    if (what.lasts) {
        later.after(*what.lasts, [this, kind, target, mine, undo = std::move(undo)] {
            if ((target == nullptr ? applied_[kind] : target->applied[kind]) == mine) {
                undo();
            }
        });
    }
}

result<void> cluster::perform(const action& what) {
    member* target = nullptr;
    if (!what.node.empty()) {
        target = find(what.node);
        const bool may_be_unknown = what.what == action_kind::place_guest;  // a client may name anything
        if (target == nullptr && find_foreign(what.node) == nullptr && !may_be_unknown) {
            return failure(errc::not_found, what.node, "no such node in this cluster");
        }
    }
    if (what.after_steps > 0) {
        delayed_.push_back({steps_ + what.after_steps, what});
        delayed_.back().what.after_steps = 0;
    } else {
        perform_now(what, target);
    }
    return {};
}

void cluster::start(member& one) {
    ++one.life;
    one.is_wanted = one.is_powered = true;
    one.node.start();
    disturb(one, std::max<duration>(duration::zero(), one.starts_well_from - now()));
    if (on_start) {
        on_start(one);
    }
}

void cluster::terminate(member& one) {
    if (on_stop_request) {
        on_stop_request(one);
    }
    one.node.terminate();
}

void cluster::start_later(member& one, duration delay) {
    later.after(delay, [this, &one, life = one.life] {
        if (one.life == life && one.is_wanted && one.is_powered && !one.node.is_running()) {
            start(one);
        }
    });
}

void cluster::look_at_exits() {
    for (auto& one : members) {
        if (!one->node.exit_status) {
            continue;
        }
        one->last_exit = *one->node.exit_status;
        one->node.kill();  // the frames are done; the ports are made anew
        hash.add(static_cast<std::uint64_t>(*one->last_exit));
        one->is_wanted = one->is_wanted && *one->last_exit != 78;
        if (on_exit) {
            on_exit(*one);
        }
        disturb(*one, std::nullopt);
        if (one->is_wanted && service_manager) {
            start_later(*one, 2s);
        }
    }
}

bool cluster::step() {
    const bool went_on = loop.step();
    ++steps_;
    hash.add(static_cast<std::uint64_t>(now().time_since_epoch().count()));
    if (!delayed_.empty()) {
        const auto due = std::ranges::find_if(delayed_, [this](const auto& one) { return one.at_step <= steps_; });
        if (due != delayed_.end()) {
            const action what = std::move(due->what);
            delayed_.erase(due);
            perform_now(what, what.node.empty() ? nullptr : find(what.node));
        }
    }
    look_at_exits();
    loop_is_idle_ = loop.context().is_idle();
    return went_on || !delayed_.empty();
}

}  // namespace pvc::sim
