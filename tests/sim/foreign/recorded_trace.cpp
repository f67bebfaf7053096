#include "sim/foreign/recorded_trace.hpp"

#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <fmt/format.h>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace pvc::sim {

namespace json = boost::json;

namespace {

constexpr std::size_t recorded_characters = 160;  // then three dots

std::string text_at(const json::object& line, std::string_view name) {
    const auto* found = line.if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

bool flag_at(const json::object& line, std::string_view name) {
    const auto* found = line.if_contains(name);
    return found != nullptr && found->is_bool() && found->as_bool();
}

bool is_number(std::string_view text) {
    return !text.empty() && text.size() < 16 &&
           std::ranges::all_of(
               text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; });
}

// The path with what differs from run to run replaced by its form.
std::string path_form(const std::string& path) {
    const auto slash = path.rfind('/');
    const auto child = model::parse_lock_child(std::string_view(path).substr(slash + 1));
    if (!child || child->guid.size() != 32) {
        return path;
    }
    return path.substr(0, slash + 1) + "<guid>" + std::string(model::tag_text(child->tag)) + "<sequence>";
}

std::string value_form(const trace_event& one) {
    const std::string_view name = std::string_view(one.path).substr(one.path.rfind('/') + 1);
    const bool varies =
        name == "keepalive" || name == "memused" || name == "memfree" || name == "cpuload" || name == "last_run";
    if (varies && is_number(one.value)) {
        return "<number>";
    }
    if (one.is_ephemeral && model::is_uuid(one.value)) {
        return "<uuid>";
    }
    return one.value;
}

std::string form(const trace_event& one) {
    return fmt::format("{} {}{} {}{}", one.by, one.what, one.is_ephemeral ? " ephemeral" : "", path_form(one.path),
                       one.what == "delete" ? std::string() : " = '" + value_form(one) + "'");
}

std::string line(const trace_event& one) {
    return fmt::format("{:9.3f}  {} {} {} '{}'", one.seconds, one.by, one.what, one.path, one.value);
}

// The events of one writer, with the number of its transaction instead of the ensemble's.
std::vector<trace_event> of_writer(const std::vector<trace_event>& all, const std::string& who) {
    std::vector<trace_event> own;
    std::int64_t last = 0;
    std::int64_t number = 0;
    for (const auto& one : all) {
        if (one.by != who) {
            continue;
        }
        number += one.zxid != last ? 1 : 0;
        last = one.zxid;
        own.push_back(one);
        own.back().zxid = number;
    }
    return own;
}

}  // namespace

std::vector<trace_event> read_trace(const std::string& file) {
    std::ifstream in(file);
    if (!in) {
        throw std::runtime_error("cannot read " + file);
    }
    std::vector<trace_event> events;
    std::string text;
    std::getline(in, text);  // the header
    while (std::getline(in, text)) {
        const json::object one = json::parse(text).as_object();
        const std::string what = text_at(one, "op");
        if (text_at(one, "src") != "zk" || (what != "create" && what != "set" && what != "delete")) {
            continue;
        }
        events.push_back({.seconds = one.at("rel").to_number<double>(),
                          .zxid = std::stoll(text_at(one, "zxid"), nullptr, 16),
                          .is_grouped = flag_at(one, "multi"),
                          .by = text_at(one, "by"),
                          .what = what,
                          .path = text_at(one, "path"),
                          .value = text_at(one, "value"),
                          .length = 0,
                          .is_ephemeral = flag_at(one, "ephemeral")});
        if (const auto* length = one.if_contains("len"); length != nullptr && length->is_number()) {
            events.back().length = length->to_number<std::size_t>();
        }
    }
    return events;
}

std::vector<trace_event> written_since(const memory_ensemble& ensemble, time_point start,
                                       const std::map<std::int64_t, std::string>& writers) {
    std::map<std::int64_t, std::size_t> operations;  // of each transaction, checks included
    for (const auto& change : ensemble.trace()) {
        ++operations[change.zxid];
    }
    std::vector<trace_event> events;
    for (const auto& change : ensemble.trace()) {
        std::string what;
        switch (change.what) {
            case recorded_kind::create: what = "create"; break;
            case recorded_kind::set: what = "set"; break;
            case recorded_kind::remove: what = "delete"; break;
            default: continue;
        }
        const auto writer = writers.find(change.session);
        if (change.when < start) {
            continue;
        }
        std::string value = change.data;
        if (value.size() > recorded_characters) {
            value = value.substr(0, recorded_characters) + "...";
        }
        events.push_back({.seconds = std::chrono::duration<double>(change.when - start).count(),
                          .zxid = change.zxid,
                          .is_grouped = operations[change.zxid] > 1,
                          .by = writer == writers.end() ? "unknown" : writer->second,
                          .what = std::move(what),
                          .path = change.path,
                          .value = std::move(value),
                          .length = change.data.size(),
                          .is_ephemeral = change.is_ephemeral && change.what == recorded_kind::create});
    }
    return events;
}

trace_comparison compare_traces(const std::vector<trace_event>& recorded, const std::vector<trace_event>& simulated,
                                double tolerance) {
    trace_comparison out;
    std::vector<std::string> writers;
    for (const auto* all : {&recorded, &simulated}) {
        for (const auto& one : *all) {
            if (std::ranges::find(writers, one.by) == writers.end()) {
                writers.push_back(one.by);
            }
        }
    }
    for (const auto& who : writers) {
        const auto left = of_writer(recorded, who);
        const auto right = of_writer(simulated, who);
        for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
            if (i >= left.size() || i >= right.size()) {
                const bool is_missing = i >= right.size();
                out.difference += fmt::format("{}: {} {}\n", who, is_missing ? "missing  " : "too much ",
                                              line(is_missing ? left[i] : right[i]));
                break;
            }
            const trace_event& a = left[i];
            const trace_event& b = right[i];
            const double delay = b.seconds - a.seconds;
            std::string why;
            if (form(a) != form(b)) {
                why = "differs";
            } else if (a.zxid != b.zxid || a.is_grouped != b.is_grouped) {
                why = "grouped otherwise";
            } else if (a.length != b.length && value_form(a) == a.value) {
                why = fmt::format("length {} instead of {}", b.length, a.length);
            } else if (std::abs(delay) > tolerance) {
                why = fmt::format("{:+.3f} s", delay);
            }
            ++out.events;
            if (std::abs(delay) > std::abs(out.largest_delay)) {
                out.largest_delay = delay;
                out.largest_at = line(a);
            }
            if (!why.empty()) {
                out.difference += fmt::format("{}: {}\n  recorded  {}\n  simulated {}\n", who, why, line(a), line(b));
                if (why == "differs") {
                    break;  // what follows is shifted
                }
            }
        }
    }
    return out;
}

}  // namespace pvc::sim
