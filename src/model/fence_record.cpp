#include "pvcnoded/model/fence_record.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace pvc::model {

namespace {

constexpr std::size_t longest_record_id = 128;
constexpr std::size_t longest_coordinator = 253;
constexpr std::string_view hidden = "********";

bool is_of_id(unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
}

fence_moment moment_of(wall_time wall, boot_time boot) {
    using std::chrono::microseconds;
    return {wall_time(std::chrono::floor<microseconds>(wall.time_since_epoch())),
            boot_time(std::chrono::floor<microseconds>(boot.time_since_epoch()))};
}

}  // namespace

fence_moment fence_moment_of(const clock& now) {
    return moment_of(now.wall_now(), now.boot_now());
}

std::string_view to_text(fence_way what) {
    switch (what) {
        case fence_way::silence: return "silent";
        case fence_way::seen_off: return "seen without power";
        case fence_way::left_dead: return "left dead";
        case fence_way::left_fenced: return "left in its recovery";
        case fence_way::resumed: return "resumed";
        case fence_way::proven: return "resumed with a proof";
        case fence_way::recovering: return "recovery resumed";
        case fence_way::operator_word: return "confirmed by an operator";
    }
    return "silent";
}

std::string_view to_text(fence_outcome what) {
    switch (what) {
        case fence_outcome::under_way: return "under way";
        case fence_outcome::done: return "done";
        case fence_outcome::handed_on: return "handed on";
        case fence_outcome::failed: return "failed";
        case fence_outcome::passed: return "passed";
        case fence_outcome::node_back: return "node back";
        case fence_outcome::held_back: return "held back";
        case fence_outcome::unrecordable: return "not recordable";
        case fence_outcome::abandoned: return "abandoned";
        case fence_outcome::gone: return "gone";
    }
    return "under way";
}

std::string_view to_text(fence_proof_kind what) {
    switch (what) {
        case fence_proof_kind::power: return "power";
        case fence_proof_kind::lease: return "lease";
        case fence_proof_kind::operator_word: return "operator";
        case fence_proof_kind::storage: return "storage";
    }
    return "power";
}

std::string fence_record_id(wall_time begun, std::string_view node) {
    using namespace std::chrono;
    const auto since = floor<milliseconds>(begun.time_since_epoch());
    const auto day = floor<days>(since);
    const year_month_day date{sys_days(day)};
    const hh_mm_ss time(since - day);
    std::string name(node.substr(0, longest_record_id / 2));
    std::ranges::replace_if(name, [](unsigned char c) { return !is_of_id(c); }, '_');
    return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}.{:03}Z-{}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                       time.minutes().count(), time.seconds().count(), time.subseconds().count(), name);
}

bool is_fence_record_id(std::string_view text) {
    return !text.empty() && text.size() <= longest_record_id && text.front() != '.' && text.front() != '-' &&
           std::ranges::all_of(text, is_of_id);
}

bool is_fence_record_about(std::string_view id, std::string_view node) {
    const std::string wanted = fence_record_id({}, node);
    const auto time = fence_record_id({}, "").size();
    return id.size() >= time && id.substr(time) == std::string_view(wanted).substr(time);
}

std::string fence_answer_text(std::string text, std::string_view password) {
    const bool is_cut = text.size() >= fence_answer_bytes;
    for (auto at = password.empty() ? std::string::npos : text.find(password); at != std::string::npos;
         at = text.find(password, at + hidden.size())) {
        text.replace(at, password.size(), hidden);
    }
    // Where the answer was cut a part of it may stand at the end.
    for (std::size_t length = std::min(password.size(), text.size()); is_cut && length > 0; --length) {
        if (text.ends_with(password.substr(0, length))) {
            text.resize(text.size() - length);
            break;
        }
    }
    if (text.size() > fence_answer_bytes) {
        text.resize(fence_answer_bytes);
    }
    return text;
}

void add_fence_command(fence_record& to, fence_command what, std::string_view password) {
    what.output = fence_answer_text(std::move(what.output), password);
    what.errors = fence_answer_text(std::move(what.errors), password);
    what.read_as = fence_answer_text(std::move(what.read_as), password);
    if (!to.commands.empty()) {
        auto& last = to.commands.back();
        const bool is_same = last.what == what.what && last.status == what.status && last.output == what.output &&
                             last.errors == what.errors && last.read_as == what.read_as;
        if (is_same) {
            last.ended = what.ended;
            last.times += what.times;
            return;
        }
    }
    to.commands.push_back(std::move(what));
}

bool shorten_fence_record(fence_record& what, std::size_t most) {
    constexpr std::size_t machines_at_least = 100;
    const auto each = [&what](auto body) { std::ranges::for_each(what.machines, body); };
    for (int stage = 0; to_text(what).size() > most; ++stage) {
        what.is_shortened = true;
        switch (stage) {
            case 0:
                what.machines_left_out +=
                    std::erase_if(what.machines, [](const auto& one) { return one.outcome == "left alone"; });
                break;
            case 1:
                each([](auto& one) {
                    one.steps.clear();
                    one.locks.clear();
                });
                break;
            case 2:
                for (auto& one : what.commands) {
                    one.output.clear();
                    one.errors.clear();
                }
                break;
            case 3:
                each([](auto& one) {
                    one.clients.clear();
                    one.volumes.clear();
                });
                break;
            case 4:
                if (what.machines.size() > machines_at_least) {
                    what.machines_left_out += what.machines.size() - machines_at_least;
                    what.machines.resize(machines_at_least);
                }
                break;
            case 5: what.remark.resize(std::min(what.remark.size(), fence_answer_bytes)); break;
            default: return true;
        }
    }
    return what.is_shortened;
}

std::string to_text(const fence_proof_key& what) {
    return what.record + " " + what.coordinator + " " + std::string(to_text(what.kind));
}

std::optional<fence_proof_key> parse_fence_proof(std::string_view text) {
    if (text.size() > longest_record_id + longest_coordinator + 16) {
        return std::nullopt;
    }
    const auto words = split(text, ' ');
    if (words.size() != 3 || !is_fence_record_id(words[0]) || words[1].empty() ||
        words[1].size() > longest_coordinator || !std::ranges::all_of(words[1], is_of_id)) {
        return std::nullopt;
    }
    for (const auto kind : {fence_proof_kind::power, fence_proof_kind::lease, fence_proof_kind::operator_word}) {
        if (words[2] == to_text(kind)) {
            return fence_proof_key{std::string(words[0]), std::string(words[1]), kind};
        }
    }
    return std::nullopt;
}

}  // namespace pvc::model
