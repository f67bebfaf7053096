#include "pvcnoded/power/board.hpp"

#include "pvcnoded/base/board_account.hpp"

namespace pvc::power {

std::string_view to_text(board_command what) {
    switch (what) {
        case board_command::off: return "chassis power off";
        case board_command::on: return "chassis power on";
        case board_command::status: return "chassis power status";
        case board_command::guid: return "mc guid";
    }
    return "chassis power status";
}

std::string trouble_with(const board_access& to) {
    if (const auto trouble = trouble_with_board_host(to.address); !trouble.empty()) {
        return "its host " + trouble;
    }
    if (const auto trouble = trouble_with_board_user(to.user); !trouble.empty()) {
        return "its user " + trouble;
    }
    const auto trouble = trouble_with_board_password(to.password.reveal());
    return trouble.empty() ? std::string() : "its password " + trouble;
}

}  // namespace pvc::power
