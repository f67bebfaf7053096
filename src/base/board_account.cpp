#include "pvcnoded/base/board_account.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <cctype>

namespace pvc {

namespace {

constexpr std::size_t longest_host = 253;
constexpr std::size_t longest_user = 16;
constexpr std::size_t longest_password = 20;

bool is_of_host(unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(".-_:%").find(static_cast<char>(c)) != std::string_view::npos;
}

bool holds_control(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string too_long(std::string_view text, std::size_t most) {
    return "has " + std::to_string(text.size()) + " bytes, more than the " + std::to_string(most) +
           " that are possible";
}

}  // namespace

std::string trouble_with_board_host(std::string_view text) {
    if (trim(text).empty()) {
        return text.empty() ? "is empty" : "is blank";
    }
    if (text.size() > longest_host) {
        return too_long(text, longest_host);
    }
    if (!std::ranges::all_of(text, is_of_host) || text.front() == '-') {
        return "is neither a host name nor an address: " + shown(text);
    }
    return {};
}

std::string trouble_with_board_user(std::string_view text) {
    if (text.size() > longest_user) {
        return too_long(text, longest_user);
    }
    return holds_control(text) ? "holds a control character: " + shown(text) : std::string();
}

std::string trouble_with_board_password(std::string_view text) {
    if (text.size() > longest_password) {
        return too_long(text, longest_password);
    }
    return holds_control(text) ? "holds a control character" : std::string();
}

}  // namespace pvc
