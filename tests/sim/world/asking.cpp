#include "sim/world/asking.hpp"

#include "sim/world/asker.hpp"

#include <algorithm>
#include <utility>

namespace pvc::sim {

namespace {

constexpr std::uint16_t metrics_port = 9711;
constexpr std::uint64_t steps_between_deeds = 5;  // of those who ask, on average

}  // namespace

askers::host::host(sim_node& of) : node(of), machine(of.clock) {
    node.settings.control_group = "operators";
    node.settings.metrics_port = metrics_port;
    machine.local.groups["operators"] = 990;
}

askers::host::~host() {
    clients.clear();
    node.beside = nullptr;
    node.drop_beside();
}

askers::askers(cluster& of, std::uint64_t seed)
    : world_(of), random_(random_source(seed).split("those who ask")), clients_max_(random_.below(4) == 0 ? 60 : 8) {
    for (const auto& one : world_.members) {
        host& added = *hosts_.emplace_back(std::make_unique<host>(one->node));
        one->node.beside = [this, &added] {
            auto made = std::make_unique<asked_servers>(added.node, added.machine, random_.next());
            added.servers = made.get();
            return made;
        };
    }
}

askers::~askers() = default;

void askers::say(const host& of, const std::string& what) {
    if (!broken_) {
        broken_ = of.node.settings.name + ": " + what;
    }
}

void askers::step() {
    for (const auto& one : hosts_) {
        const bool stood = std::exchange(one->is_standing, one->node.is_paused());
        if (stood || one->is_standing) {  // what it was asked meanwhile it could not answer yet
            one->stood_still = world_.now();
        }
    }
    if (random_.below(steps_between_deeds) == 0) {
        act(*hosts_[random_.below(hosts_.size())]);
    }
    const bool is_last_chance = world_.loop.context().is_idle();  // the next step lets time pass
    for (const auto& one : hosts_) {
        serve(*one, is_last_chance);
    }
}

void askers::serve(host& one, bool is_last_chance) {
    if (one.machine.left_behind) {
        say(one, *one.machine.left_behind);
    }
    if (!one.node.is_running()) {
        return;
    }
    if (is_last_chance) {
        one.servers->run_all();
    } else {
        one.servers->run_some(random_.below(4));
    }
    for (const auto& line : one.machine.log.lines) {
        if (!line.starts_with("metrics are at ")) {
            say(one, "the servers logged: " + line);
        }
    }
    one.machine.log.lines.clear();
}

void askers::act(host& one) {
    if (one.clients.size() < clients_max_ && random_.below(3) == 0) {
        come(one);
        return;
    }
    if (one.clients.empty()) {
        return;
    }
    const std::size_t chosen = random_.below(one.clients.size());
    asker& next = *one.clients[chosen];
    const asked_view seen{world_.now(), one.stood_still, one.node.lives(), one.node.is_running()};
    const bool stays = next.turn(seen, seen_);
    if (next.broken()) {
        say(one, *next.broken());
    }
    if (!stays) {
        one.clients.erase(one.clients.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
}

// Also while nobody listens: then it cannot be done.
void askers::come(host& one) {
    const auto how = static_cast<asker::manner>(random_.below(asker::manners));
    const asked_view seen{world_.now(), one.stood_still, one.node.lives(), one.node.is_running()};
    const std::string path = one.node.is_running() ? one.servers->path() : std::string();
    auto made =
        asker::come(how, one.machine.local, path, one.machine.tcp, metrics_port, random_.split(random_.next()), seen);
    ++seen_[made ? "connected" : "not connected"];
    if (made && made->turn(seen, seen_)) {
        one.clients.push_back(std::move(made));
    }
}

}  // namespace pvc::sim
