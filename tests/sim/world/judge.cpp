#include "sim/world/judge.hpp"

#include "sim/world/guest_rules.hpp"

#include <algorithm>

namespace pvc::sim {

judge::judge(cluster& cluster_to_watch) : world(cluster_to_watch), lives_(world.members.size() + 1) {
    for (const auto& rule : all_invariants()) {
        if (rule.on_quiet != nullptr) {
            quiet_rules_.push_back(rule.on_quiet);
        }
    }
    listen_to_hypervisors(*this);
    world.ensemble.observe([this](const recorded_change& change) { on_change(change); });
    world.on_hypervisor_call.emplace_back([this](const std::string& /*machine*/, const std::string& call) {
        ++transitions["libvirt " + call.substr(0, call.find(' '))];
    });
    world.on_start = [this](member& one) {
        life_record fresh;
        fresh.started = world.now();
        fresh.beats_count_from = world.now() + cluster::settle;
        lives_[one.number] = fresh;
    };
    world.on_stop_request = [this](member& one) {
        life_record& life = lives_[one.number];
        if (!life.asked_to_stop) {
            life.asked_to_stop = world.now();
            life.was_calm_while_stopping = world.is_calm(one);
        }
    };
    world.on_exit = [this](member& one) {
        ++transitions["exit " + std::to_string(*one.last_exit)];
        for (const auto& rule : all_invariants()) {
            if (rule.on_exit != nullptr) {
                rule.on_exit(*this, one);
            }
        }
    };
}

void judge::say(std::string_view name, std::string what) {
    if (!broken_) {
        broken_ = violation{std::string(name), std::move(what), world.now(), steps};
    }
}

void judge::on_change(const recorded_change& change) {
    const bool is_members = change.owner > 0 && change.owner <= world.members.size();
    member* const writer = is_members ? world.members[change.owner - 1].get() : nullptr;
    transactions_rest_on_what_was_read(*this, change, writer);
    if (unchecked_zxid != 0 && change.zxid != unchecked_zxid) {
        say("lock_is_held", unchecked_write);
        unchecked_zxid = 0;
    }
    if (change.what == recorded_kind::check) {
        if (change.path.find("lock__") != std::string::npos) {
            unchecked_zxid = 0;
            check_zxid = change.zxid;
            check_path = change.path;
        }
        return;
    }
    seen_change seen{change, writer};
    static constexpr std::string_view records = "/nodes/";
    if (change.path.starts_with(records)) {
        const std::string_view rest = std::string_view(change.path).substr(records.size());
        const auto end = std::min(rest.find('/'), rest.size());
        seen.subject = world.find(rest.substr(0, end));
        seen.suffix = rest.substr(end);
    }
    for (const auto& rule : all_invariants()) {
        if (rule.on_change != nullptr) {
            rule.on_change(*this, seen);
        }
    }
    if (seen.writer != nullptr && change.path == "/schema/version" && change.what == recorded_kind::set) {
        ++transitions["schema raised"];
    }
    if (change.path.starts_with("/domains/") && change.path.ends_with("/state") &&
        change.what != recorded_kind::remove) {
        auto& before = last_state_[change.path];
        ++transitions[std::string(seen.writer != nullptr ? "machine " : "client ") + (before.empty() ? "-" : before) +
                      ' ' + change.data];
        before = change.data;
    }
    if (seen.subject != nullptr && seen.writer == seen.subject && change.what == recorded_kind::set &&
        (seen.suffix == "/daemonstate" || seen.suffix == "/routerstate")) {
        auto& before = last_state_[change.path];
        ++transitions[std::string(seen.suffix.substr(1)) + ' ' + (before.empty() ? "-" : before) + ' ' + change.data];
        before = change.data;
    } else if (seen.subject != nullptr && (seen.suffix == "/daemonstate" || seen.suffix == "/routerstate")) {
        last_state_[change.path] = change.what == recorded_kind::remove ? "-" : change.data.substr(0, 20);
    }
}

void judge::look() {
    ++steps;
    ++steps_at_this_moment;
    if (world.now() != last_now_) {
        last_now_ = world.now();
        steps_at_this_moment = 0;
    } else if (steps_at_this_moment > 200'000) {
        say("no_busy_loop", "200,000 steps without any time passing");
    }
    if (!world.is_quiet()) {
        return;
    }
    const bool is_second = world.now() >= next_second_;
    if (is_second) {
        next_second_ = world.now() + 1s;
        is_tenth_ = ++seconds_ % 10 == 0;
    }
    if (!is_second) {
        for (const auto rule : quiet_rules_) {
            rule(*this);
        }
        return;
    }
    for (const auto& rule : all_invariants()) {
        if (rule.on_quiet != nullptr) {
            rule.on_quiet(*this);
        }
        if (rule.on_second != nullptr) {
            rule.on_second(*this);
        }
        if (is_tenth_ && rule.on_tenth_second != nullptr) {
            rule.on_tenth_second(*this);
        }
    }
}

std::vector<std::string> judge::missing() const {
    std::vector<std::string> all;
    for (const auto& one : all_progress()) {
        if (auto what = one.missing(*this)) {
            all.push_back(std::string(one.name) + ": " + *what);
        }
    }
    return all;
}

}  // namespace pvc::sim
