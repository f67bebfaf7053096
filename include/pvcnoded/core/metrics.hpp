// Figures of one daemon for whoever watches it (docs/metrics.md): numbers with a name, a unit and a meaning, asked for
// and given at once, from memory. A subject that offers `metrics_source` is found by that alone, as a reporter is.
// Loop thread only.
//
// Names are without the prefix `pvcnoded_`, in small letters, digits and `_`; units are seconds and bytes, and the last
// part of the name; a counter ends in `_total`. Label values come from a set that is small and known: no names of
// virtual machines, nodes, or anything else that somebody may make more of.
#pragma once

#include "pvcnoded/base/histogram.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace pvc::core {

struct metric_label {
    std::string_view name;
    std::string_view value;  // any text
};

// Takes figures. Texts are copied. A figure that is given twice counts once: the first one stands.
class metrics_sheet {
public:
    metrics_sheet() = default;
    metrics_sheet(const metrics_sheet&) = delete;
    metrics_sheet& operator=(const metrics_sheet&) = delete;
    virtual ~metrics_sheet() = default;

    using labels = std::initializer_list<metric_label>;
    // What is so now.
    void gauge(std::string_view name, std::string_view help, double value, labels by = {}) {
        add(kind::gauge, name, help, value, by);
    }
    // What has happened so often, or so long, since the process began. It never becomes less.
    void counter(std::string_view name, std::string_view help, double value, labels by = {}) {
        add(kind::counter, name, help, value, by);
    }
    void counter(std::string_view name, std::string_view help, std::uint64_t value, labels by = {}) {
        add(kind::counter, name, help, static_cast<double>(value), by);
    }
    // How long things took since the process began.
    virtual void times(std::string_view name, std::string_view help, const histogram& of) = 0;

protected:
    enum class kind : std::uint8_t { gauge, counter };
    virtual void add(kind what, std::string_view name, std::string_view help, double value,
                     std::span<const metric_label> by) = 0;
};

class metrics_source {
public:
    // Puts the same figures each time, also those that are 0.
    virtual void put_metrics(metrics_sheet& sheet) const = 0;

protected:
    ~metrics_source() = default;
};

// Seconds with their fraction.
[[nodiscard]] inline double metric_seconds(duration time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace pvc::core
