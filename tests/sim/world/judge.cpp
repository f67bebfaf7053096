#include "sim/world/judge.hpp"

#include <algorithm>

namespace pvc::sim {

judge::judge(cluster& cluster_to_watch) : world(cluster_to_watch), lives_(world.members.size() + 1) {
    for (const rule* one : world.known.rules()) {
        const auto keep = [one](auto& where, bool looks) {
            if (looks) {
                where.push_back(one);
            }
        };
        keep(change_rules_, one->on_change != nullptr);
        keep(record_rules_, one->on_record != nullptr);
        keep(quiet_rules_, one->on_quiet != nullptr);
        if (one->on_second != nullptr || one->on_tenth_second != nullptr || one->of_member.wrong != nullptr) {
            second_rules_.push_back({one, std::vector<std::optional<member_rule::versions>>(lives_.size())});
        }
        if (one->on_begin != nullptr) {
            one->on_begin(*this);
        }
    }
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
        for (const rule* rule : world.known.rules()) {
            if (rule->on_exit != nullptr) {
                rule->on_exit(*this, one);
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
    for (const rule* one : record_rules_) {
        one->on_record(*this, change, writer);
    }
    if (change.what == recorded_kind::check) {
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
    for (const rule* one : change_rules_) {
        one->on_change(*this, seen);
    }
}

void judge::count_change(const std::string& path, std::string_view who, const std::string& value) {
    auto& before = last_state_[path];
    ++transitions[std::string(who) + ' ' + (before.empty() ? "-" : before) + ' ' + value];
    before = value;
}

void judge::count_word(const seen_change& seen) {
    if (seen.subject == nullptr) {
        return;
    }
    if (seen.writer == seen.subject && seen.what.what == recorded_kind::set) {
        count_change(seen.what.path, seen.suffix.substr(1), seen.what.data);
    } else {
        last_state_[seen.what.path] = seen.what.what == recorded_kind::remove ? "-" : seen.what.data.substr(0, 20);
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
    for (const rule* one : quiet_rules_) {
        one->on_quiet(*this);
    }
    if (!is_second) {
        return;
    }
    for (auto& one : second_rules_) {
        if (one.is->on_second != nullptr) {
            one.is->on_second(*this);
        }
        if (is_tenth_ && one.is->on_tenth_second != nullptr) {
            one.is->on_tenth_second(*this);
        }
        if (one.is->of_member.wrong != nullptr) {
            ask_of_members(one);
        }
    }
}

void judge::ask_of_members(second_rule& one) {
    const member_rule& asks = one.is->of_member;
    for (const auto& member : world.members) {
        if (!asks.is_judged(*this, *member)) {
            continue;
        }
        const auto reads = asks.reads(*this, *member);
        auto& right = one.right[member->number];
        if (reads && reads == right) {
            continue;
        }
        std::string wrong = asks.wrong(*this, *member);
        right = wrong.empty() ? reads : std::nullopt;
        if (!wrong.empty()) {
            say(one.is->name, std::move(wrong));
        }
    }
}

std::vector<std::string> judge::missing() const {
    std::vector<std::string> all;
    for (const progress* one : world.known.conditions()) {
        if (auto what = one->missing(*this)) {
            all.push_back(std::string(one->name) + ": " + *what);
        }
    }
    return all;
}

}  // namespace pvc::sim
