// Steps of the explorer in words.
#include "sim/explore/model.hpp"

#include <array>

namespace pvc::explore {

using kind = move::kind;
using at_step = reference_daemon::at;

std::string_view to_text(reference_daemon::at where) {
    switch (where) {
        case at_step::idle: return "nothing";
        case at_step::stuck: return "it is stuck";
        case at_step::looking_at_disk: return "start: looks at the locks of the disk";
        case at_step::creating: return "start: creates the guest";
        case at_step::listing_created: return "start: its running list";
        case at_step::writing_running: return "writes `start`";
        case at_step::destroying: return "destroys the guest";
        case at_step::unlisting_destroyed: return "destroyed: its running list";
        case at_step::writing_destroyed: return "destroyed: writes `stop`";
        case at_step::asking_off: return "asks the guest to shut down";
        case at_step::going_off: return "looks whether the guest is off";
        case at_step::unlisting_off: return "off: its running list";
        case at_step::writing_off: return "off, or late: writes `stop`";
        case at_step::writing_restart: return "restart: writes `start`";
        case at_step::restarting: return "restart: looks whether it runs";
        case at_step::locking_node: return "send: the lock of `node`";
        case at_step::locking_state: return "send: the lock of `state`";
        case at_step::looking: return "send: reads under the locks";
        case at_step::queueing: return "send: the lock of the migration";
        case at_step::checking: return "send: reads once more";
        case at_step::calling: return "send: the live call begins";
        case at_step::called: return "send: the live call has ended";
        case at_step::unlisting_moved: return "moved: its running list";
        case at_step::releasing_node: return "send: gives back `node`";
        case at_step::releasing_state: return "send: gives back `state`";
        case at_step::releasing_sync: return "send: gives back the lock of the migration";
        case at_step::destroying_late: return "destroys the guest that outlived its time";
        case at_step::unlisting_late: return "destroyed late: its running list";
        case at_step::rolling_back: return "rolls back";
        case at_step::rolled_back_node: return "rolled back: gives back `node`";
        case at_step::rolled_back_state: return "rolled back: gives back `state`";
        case at_step::offering: return "receive: its word";
        case at_step::queueing_first: return "receive: the lock of the migration";
        case at_step::holding: return "receive: gives it back";
        case at_step::queueing_again: return "receive: the lock of the migration once more";
        case at_step::looking_for_guest: return "receive: looks whether it came";
        case at_step::listing_arrived: return "arrived: its running list";
        case at_step::writing_arrived: return "arrived: writes the state";
        case at_step::releasing_last: return "receive: gives back the lock of the migration";
        case at_step::clearing_word: return "receive: clears its word";
    }
    return "nothing";
}

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

std::string deed_of(const scene& m, const move& one) {
    switch (one.how) {
        case 0: return "the reference: a change of `state`";
        case 1: return "the reference: a pass";
        case 4: return "the reference: the same state once more";
        default: return "the reference: " + std::string(to_text(at(m, one.who).reference->where));
    }
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
        case kind::write_list: return who + "its running list is written at last";
        case kind::reconnect: return who + "has a new session";
        case kind::start_daemon: return who + "the daemon starts";
        case kind::start_libvirt: return who + "libvirtd is back";
        case kind::follow: return who + "looks who has the sender's locks";
        case kind::reference: return who + deed_of(before, one);
        case kind::power_on: return who + "has power again";
        case kind::lose_power: return who + "loses its power";
        case kind::end_guest: return who + (one.how == 0 ? "the guest powers off by itself" : "the guest crashes");
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
