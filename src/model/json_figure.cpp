#include "pvcnoded/model/json_figure.hpp"

#include "pvcnoded/base/text.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

namespace pvc::model {

std::string to_text(const json_figure& number) {
    return std::visit(
        [](auto value) -> std::string {
            if constexpr (std::is_floating_point_v<decltype(value)>) {
                return std::isfinite(value) ? float_text(value) : "0";
            } else {
                return std::to_string(value);
            }
        },
        number);
}

double as_double(const json_figure& number) {
    return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::int64_t whole_number(const json_figure& number) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    if (const auto* whole = std::get_if<std::int64_t>(&number)) {
        return *whole;
    }
    if (std::holds_alternative<std::uint64_t>(number)) {
        return most;  // else it would be the other kind
    }
    const double value = std::get<double>(number);
    if (std::isnan(value)) {
        return 0;
    }
    if (value >= 0x1p63) {
        return most;
    }
    return value < -0x1p63 ? least : static_cast<std::int64_t>(value);
}

}  // namespace pvc::model
