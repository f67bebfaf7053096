// What befalls virtual machines and the hypervisors that run them.
#include "sim/world/guests.hpp"

#include "sim/world/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

using k = action_kind;

constexpr duration lock_poll = std::chrono::milliseconds(100);
constexpr duration lock_patience = std::chrono::minutes(15);
constexpr duration lock_held = std::chrono::milliseconds(500);
constexpr std::size_t sequence_digits = 10;

std::string key_of(std::int64_t number, std::string_view suffix) {
    return guest_root(number) + std::string(suffix);
}

}  // namespace

// The rules ask at every step.
uuid guest_id(std::int64_t number) {
    static std::map<std::int64_t, uuid> known;
    const auto [at, is_new] = known.try_emplace(number);
    if (is_new) {
        at->second = *parse_uuid(fmt::format("{:08x}-aaaa-4bbb-8ccc-{:012x}", number, number));
    }
    return at->second;
}

const std::string& guest_root(std::int64_t number) {
    static std::map<std::int64_t, std::string> known;
    auto& root = known[number];
    if (root.empty()) {
        root = "/domains/" + pvc::to_text(guest_id(number));
    }
    return root;
}

std::string foreign_address(std::size_t index) {
    return fmt::format("10.254.0.{}", 201 + index);
}

std::string guest_image(std::int64_t number) {
    return fmt::format("vms/vm{}", number);
}

std::map<std::string, std::string> guest_keys(std::int64_t number, const std::string& node, const std::string& kind) {
    const std::string name = fmt::format("vm{}", number);
    const std::string id = pvc::to_text(guest_id(number));
    const std::string root = "/domains/" + id;
    const bool has_disk = kind.find("diskless") == std::string::npos;
    const std::string disk =
        fmt::format("<disk type='network'><source protocol='rbd' name='vms/{}'/><target dev='vda'/></disk>", name);
    std::map<std::string, std::string> keys{
        {root, name},
        {root + "/xml",
         fmt::format("<domain type='qemu'><name>{}</name><uuid>{}</uuid><description>sim:{}</description>"
                     "<memory unit='MiB'>64</memory><vcpu>1</vcpu><devices>{}"
                     "<graphics type='vnc' port='-1' listen='127.0.0.1'/></devices></domain>",
                     name, id, kind, has_disk ? disk : "")},
        {root + "/rbdlist", has_disk ? "vms/" + name : ""},
        {root + "/state", "stop"},
        {root + "/node", node},
        {root + "/node_autostart", "False"},
        {root + "/migration_method", "none"},
        {root + "/node_selector", "none"},
        {root + "/profile", "None"},
    };
    for (const auto* suffix : {"/stats", "/lastnode", "/failedreason", "/consolelog", "/vnc", "/node_limit", "/tags",
                               "/migrate_sync_lock"}) {
        keys[root + suffix] = "";
    }
    return keys;
}

// Removes what is its own, lock by lock, and stops at the first of another's.
std::optional<std::string> cluster::refuse_foreign_start(const uuid& id, const std::string& address) {
    const auto number = std::ranges::find_if(disks_, [&](std::int64_t one) { return guest_id(one) == id; });
    if (number == disks_.end()) {
        return std::nullopt;
    }
    const std::string image = guest_image(*number);
    for (const auto& lock : hardware.rbd.locks(image)) {
        if (!lock.address.starts_with(address + ":")) {
            return fmt::format("RBD lock of {} on {} held by {}", image, address, lock.address);
        }
    }
    hardware.rbd.unlock(image);
    return std::nullopt;
}

// The disk of a machine is locked by whoever executes it. A clean end gives the lock back, a crash or a power failure
// leaves it.
void cluster::follow_disks() {
    for (const auto number : disks_) {
        const uuid id = guest_id(number);
        const std::string image = fmt::format("vms/vm{}", number);
        std::string address;
        bool is_here = false;
        for (const auto& one : members) {
            if (one->node.settings.hypervisor) {
                const sim_guest& guest = one->node.guests().guest(id);
                is_here = is_here || guest.is_there();
                if (guest.executes()) {
                    const std::string& host = one->node.settings.storage_address;
                    address = host.substr(0, host.find('/')) + ":0/1";
                }
            }
        }
        const auto others = foreign_machines();
        for (std::size_t i = 0; i < others.size(); ++i) {
            const sim_guest& guest = others[i]->guest(id);
            is_here = is_here || guest.is_there();
            address = guest.executes() ? foreign_address(i) + ":0/1" : address;
        }
        if (!address.empty()) {
            const auto locks = hardware.rbd.locks(image);
            if (locks.empty() || locks.front().address != address) {
                hardware.rbd.unlock(image);
                hardware.rbd.lock(image, address);
            }
            crashed_.erase(number);
        } else if (!is_here && !crashed_.contains(number)) {
            hardware.rbd.unlock(image);
        }
    }
}

void cluster::disturb_hypervisors(std::optional<duration> time) {
    hypervisors_calm_from_ =
        std::max(hypervisors_calm_from_, time ? now() + *time + settle : time_point::max() - settle);
}

// A client's child of `state`, in the queue behind whoever was there before.
void cluster::with_guest_lock(std::int64_t number, std::function<void()> deed) {
    const std::string path = key_of(number, "/state");
    if (!ensemble.exists(path)) {
        return;
    }
    const auto session = ensemble.open_session();
    client_sessions_.push_back(session);
    const auto made = ensemble.create(path + "/6f892bb59b4541c699e870a841d1568b__lock__", "client",
                                      zookeeper::create_mode::ephemeral_sequential, session);
    if (made) {
        wait_turn({path, *made, session, now() + lock_patience}, std::move(deed));
    }
}

void cluster::wait_turn(const client_lock& mine, std::function<void()> deed) {
    if (!ensemble.exists(mine.child) || now() > mine.until) {
        if (ensemble.has_session(mine.session)) {
            ensemble.close_session(mine.session);
        }
        return;
    }
    const auto sequence = [](std::string_view child) { return child.substr(child.size() - sequence_digits); };
    const auto queue = ensemble.children(mine.path);
    const bool is_first =
        std::ranges::none_of(queue, [&](const auto& one) { return sequence(one) < sequence(mine.child); });
    if (!is_first) {
        later.after(lock_poll, [this, mine, deed = std::move(deed)] { wait_turn(mine, deed); });
        return;
    }
    deed();
    later.after(lock_held, [this, session = mine.session] {
        if (ensemble.has_session(session)) {
            ensemble.close_session(session);
        }
    });
}

void cluster::perform_on_hypervisor(const action& what, member& target) {
    sim_node& node = target.node;
    if (!node.settings.hypervisor) {
        return;
    }
    const bool starts = node.is_running() && !node.is_ready();
    if (what.lasts) {
        target.starts_well_from = std::max(target.starts_well_from, now() + *what.lasts);
    }
    const bool is_powered = node.guests().is_powered();
    disturb_hypervisors(what.lasts);
    switch (what.what) {
        case k::stop_libvirtd:
            if (is_powered) {
                node.guests().stop_libvirtd();
                lasting(what, &target, starts, [&node] { node.guests().continue_libvirtd(); });
            }
            break;
        case k::kill_libvirtd:
            if (is_powered) {
                node.guests().kill_libvirtd();
                lasting(what, &target, starts, [&node] { node.guests().start_libvirtd(); });
            }
            break;
        case k::break_storage:
            hardware.rbd.cut_off.insert(target.name());
            lasting(what, &target, false, [this, &target] { hardware.rbd.cut_off.erase(target.name()); });
            break;
        case k::break_names:
            node.guests().resolves_names = false;
            lasting(what, &target, false, [&node] { node.guests().resolves_names = true; });
            break;
        case k::few_threads:
            node.guests().threads_for_others = static_cast<std::size_t>(what.number);
            lasting(what, &target, false, [&node] { node.guests().threads_for_others = 0; });
            break;
        default:  // cut_hypervisor
            for (const auto& other : members) {
                if (other.get() != &target) {
                    hardware.centre.cut(target.name(), other->name());
                }
            }
            lasting(what, &target, false, [this, &target] {
                for (const auto& other : members) {
                    hardware.centre.join(target.name(), other->name());
                }
            });
    }
}

void cluster::heal_hypervisor(member& one) {
    sim_machine_guests& machine = one.node.guests();
    hypervisors_calm_from_ = now() + settle;
    machine.clear_faults();
    machine.resolves_names = true;
    machine.threads_for_others = 0;
    hardware.rbd.cut_off.erase(one.name());
    if (hung_.erase(one.number) > 0 && machine.is_powered()) {
        machine.break_connection();  // what hangs would go on hanging to its deadline
    }
    if (machine.is_powered()) {
        if (machine.libvirtd() == libvirtd_state::stopped) {
            machine.continue_libvirtd();
        } else if (machine.libvirtd() == libvirtd_state::down) {
            machine.start_libvirtd();
        }
    }
    for (const auto& other : members) {
        hardware.centre.join(one.name(), other->name());
    }
}

void cluster::define_guest(const action& what) {
    if (std::ranges::find(guests, what.number) != guests.end()) {
        return;
    }
    guests.push_back(what.number);
    disks_.insert(what.number);
    hardware.centre.call_it(guest_id(what.number), fmt::format("U{}", what.number));
    const std::string image = fmt::format("vms/vm{}", what.number);
    if (hardware.rbd.locks(image).empty()) {
        hardware.rbd.add_image(image);
    }
    ensemble.put(guest_keys(what.number, what.node, what.value));
}

// As `undefine`: stop, delete, and the keys are gone.
void cluster::undefine_guest(std::int64_t number) {
    const auto remove = [this, number] {
        ensemble.put(key_of(number, "/state"), "delete");
        later.after(lock_held, [this, number] {
            ensemble.remove_tree(key_of(number, ""));
            std::erase(guests, number);
        });
    };
    if (ensemble.get(key_of(number, "/state")) == "stop") {
        with_guest_lock(number, remove);
        return;
    }
    with_guest_lock(number, [this, number, remove] {
        ensemble.put(key_of(number, "/state"), "stop");
        later.after(lock_held + lock_poll, [this, number, remove] { with_guest_lock(number, remove); });
    });
}

void cluster::place_guest(std::int64_t number, const std::string& wanted, const std::string& how) {
    const auto read = [this, number](std::string_view suffix) {
        return ensemble.get(key_of(number, suffix)).value_or("");
    };
    const std::string from = read("/node");
    const std::string home = read("/lastnode");
    const bool goes_home = how == "unmigrate";
    const std::string to = goes_home ? home : wanted;
    const std::string before = read("/state");
    const bool is_flush = how == "flush";
    // That of the reference moves machines that are off too.
    const bool is_flushed = home.empty() && (before == "start" || before == "stop");
    if (to.empty() || from == to || from.empty() || (is_flush && !is_flushed)) {
        return;
    }
    const bool is_command = before == "start" || is_flush;
    const std::string state = !is_command ? before : how == "migrate-live" ? how : "migrate";
    const bool stays_away = how == "move" || goes_home;
    ensemble.put({{key_of(number, "/state"), state},
                  {key_of(number, "/node"), to},
                  {key_of(number, "/lastnode"), stays_away     ? ""
                                                : home.empty() ? from
                                                               : home}});
}

void cluster::call_goes_wrong(const action& what, member& target) {
    if (!target.node.settings.hypervisor) {
        return;
    }
    constexpr duration noticed = std::chrono::minutes(5);  // a call may wait for its deadline, and be made again
    disturb_hypervisors(noticed);
    sim_machine_guests& machine = target.node.guests();
    switch (what.what) {
        case k::fail_call:
            machine.fail_next(what.value, {hypervisor::call_error::other, "internal error: an injected failure"});
            break;
        case k::hang_call:
            machine.hang_next(what.value);
            hung_.insert(target.number);
            break;
        case k::delay_call: machine.delay_next(what.value, what.amount); break;
        default: machine.answer_next_late(what.value, what.amount); break;
    }
}

void cluster::perform_on_guest(const action& what) {
    const std::int64_t number = what.number;
    if (what.what >= k::fail_call && what.what <= k::late_call) {
        call_goes_wrong(what, *find(what.node));
        return;
    }
    if (what.what == k::define_guest) {
        define_guest(what);
        return;
    }
    if (what.what == k::order_node) {
        // As the reference's client: not what is so already.
        const std::string key = find(what.node)->root() + "/domainstate";
        const bool is_flush = what.value == "flush";
        if (ensemble.exists(find(what.node)->root()) && ensemble.get(key) != (is_flush ? "flushed" : "ready")) {
            ensemble.put(key, is_flush ? "flush" : "unflush");
        }
        return;
    }
    if (std::ranges::find(guests, number) == guests.end()) {
        return;
    }
    switch (what.what) {
        case k::undefine_guest: undefine_guest(number); break;
        case k::lose_key: ensemble.remove_tree(key_of(number, "/" + what.value)); break;
        case k::method_of_guest: ensemble.put(key_of(number, "/migration_method"), what.value); break;
        case k::set_guest:
            with_guest_lock(number, [this, number, state = what.value] {
                const bool needs_running = state == "shutdown" || state == "restart";
                const auto before = ensemble.get(key_of(number, "/state"));
                if (before && (!needs_running || before == "start")) {
                    ensemble.put(key_of(number, "/state"), state);
                }
            });
            break;
        case k::place_guest:
            if (what.value == "flush") {
                place_guest(number, what.node, what.value);  // a node's flush takes no lock
            } else {
                with_guest_lock(number,
                                [this, number, to = what.node, how = what.value] { place_guest(number, to, how); });
            }
            break;
        default: befall_guest(what);
    }
}

// What happens to the guest wherever it executes.
void cluster::befall_guest(const action& what) {
    const uuid id = guest_id(what.number);
    std::vector<sim_machine_guests*> machines = foreign_machines();
    for (const auto& one : members) {
        if (one->node.settings.hypervisor) {
            machines.push_back(&one->node.guests());
        }
    }
    for (auto* machine : machines) {
        if (!machine->executes(id)) {
            continue;
        }
        sim_guest& guest = machine->guest(id);
        if (what.what == k::power_off_guest) {
            guest.power_off();
        } else if (what.what == k::crash_guest) {
            crashed_.insert(what.number);
            guest.crash();
        } else {
            static constexpr std::array steps{
                std::pair("connect", migration_step::connect), std::pair("prepare", migration_step::prepare),
                std::pair("copy", migration_step::copy), std::pair("reply", migration_step::reply),
                std::pair("reply-gone", migration_step::reply)};
            const auto* const step =
                std::ranges::find_if(steps, [&](const auto& pair) { return what.value == pair.first; });
            guest.fail_migration(step == steps.end() ? migration_step::copy : step->second,
                                 {hypervisor::call_error::other, "an injected failure"},
                                 what.value == "reply-gone" ? source_copy::gone : source_copy::incoming);
        }
    }
}

}  // namespace pvc::sim
