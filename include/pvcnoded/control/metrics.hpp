// The pages of the HTTP server (docs/metrics.md): metrics in the text format 0.0.4 of Prometheus, health, and a report.
// All from memory, at once; asking changes nothing. No page names a virtual machine: who may ask is not known here.
#pragma once

#include "pvcnoded/control/http.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/node/daemon.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::control {

// Writes figures down. What does not fit the format (a name with other characters, another kind or help under the same
// name, a figure twice, no number) is left out and counted, and so is what goes beyond `samples_max`.
class metrics_text final : public core::metrics_sheet {
public:
    static constexpr std::size_t samples_max = 1000;

    void times(std::string_view name, std::string_view help, const histogram& of) override;
    // All metrics, in the order of the alphabet, each with its help and its kind; of one, in the order of their coming.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::size_t refused() const { return refused_; }

protected:
    void add(kind what, std::string_view name, std::string_view help, double value,
             std::span<const core::metric_label> by) override;

private:
    struct family {
        std::string_view type;  // with static lifetime
        std::string help;
        std::string lines;
        std::set<std::string, std::less<>> labels;  // of the samples that it has
    };
    // Null: it is refused.
    family* family_of(std::string_view name, std::string_view help, std::string_view type);

    std::map<std::string, family, std::less<>> families_;
    std::size_t samples_ = 0;
    std::size_t refused_ = 0;
};

// Why the daemon is not all right; empty: it is. It has started, does not stop, and its last acknowledged heartbeat was
// sent at most two intervals, and the time that one may take, ago.
[[nodiscard]] std::optional<std::string> ill_health(const node::daemon& of);

class web_pages {
public:
    // Sources beside the daemon and its subjects. All references must outlive it.
    web_pages(const node::daemon& of, std::vector<const core::metrics_source*> sources)
        : daemon_(of), sources_(std::move(sources)) {}

    [[nodiscard]] http_answer at(std::string_view path) const;

private:
    [[nodiscard]] http_answer metrics() const;
    [[nodiscard]] http_answer health() const;
    [[nodiscard]] http_answer report() const;

    const node::daemon& daemon_;
    std::vector<const core::metrics_source*> sources_;
};

}  // namespace pvc::control
