// Steps of the explorer in words.
#include "sim/explore/model.hpp"

#include <array>

namespace pvc::explore {

using kind = move::kind;

namespace {

std::string word_of_client(std::uint8_t how) {
    static constexpr std::array words{"stop",    "migrate to the last node", "shutdown",
                                      "restart", "migrate to hv1",           "start"};
    const std::string word = words.at(how % words.size());
    return how >= words.size() ? "a client wants: " + word : "a client wants, without a lock: " + word;
}

std::string pending_of(const scene& m, std::int8_t who) {
    const auto& does = at(m, who).does;
    return does ? std::string(policy::to_text(does->what)) + ", " + std::string(does->pending.what.reason) : "";
}

std::string sync_of(const scene& m, std::int8_t who) {
    const auto& does = at(m, who).does;
    return does && does->sync ? std::string(does->sync->pending.what.reason) : "";
}

}  // namespace

std::string to_text(const move& one, const scene& before) {
    const std::string who = one.who >= 0 && one.what != kind::client_turn ? name_of(one.who) + ": " : "";
    switch (one.what) {
        case kind::read_row: return who + "reads its keys";
        case kind::see_guest: return who + "hears of its guest";
        case kind::perform: return who + "does what is asked (" + pending_of(before, one.who) + ")";
        case kind::answer: return who + "gets its answer (" + pending_of(before, one.who) + ")";
        case kind::wake: return who + "has waited long enough (" + pending_of(before, one.who) + ")";
        case kind::lock: return who + "its locks go a step further";
        case kind::sync_wake: return who + "hand-shake: wakes (" + sync_of(before, one.who) + ")";
        case kind::sync_lock: return who + "hand-shake: its lock goes a step further";
        case kind::end_request: return who + (one.how == 0 ? "asks the guest to shut down" : "the guest goes off");
        case kind::job: return who + (one.how == 1 ? "the live call begins" : "the live migration goes a step further");
        case kind::clean: return who + "libvirt ends the half of a migration that broke";
        case kind::look: return who + "looks again";
        case kind::reconnect: return who + "has a new session";
        case kind::start_daemon: return who + "the daemon starts";
        case kind::start_libvirt: return who + "libvirtd is back";
        case kind::notice: return who + "the servers end its old session";
        case kind::client_turn: return "a client has its turn";
        case kind::time: return "time passes";
        case kind::client_word: return word_of_client(one.how);
        case kind::lose_session: return who + "loses its session";
        case kind::kill_daemon:
            return who + (one.how == 0 ? "the daemon is killed" : "the daemon is killed, its records are lost");
        case kind::kill_libvirt: return who + "libvirtd is killed";
        case kind::fail_job:
            return one.how == 0 ? "the live migration fails" : "the live migration fails, and nobody cleans up";
        case kind::lose_answer: return who + "it is done, and the answer is lost (" + pending_of(before, one.who) + ")";
        case kind::fail_effect: return who + "it is not done (" + pending_of(before, one.who) + ")";
    }
    return who;
}

}  // namespace pvc::explore
