#include "pvcnoded/control/metrics.hpp"

#include <fmt/format.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace pvc::control {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view metric_prefix = "pvcnoded_";
constexpr duration heartbeat_allowance = 2s;  // that one may take to be acknowledged

bool is_metric_name(std::string_view name) {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && std::ranges::all_of(name, fits);
}

// Quotes are escaped in label values only.
void append_escaped(std::string& to, std::string_view text, bool is_label) {
    for (const char c : text) {
        if (c == '\\') {
            to += "\\\\";
        } else if (c == '\n') {
            to += "\\n";
        } else if (c == '"' && is_label) {
            to += "\\\"";
        } else {
            to += c;
        }
    }
}

// {a="x",b="y"}; nothing for none.
std::string labels_text(std::span<const core::metric_label> by) {
    std::string text;
    for (const auto& one : by) {
        text += text.empty() ? '{' : ',';
        text += one.name;
        text += "=\"";
        append_escaped(text, one.value, true);
        text += '"';
    }
    return text.empty() ? text : text + '}';
}

}  // namespace

metrics_text::family* metrics_text::family_of(std::string_view name, std::string_view help, std::string_view type) {
    if (!is_metric_name(name)) {
        return nullptr;
    }
    const auto found = families_.find(name);
    if (found == families_.end()) {
        return &families_.emplace(std::string(name), family{type, std::string(help), {}, {}}).first->second;
    }
    return found->second.type == type && found->second.help == help ? &found->second : nullptr;
}

void metrics_text::add(kind what, std::string_view name, std::string_view help, double value,
                       std::span<const core::metric_label> by) {
    const bool is_named = std::ranges::all_of(by, [](const auto& one) { return is_metric_name(one.name); });
    const bool is_usable = is_named && std::isfinite(value) && samples_ < samples_max;
    family* to = is_usable ? family_of(name, help, what == kind::gauge ? "gauge" : "counter") : nullptr;
    std::string labels = labels_text(by);
    if (to == nullptr || to->labels.contains(labels)) {
        ++refused_;
        return;
    }
    fmt::format_to(std::back_inserter(to->lines), "{}{}{} {}\n", metric_prefix, name, labels, value);
    to->labels.insert(std::move(labels));
    ++samples_;
}

void metrics_text::times(std::string_view name, std::string_view help, const histogram& of) {
    const std::size_t lines = histogram::bounds.size() + 3;
    family* to = samples_ + lines <= samples_max ? family_of(name, help, "histogram") : nullptr;
    if (to == nullptr || !to->lines.empty()) {
        ++refused_;
        return;
    }
    auto out = std::back_inserter(to->lines);
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < histogram::bounds.size(); ++i) {
        so_far += of.count(i);
        fmt::format_to(out, "{}{}_bucket{{le=\"{}\"}} {}\n", metric_prefix, name,
                       core::metric_seconds(histogram::bounds[i]), so_far);
    }
    fmt::format_to(out, "{0}{1}_bucket{{le=\"+Inf\"}} {2}\n{0}{1}_sum {3}\n{0}{1}_count {2}\n", metric_prefix, name,
                   of.total(), core::metric_seconds(of.sum()));
    samples_ += lines;
}

std::string metrics_text::text() const {
    std::string page;
    for (const auto& [name, one] : families_) {
        page += fmt::format("# HELP {}{} ", metric_prefix, name);
        append_escaped(page, one.help, false);
        page += fmt::format("\n# TYPE {}{} {}\n", metric_prefix, name, one.type);
        page += one.lines;
    }
    return page;
}

std::optional<std::string> ill_health(const node::daemon& of) {
    const auto& node = of.context();
    if (node.stopping.value()) {
        return "the daemon stops";
    }
    if (!node.started) {
        const auto& phase = policy::info_of(of.view().phase);
        return fmt::format("the daemon starts: S{}, {}", phase.number, phase.name);
    }
    const duration age = node.heartbeat_age();
    if (age <= 2 * node.times.keepalive + heartbeat_allowance) {
        return std::nullopt;
    }
    if (!node.heartbeat_sent) {
        return "no heartbeat was acknowledged yet";
    }
    return fmt::format("the last acknowledged heartbeat is {} s old",
                       std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

http_answer web_pages::at(std::string_view path) const {
    if (path == "/metrics") {
        return metrics();
    }
    if (path == "/healthz") {
        return health();
    }
    if (path == "/v1/report") {
        return report();
    }
    http_answer said;
    said.status = 404;
    said.body = "there is nothing here; /metrics, /healthz and /v1/report are\n";
    return said;
}

http_answer web_pages::metrics() const {
    metrics_text sheet;
    for (const auto* one : sources_) {
        one->put_metrics(sheet);
    }
    daemon_.put_metrics(sheet);
    const auto ill = ill_health(daemon_);
    sheet.gauge("healthy", "1 while /healthz says ok.", ill ? 0 : 1);
    sheet.gauge("samples_refused", "Figures that this page leaves out, as they do not fit it: a defect.",
                static_cast<double>(sheet.refused()));
    return {200, "text/plain; version=0.0.4; charset=utf-8", sheet.text()};
}

http_answer web_pages::health() const {
    const auto ill = ill_health(daemon_);
    http_answer said;
    said.status = ill ? 503 : 200;
    said.body = ill.value_or("ok") + "\n";
    return said;
}

http_answer web_pages::report() const {
    const auto ill = ill_health(daemon_);
    const auto now = daemon_.context().clock().wall_now().time_since_epoch();
    const boost::json::object report{
        {"collector", "pvcnoded"},
        {"version", daemon_.implementation()},
        {"format_version", 1},
        {"node", daemon_.context().self()},
        {"time_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()},
        {"status", {{"code", ill ? 1 : 0}, {"message", ill.value_or("ok")}}},
    };
    return {200, "application/json", boost::json::serialize(report) + "\n"};
}

}  // namespace pvc::control
