#include "pvcnoded/model/device_name.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <cstddef>

namespace pvc::model {

namespace {

constexpr std::size_t device_path_max = 255;
constexpr std::size_t volume_name_max = 126;

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_device_path(std::string_view text) {
    constexpr std::string_view root = "/dev/";
    if (!text.starts_with(root) || text.size() == root.size() || text.size() > device_path_max) {
        return false;
    }
    const bool is_spelled = std::ranges::all_of(
        text, [](char c) { return is_letter_or_digit(c) || std::string_view("_./:+@-").find(c) != std::string::npos; });
    return is_spelled && std::ranges::none_of(split(text.substr(root.size()), '/'), [](std::string_view part) {
               return part.empty() || part == "." || part == "..";
           });
}

bool is_volume_name(std::string_view text) {
    const bool is_spelled = std::ranges::all_of(
        text, [](char c) { return is_letter_or_digit(c) || std::string_view("_.+-").find(c) != std::string::npos; });
    return !text.empty() && text.size() <= volume_name_max && is_spelled && text.front() != '-' && text != "." &&
           text != "..";
}

}  // namespace pvc::model
