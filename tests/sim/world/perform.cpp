// What each kind of action does (action.hpp) to a cluster.
#include "sim/world/cluster.hpp"
#include "sim/world/guests.hpp"

#include <fmt/format.h>

namespace pvc::sim {

namespace {

using k = action_kind;

// Up to this a slow answer is none of a healthy node's concern.
constexpr duration harmless_delay = 300ms;

std::vector<std::string> locks_of(const memory_ensemble& ensemble, const std::string& path) {
    std::vector<std::string> found;
    for (const auto& name : ensemble.children(path)) {
        if (name.find("lock__") != std::string::npos) {
            found.push_back(path == "/" ? path + name : path + '/' + name);
        }
    }
    return found;
}

}  // namespace

void cluster::perform_now(const action& what, member* target) {
    ++performed[static_cast<std::size_t>(what.what)];
    hash.add(static_cast<std::uint64_t>(what.what));
    if (on_action) {
        on_action(what);
    }
    const bool names_a_place =
        what.what == k::make_primary || what.what == k::define_guest || what.what == k::place_guest;
    if (target == nullptr && !what.node.empty() && !names_a_place) {
        perform_on_foreign(what, *find_foreign(what.node));
    } else if (what.what <= k::upgrade) {
        perform_on_process(what, *target);
    } else if (what.what <= k::lose_answer) {
        perform_on_link(what, *target);
    } else if (what.what <= k::break_figures) {
        perform_on_machine(what, *target);
    } else if (what.what <= k::few_threads) {
        perform_on_hypervisor(what, *target);
    } else if (what.what <= k::thaw_servers) {
        perform_on_servers(what);
    } else if (what.what >= k::define_guest && what.what <= k::fail_migration) {
        perform_on_guest(what);
    } else if (what.what != k::heal) {
        perform_as_client(what);
    } else {
        heal();
    }
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

// What can befall a node that is only a script: its process and its connections.
void cluster::perform_on_foreign(const action& what, foreign_node& target) {
    const auto restart_later = [this, &target](duration delay) {
        later.after(delay, [this, &target] { start_foreign(target); });
    };
    switch (what.what) {
        case k::start: start_foreign(target); break;
        case k::terminate:
            if (target.is_running()) {
                target.terminate();
            }
            break;
        case k::kill:
        case k::power_off:
            target.kill();
            if (what.what == k::power_off && target.settings.machines != nullptr) {
                sim_machine_guests& machine = hardware.centre.machine(target.settings.name);
                for (const auto number : guests) {
                    if (machine.executes(guest_id(number))) {
                        crashed_.insert(number);
                    }
                }
                machine.lose_power();
            }
            if (what.lasts) {
                restart_later(*what.lasts);
            }
            break;
        case k::cut:
            target.link().cut();
            if (what.lasts) {
                later.after(*what.lasts, [&target] { target.link().mend(); });
            }
            break;
        case k::mend: target.link().mend(); break;
        case k::drop: target.link().drop(in_flight::applied); break;
        case k::expire: target.link().expire_sessions(); break;
        default: break;
    }
}

void cluster::perform_on_process(const action& what, member& target) {
    sim_node& node = target.node;
    switch (what.what) {
        case k::start:
            if (!node.is_running()) {
                start(target);
            }
            break;
        case k::terminate:
            target.is_wanted = false;
            if (node.is_running()) {
                terminate(target);
            }
            break;
        case k::kill:
        case k::power_off: {
            ++target.life;
            disturb(target, what.lasts);
            if (what.what == k::kill) {
                node.kill();
            } else {
                for (const auto number : guests) {
                    if (node.settings.hypervisor && node.guests().executes(guest_id(number))) {
                        crashed_.insert(number);
                    }
                }
                node.lose_power();
                target.is_powered = false;
            }
            target.is_wanted = what.lasts.has_value();
            if (what.lasts) {
                later.after(*what.lasts, [this, &target, life = target.life] {
                    if (target.life == life && !target.node.is_running()) {
                        start(target);
                    }
                });
            }
            break;
        }
        case k::pause:
            if (node.is_paused()) {
                break;  // it stands still already, or its machine sleeps: whoever did that ends it
            }
            node.pause();
            lasting(what, &target, true, [&node] { node.resume(); });
            break;
        case k::pause_with_answer:
            node.connector.link().on_request = [this, &target, lasts = what.lasts,
                                                done = false](const zookeeper::request&) mutable {
                if (!std::exchange(done, true)) {
                    // The answer is on its way, and arrives while nobody reads.
                    later.after(500us, [this, &target, lasts] {
                        action stop(k::pause, target.name());
                        stop.lasts = lasts;
                        perform_on_process(stop, target);
                    });
                }
                return verdict::answer;
            };
            break;
        case k::resume:
            ++target.applied[static_cast<std::size_t>(k::suspend)];
            node.resume();
            end_fault(&target);
            break;
        default:  // upgrade
            node.settings.schema_limit = std::to_string(what.number);
            if (node.is_running()) {
                terminate(target);
                target.is_wanted = true;  // and so it comes back
            }
    }
}

void cluster::perform_on_link(const action& what, member& target) {
    sim_node& node = target.node;
    const auto link = [&node]() -> memory_link& { return node.connector.link(); };
    const bool is_slow = what.amount > harmless_delay;
    switch (what.what) {
        case k::cut:
            link().cut();
            lasting(what, &target, true, [link] { link().mend(); });
            break;
        case k::mend:
            link().mend();
            end_fault(&target);
            break;
        case k::drop:
            link().drop(in_flight::applied);
            disturb(target, std::nullopt);
            break;
        case k::silence:
            link().silence();
            lasting(what, &target, true, [link] { link().end_silence(); });
            break;
        case k::end_silence:
            link().end_silence();
            end_fault(&target);
            break;
        case k::expire:
            link().expire_sessions();
            disturb(target, std::nullopt);
            break;
        case k::close_session:
            if (ensemble.has_session(link().session_id())) {
                ensemble.close_session(link().session_id());
            }
            disturb(target, std::nullopt);
            break;
        case k::latency:
            link().latency = what.amount;
            lasting(what, &target, is_slow, [link] { link().latency = 1ms; });
            break;
        case k::answer_delay:
            link().write_answer_delay = what.amount;
            lasting(what, &target, is_slow, [link] { link().write_answer_delay = {}; });
            break;
        case k::watch_delay:
            // Answers queue behind an event that is late: the order of a connection stays.
            link().watch_delay = what.amount;
            lasting(what, &target, is_slow, [link] { link().watch_delay = {}; });
            break;
        case k::lag:
            link().lag = what.amount;
            lasting(what, &target, is_slow, [link] { link().lag = {}; });
            break;
        case k::hold_answers:
            link().hold_answers();
            lasting(what, &target, true, [link] { link().release_answers(); });
            break;
        case k::release_answers:
            link().release_answers();
            end_fault(&target);
            break;
        default: {  // drop_next, lose_answer
            const auto how = what.what == k::drop_next ? verdict::drop_before : verdict::drop_after;
            disturb(target, std::nullopt);
            link().on_request = [how, done = false](const zookeeper::request& request) mutable {
                if (done || !request.is_write()) {
                    return verdict::answer;
                }
                done = true;
                return how;
            };
        }
    }
}

void cluster::perform_on_machine(const action& what, member& target) {
    sim_node& node = target.node;
    // A running daemon must not mind; one that is starting, or is started meanwhile, has to wait.
    const bool starts = node.is_running() && !node.is_ready();
    if (what.lasts) {
        target.starts_well_from = std::max(target.starts_well_from, now() + *what.lasts);
    }
    switch (what.what) {
        case k::step_clock:
            node.clock.step_wall(what.amount);
            target.clock_stepped = now();
            break;
        case k::drift:
            node.clock.set_rate(1.0 + static_cast<double>(what.number) / 1e6);
            lasting(what, &target, false, [&node] { node.clock.set_rate(1.0); });
            break;
        case k::suspend:
            if (node.is_running() && !node.is_paused()) {
                node.pause();
                node.clock.fall_asleep();
                auto& sleeps = target.applied[static_cast<std::size_t>(k::suspend)];
                later.after(what.amount, [&node, life = target.life, &target, mine = ++sleeps] {
                    // Somebody may have woken it, and put it to sleep again.
                    const bool is_this_sleep = target.applied[static_cast<std::size_t>(k::suspend)] == mine;
                    if (is_this_sleep && node.is_paused() && target.life == life) {
                        node.resume();
                    }
                });
                disturb(target, what.amount);
            }
            break;
        case k::hang_disk:
            node.host.disk_time = 1h;
            lasting(what, &target, starts, [&node] { node.host.disk_time = 1ms; });
            break;
        case k::break_disk:
            node.host.is_full = true;
            lasting(what, &target, starts, [&node] { node.host.is_full = false; });
            break;
        case k::break_log:
            node.standard_output->fails = node.log_file->fails = failure(errc::io, "pvc.log", "Input/output error");
            lasting(what, &target, starts, [&node] { node.standard_output->fails = node.log_file->fails = {}; });
            break;
        case k::fill_pool:
            node.pool.set_full(true);
            lasting(what, &target, starts, [&node] { node.pool.set_full(false); });
            break;
        case k::break_services:
            node.services.set_answer_time(1h);
            lasting(what, &target, starts, [&node] { node.services.set_answer_time(2ms); });
            break;
        case k::slow_services:
            node.services.set_answer_time(what.amount);
            lasting(what, &target, starts, [&node] { node.services.set_answer_time(2ms); });
            break;
        default: {  // break_figures
            node.host.meminfo_text = failure(errc::io, "/proc/meminfo");
            node.host.loadavg_text = std::string("garbage");
            lasting(what, &target, false, [&node] {
                node.host.meminfo_text = std::string(
                    "MemTotal: 16384000 kB\nMemFree: 8192000 kB\n"
                    "MemAvailable: 12288000 kB\n");
                node.host.loadavg_text = std::string("0.10 0.20 0.30 1/200 4711\n");
            });
        }
    }
}

void cluster::perform_on_servers(const action& what) {
    switch (what.what) {
        case k::stop_servers:
            ensemble.stop();
            lasting(what, nullptr, true, [this] { ensemble.start(); });
            break;
        case k::start_servers:
            ensemble.start();
            end_fault(nullptr);
            break;
        case k::freeze_servers:
            ensemble.freeze();
            lasting(what, nullptr, true, [this] { ensemble.thaw(); });
            break;
        default:
            ensemble.thaw();
            end_fault(nullptr);
            break;
    }
}

void cluster::perform_as_client(const action& what) {
    switch (what.what) {
        case k::put: ensemble.put(what.path, what.value); break;
        case k::put_big: ensemble.put(what.path, std::string(static_cast<std::size_t>(what.number), 'x')); break;
        case k::remove: ensemble.remove_tree(what.path); break;
        case k::make_primary:
            // As the reference's client: without a look at what is there.
            ensemble.put("/config/primary_node", what.node);
            break;
        case k::maintenance: {
            const bool on = what.value == "on" || what.value == "true";
            ensemble.put("/config/maintenance", on ? "true" : "false");
            lasting(what, nullptr, false, [this] { ensemble.put("/config/maintenance", "false"); });
            break;
        }
        case k::hold_lock: {
            if (!ensemble.exists(what.path)) {
                break;
            }
            const auto session = ensemble.open_session();
            if (what.lasts) {
                later.after(*what.lasts, [this, session] {
                    if (ensemble.has_session(session)) {
                        ensemble.close_session(session);
                    }
                });
            }
            client_sessions_.push_back(session);
            for (auto& one : members) {  // whoever starts waits for it a while
                one->starts_well_from = std::max(one->starts_well_from, now() + what.lasts.value_or(1min));
                if (one->node.is_running() && !one->node.is_ready()) {
                    disturb(*one, what.lasts);
                }
            }
            const auto made = ensemble.create(what.path + "/6f892bb59b4541c699e870a841d1568b__lock__", "client",
                                              zookeeper::create_mode::ephemeral_sequential, session);
            ignore(made, "a lock of a client that comes too late is none");
            break;
        }
        case k::break_lock:
            for (const auto& child : locks_of(ensemble, what.path)) {
                const auto gone = ensemble.remove(child);
                ignore(gone, "it was there a moment ago");
            }
            break;
        default:  // add_domains
            for (std::int64_t i = 0; i < what.number; ++i) {
                ++domains_;
                ensemble.put(fmt::format("/domains/6f892bb5-9b45-41c6-99e8-{:012x}", domains_),
                             fmt::format("vm{}", domains_));
            }
    }
}

void cluster::heal() {
    later.clear();
    delayed_.clear();
    if (!ensemble.is_up()) {
        ensemble.start();
    }
    if (ensemble.is_frozen()) {
        ensemble.thaw();
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
    for (auto& one : members) {
        sim_node& node = one->node;
        for (auto& counter : one->applied) {
            ++counter;
        }
        node.resume();
        memory_link& link = node.connector.link();
        link.on_request = nullptr;
        link.latency = 1ms;
        link.answer_delay = link.write_answer_delay = link.watch_delay = link.lag = {};
        if (link.is_cut()) {
            link.mend();
        }
        if (link.is_silent()) {
            link.end_silence();
        }
        link.release_answers();
        node.clock.set_rate(1.0);
        node.host.disk_time = 1ms;
        node.host.is_full = false;
        node.standard_output->fails = node.log_file->fails = {};
        node.pool.set_full(false);
        node.services.set_answer_time(2ms);
        if (node.settings.hypervisor) {
            heal_hypervisor(*one);
        }
        node.host.meminfo_text = std::string("MemTotal: 16384000 kB\nMemFree: 8192000 kB\nMemAvailable: 12288000 kB\n");
        node.host.loadavg_text = std::string("0.10 0.20 0.30 1/200 4711\n");
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

}  // namespace pvc::sim
