// What is logged: a detail for all records, and others for single subjects, each for a limited time. A value; it knows
// no clock.
#pragma once

#include "pvcnoded/base/log_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::core {

// How much is logged. Each includes those before it.
enum class log_detail : std::uint8_t {
    error,    // "e"
    warning,  // "w"
    info,     // all but debug lines
    debug,    // everything
};
[[nodiscard]] std::string_view to_text(log_detail detail);
[[nodiscard]] std::optional<log_detail> parse_log_detail(std::string_view text);
// The least detail at which a record is logged.
[[nodiscard]] log_detail detail_of(log_level level);
// "ok", "error", "warning", "info", "state", "tick", "debug".
[[nodiscard]] std::string_view to_text(log_level level);

class log_levels {
public:
    static constexpr std::size_t settings_max = 16;

    struct setting {
        std::string subject;  // the prefix of records, as it is; empty: all records without a setting of their own
        log_detail detail = log_detail::info;
        time_point until{};

        friend bool operator==(const setting&, const setting&) = default;
    };

    // What holds without a setting.
    void configure(log_detail base) { base_ = base; }
    [[nodiscard]] log_detail configured() const { return base_; }
    // In place of the one for the same subject, if there is one. False: there are settings_max already.
    [[nodiscard]] bool set(setting what);
    // False: there was none for this subject.
    bool reset(std::string_view subject);
    // Takes out those whose time is over.
    std::vector<setting> expire(time_point now);
    [[nodiscard]] const std::vector<setting>& settings() const { return settings_; }
    [[nodiscard]] bool shows(log_level level, std::string_view subject) const;

private:
    log_detail base_ = log_detail::info;
    std::vector<setting> settings_;  // by subject, ascending
};

}  // namespace pvc::core
