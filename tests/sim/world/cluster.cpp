#include "sim/world/cluster.hpp"

#include "sim/world/registry.hpp"

#include <algorithm>

namespace pvc::sim {

cluster::cluster(cluster_settings settings, const registry* subjects)
    : ensemble(loop.clock()),
      hardware(loop.clock()),
      later(loop.clock()),
      known(subjects == nullptr ? all_subjects() : *subjects),
      has_guests(settings.guests > 0),
      has_boards(settings.boards) {
    if (settings.shuffle) {
        loop.context().shuffle(random_source(settings.seed).split("order of ready work").next());
    }
    if (settings.schema) {
        initialise(ensemble, *settings.schema);
        ensemble.put("/config/primary_node", "none");
    }
    if (settings.schema && settings.keeps_schema) {
        const std::string root = "/nodes/old1";
        const std::string version = std::to_string(*settings.schema);
        ensemble.put({{root, "hypervisor"},
                      {root + "/daemonmode", "hypervisor"},
                      {root + "/daemonstate", "stop"},
                      {root + "/routerstate", "client"},
                      {root + "/domainstate", "ready"},
                      {root + "/keepalive", "0"},
                      {root + "/runningdomains", ""},
                      {root + "/latestschema", version},
                      {root + "/activeschema", version}});
    }
    ensemble.observe([this](const recorded_change& change) {
        hash.add(static_cast<std::uint64_t>(change.zxid) << 8 | static_cast<std::uint64_t>(change.what));
        if (change.what != recorded_kind::check) {
            count_change(change.path);
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
        for (const auto& told : on_hardware_change) {
            told();
        }
    };
    for (const auto& name : settings.foreign) {
        ignore(hardware.centre.machine(name).name, "it has a hypervisor that can be asked");
        foreign_settings wanted;
        wanted.name = name;
        wanted.storage = false;
        wanted.level = settings.has_late_foreign ? reference_level::v1_0_3 : reference_level::v0_9_82;
        wanted.first_beat = settings.foreign_first_beat;
        wanted.seed = random_source(settings.seed).split(name).next();
        if (settings.has_foreign_guests) {
            wanted.machines = &hardware.centre;
        }
        foreigners.push_back(std::make_unique<foreign_node>(loop, ensemble, std::move(wanted)));
        if (settings.has_foreign_guests) {
            foreigners.back()->link().number = first_foreign_number + static_cast<std::uint32_t>(foreigners.size() - 1);
        }
    }
    for (const auto& part : known.parts()) {
        if (part.begin != nullptr) {
            part.begin(*this);
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

namespace {

// "/networks/1001/mtu" -> "networks"
std::string_view folder_of(std::string_view path) {
    path.remove_prefix(std::min<std::size_t>(path.size(), 1));
    return path.substr(0, path.find('/'));
}

}  // namespace

std::uint64_t cluster::changes_below(std::string_view folder) const {
    const auto found = std::ranges::find(changes_, folder, &std::pair<std::string, std::uint64_t>::first);
    return found == changes_.end() ? 0 : found->second;
}

void cluster::count_change(std::string_view path) {
    const auto folder = folder_of(path);
    const auto found = std::ranges::find(changes_, folder, &std::pair<std::string, std::uint64_t>::first);
    if (found == changes_.end()) {
        changes_.emplace_back(folder, 1);
    } else {
        ++found->second;
    }
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
    auto& counter = target == nullptr ? applied_[what.kind->name] : target->applied[what.kind->name];
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
        later.after(*what.lasts, [&counter, mine, undo = std::move(undo)] {
            if (counter == mine) {
                undo();
            }
        });
    }
}

result<void> cluster::perform(const action& what) {
    if (!what.node.empty() && find(what.node) == nullptr && find_foreign(what.node) == nullptr &&
        !what.kind->may_name_nobody) {
        return failure(errc::not_found, what.node, "no such node in this cluster");
    }
    if (what.after_steps > 0) {
        delayed_.push_back({steps_ + what.after_steps, what});
        delayed_.back().what.after_steps = 0;
    } else {
        perform_now(what);
    }
    return {};
}

void cluster::perform_now(const action& what) {
    ++performed[what.kind->name];
    hash.add(what.kind->name);
    if (on_action) {
        on_action(what);
    }
    if (what.kind->on_cluster != nullptr) {
        what.kind->on_cluster(*this, what);
    } else if (member* const target = find(what.node); target != nullptr) {
        what.kind->on_member(*this, what, *target);
    } else if (what.kind->on_reference != nullptr) {
        what.kind->on_reference(*this, what, *find_foreign(what.node));
    }
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

void cluster::start_foreign(foreign_node& target) {
    if (target.is_running()) {
        return;
    }
    if (target.settings.machines != nullptr) {
        sim_machine_guests& machine = hardware.centre.machine(target.settings.name);
        if (!machine.is_powered()) {
            machine.power_on();
        }
    }
    target.start();
}

void cluster::before_power_loss(const std::string& machine) {
    for (const auto& told : on_power_loss) {
        told(machine);
    }
}

void cluster::heal() {
    later.clear();
    delayed_.clear();
    for (const auto& part : known.parts()) {
        if (part.heal != nullptr) {
            part.heal(*this);
        }
    }
    for (const auto session : std::exchange(client_sessions_, {})) {
        if (ensemble.has_session(session)) {
            ensemble.expire_session(session);
        }
    }
    open_faults_ = 0;
    disturb_all(std::nullopt);
    for (auto& one : foreigners) {
        if (one->link().is_cut()) {
            one->link().mend();
        }
        start_foreign(*one);
    }
    heal_members();
}

void cluster::heal_members() {
    for (auto& one : members) {
        sim_node& node = one->node;
        for (auto& [name, counter] : one->applied) {
            ++counter;
        }
        node.resume();
        for (const auto& part : known.parts()) {
            if (part.heal_member != nullptr) {
                part.heal_member(*this, *one);
            }
        }
        one->open_faults = 0;
        one->starts_well_from = now();
        disturb(*one, std::nullopt);
        if (!node.is_running()) {
            start(*one);
        } else {
            one->is_wanted = true;
        }
    }
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
            perform_now(what);
        }
    }
    look_at_exits();
    if (after_step) {
        after_step();
    }
    loop_is_idle_ = loop.context().is_idle();
    return went_on || !delayed_.empty();
}

}  // namespace pvc::sim
