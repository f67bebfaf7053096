#include "pvcnoded/policy/placement/target_selection.hpp"

#include "pvcnoded/policy/placement/target_objection.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::policy {

namespace {

struct spelling {
    target_selector selector;
    std::string_view word;
    std::string_view superlative;
};
constexpr std::array spellings = {
    spelling{target_selector::mem, "mem", "most free memory ({} MiB)"},
    spelling{target_selector::memprov, "memprov", "most unprovisioned memory ({} MiB)"},
    spelling{target_selector::load, "load", "lowest load ({})"},
    spelling{target_selector::vcpus, "vcpus", "fewest allocated vCPUs ({})"},
    spelling{target_selector::vms, "vms", "fewest virtual machines ({})"},
};

// No node has so much of anything; garbage beyond it must not overflow a sum.
constexpr std::int64_t figure_max = std::int64_t{1} << 50;
// A node with this much or more is never chosen (the start value of the published search).
constexpr double worst = 9999.0;

const spelling& row_of(target_selector selector) {
    return *std::ranges::find(spellings, selector, &spelling::selector);
}

std::optional<std::int64_t> figure(std::string_view text) {
    const auto number = parse_integer(trim(text));
    return number && *number >= -figure_max && *number <= figure_max ? number : std::nullopt;
}

// What the larger of is better; empty: this node cannot be compared, or is out of the question.
struct score {
    double rank = 0;
    std::string shown;
};

std::optional<score> highest(std::optional<std::int64_t> number) {
    return number ? std::optional(score{static_cast<double>(*number), std::to_string(*number)}) : std::nullopt;
}

std::optional<score> lowest(std::optional<double> number, std::string shown) {
    if (!number || *number >= worst) {
        return std::nullopt;
    }
    return score{-*number, std::move(shown)};
}

std::optional<score> score_of(target_selector selector, const node_offer& node) {
    switch (selector) {
        case target_selector::mem: {
            const auto free = figure(node.memfree);
            return free && *free > 0 ? highest(free) : std::nullopt;
        }
        case target_selector::memprov: {
            const auto used = figure(node.memused);
            const auto free = figure(node.memfree);
            const auto provisioned = figure(node.memprov);
            // The best is taken even if it is none at all: refusing every node would turn a flush into shutdowns.
            return used && free && provisioned ? highest(*used + *free - *provisioned) : std::nullopt;
        }
        case target_selector::load: return lowest(model::parse_float(node.cpuload), std::string(trim(node.cpuload)));
        case target_selector::vcpus:
        case target_selector::vms: {
            const auto number = figure(selector == target_selector::vcpus ? node.vcpualloc : node.domainscount);
            return number ? lowest(static_cast<double>(*number), std::to_string(*number)) : std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_text(target_selector selector) {
    return row_of(selector).word;
}

std::optional<target_selector> parse_target_selector(std::string_view text) {
    const std::string word = lower(trim(text));
    const auto* const found = std::ranges::find(spellings, word, &spelling::word);
    return found == spellings.end() ? std::nullopt : std::optional(found->selector);
}

target_selector effective_selector(std::string_view of_domain, std::string_view of_cluster,
                                   std::string_view configured) {
    for (const auto text : {of_domain, of_cluster, configured}) {
        if (const auto selector = parse_target_selector(text)) {
            return *selector;
        }
    }
    return target_selector::mem;
}

bool takes_domains(const node_offer& node) {
    return node.daemon == model::daemon_state::run && node.domain == model::domain_state::ready;
}

bool is_allowed(const target_request& request, std::string_view node) {
    return request.limit.empty() || std::ranges::find(request.limit, node) != request.limit.end();
}

std::string_view to_text(target_objection why) {
    switch (why) {
        case target_objection::none: return "can take it";
        case target_objection::is_current: return "has it now";
        case target_objection::not_allowed: return "is not in its node_limit";
        case target_objection::not_running: return "is not in state run";
        case target_objection::not_ready: return "is not ready (flushed, or about to be)";
        case target_objection::no_figure: return "offers nothing that can be compared";
    }
    return {};
}

target_objection objection_to(const target_request& request, const node_offer& node) {
    if (node.name == request.current) {
        return target_objection::is_current;
    }
    if (!is_allowed(request, node.name)) {
        return target_objection::not_allowed;
    }
    if (!takes_domains(node)) {
        return node.daemon == model::daemon_state::run ? target_objection::not_ready : target_objection::not_running;
    }
    return score_of(request.selector, node) ? target_objection::none : target_objection::no_figure;
}

std::optional<target_choice> select_target(const target_request& request, std::vector<node_offer> nodes) {
    std::ranges::sort(nodes, {}, &node_offer::name);
    const node_offer* best = nullptr;
    score best_score;
    for (const auto& node : nodes) {
        if (objection_to(request, node) != target_objection::none) {
            continue;
        }
        auto its = score_of(request.selector, node);
        if (its && (best == nullptr || its->rank > best_score.rank)) {
            best = &node;
            best_score = *std::move(its);
        }
    }
    if (best == nullptr) {
        return std::nullopt;
    }
    return target_choice{best->name, fmt::format(fmt::runtime(row_of(request.selector).superlative), best_score.shown)};
}

}  // namespace pvc::policy
