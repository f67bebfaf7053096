// How long the nft program may take, when it is asked again, and what is taken of its words.
#pragma once

#include "pvcnoded/async/process.hpp"

#include <string>
#include <string_view>

namespace pvc::networks {

inline constexpr async::process_limits nft_limits{
    .time = std::chrono::seconds(10), .grace = std::chrono::seconds(1), .output_bytes = 65536};
inline constexpr async::process_limits short_nft_limits{
    .time = std::chrono::seconds(2), .grace = std::chrono::seconds(1), .output_bytes = 4096};
inline constexpr duration until_asked_again = std::chrono::seconds(60);
inline constexpr duration until_a_hang_is_tried_again = std::chrono::seconds(600);

// "/dev/stdin:3:40-45: Error: syntax error, unexpected …": from the first error on, one line.
[[nodiscard]] std::string reason_in(std::string_view said);

}  // namespace pvc::networks
