// The board of each machine: what it switches, who reaches it, and what it is like.
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/fencing/fencing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view suffix_of_boards = "-lom";

void end_of_power(cluster& world, const std::string& node) {
    if (member* const one = world.find(node); one != nullptr) {
        ++one->life;
        one->is_wanted = false;
        world.disturb(*one, std::nullopt);
        world.before_power_loss(node);
        one->node.lose_power();
    } else if (foreign_node* const foreign = world.find_foreign(node); foreign != nullptr) {
        world.before_power_loss(node);
        foreign->lose_power();
        if (foreign->settings.machines != nullptr) {
            world.hardware.centre.machine(node).lose_power();
        }
    }
}

void boot(cluster& world, const std::string& node) {
    const duration time = powers_of(world).boot_time;
    if (member* const one = world.find(node); one != nullptr) {
        one->is_wanted = true;
        world.disturb(*one, time);
        world.later.after(time, [&world, one, life = one->life] {
            if (one->life == life && one->is_powered && !one->node.is_running()) {
                world.start(*one);
            }
        });
    } else if (foreign_node* const foreign = world.find_foreign(node); foreign != nullptr) {
        world.later.after(time, [&world, foreign] {
            if (foreign->is_powered()) {
                world.start_foreign(*foreign);
            }
        });
    }
}

// Whether a system runs there that hears the button.
bool hears_button(cluster& world, const std::string& node) {
    const member* const one = world.find(node);
    return one == nullptr || (one->node.is_running() && !one->node.is_paused());
}

void add_board(cluster& world, const std::string& node, std::size_t number) {
    auto made = std::make_unique<sim_bmc>(node + std::string(suffix_of_boards), &world.loop.clock());
    made->address = fmt::format("10.98.2.{}", number);
    made->user = "admin";
    made->password = "Passw0rd";
    made->guid = fmt::format("31303043-534d-2500-90d8-7a16000000{:02x}", number);
    made->acts_before_answer = true;
    made->has_power = [&world, node] { return is_machine_on(world, node); };
    made->heeds_shutdown = [&world, node] { return hears_button(world, node); };
    made->on_power = [&world, node](bool on) { switch_machine(world, node, on); };
    powers_of(world).boards[node] = std::move(made);
}

// Of "hv2-lom", or of the address of its board: "hv2". Empty: no board is called so.
std::string node_of_board(cluster& world, const std::string& host) {
    for (const auto& [node, board] : powers_of(world).boards) {
        if (host == board->host) {
            const auto led = powers_of(world).leads_to.find(node);
            return led == powers_of(world).leads_to.end() ? node : led->second;
        }
        if (host == board->address) {
            return node;
        }
    }
    return {};
}

std::optional<sim_program> ask_boards(cluster& world, const std::string& asker, async::command what) {
    auto& words = what.arguments;
    const auto at = std::ranges::find(words, std::string("-H"));
    const bool is_name = words.size() == 3 && words.front() == "getent";
    if (words.empty() || (words.front() != "ipmitool" && !is_name)) {
        return std::nullopt;
    }
    const bool is_own = !is_name && at == words.end();
    std::string* const host = is_own ? nullptr : is_name ? &words.back() : &*(at + 1);
    const std::string node = is_own ? asker : node_of_board(world, *host);
    sim_bmc* const board = board_of(world, node);
    if (board == nullptr) {
        return is_name ? sim_program{.how = async::exited{2}}
                       : sim_program{.how = async::exited{1},
                                     .error_output = "Error: Unable to establish IPMI v2 / RMCP+ session\n",
                                     .takes = 20s};
    }
    if (is_own) {  // by the interface of the host
        return sim_program{.output = "System GUID  : " + board->guid + "\nTimestamp    : 01/02/1996 03:04:05\n",
                           .takes = board->answer_time};
    }
    const bool is_by_name = *host != board->address;
    *host = is_by_name ? board->host : *host;
    if (is_name) {
        auto answer = board->answer(what);
        if (answer && std::get<async::exited>(answer->how).code == 0) {
            // As it was asked: the board does not know by which name it is called.
            answer->output = board->address + "   STREAM " + *host + '\n';
        }
        return answer;
    }
    const std::string verb = words.back();
    if (verb == "off" || verb == "on") {
        for (const auto& told : powers_of(world).on_command) {
            told(asker, node, verb);
        }
        for (const auto& told : world.on_program) {
            told(asker, fmt::format("ipmitool {} chassis power {}", board->host, verb));
        }
    }
    const auto& behind = powers_of(world).behind;
    if (behind.contains(asker) != behind.contains(node)) {
        return sim_program{.how = async::exited{1},
                           .error_output = "Error: Unable to establish IPMI v2 / RMCP+ session\n",
                           .takes = 20s};
    }
    auto answer = board->answer(what);
    if (verb == "status" && answer) {
        const bool is_off = answer->output.ends_with("is off\n") && !is_machine_on(world, node);
        for (const auto& told : powers_of(world).on_answer) {
            told(asker, node, is_off, world.now() + answer->takes);
        }
    }
    return answer;
}

// As `rbd lock remove` by whoever can ask Ceph.
bool remove_locks(cluster& world, const std::string& node, const uuid& id) {
    auto& rbd = world.hardware.rbd;
    if (rbd.hangs || rbd.cut_off.contains(node)) {
        return false;
    }
    for (const auto number : guests_of(world).disks) {
        if (guest_id(number) == id) {
            rbd.unlock(guest_image(number));
            guests_of(world).crashed.erase(number);
        }
    }
    return true;
}

}  // namespace

sim_bmc* board_of(cluster& world, const std::string& node) {
    const auto& all = powers_of(world).boards;
    const auto found = all.find(node);
    return found == all.end() ? nullptr : found->second.get();
}

bool is_machine_on(cluster& world, const std::string& node) {
    const member* const one = world.find(node);
    const foreign_node* const foreign = one == nullptr ? world.find_foreign(node) : nullptr;
    return one != nullptr ? one->is_powered : foreign != nullptr && foreign->is_powered();
}

void switch_machine(cluster& world, const std::string& node, bool on) {
    if (is_machine_on(world, node) == on) {
        return;
    }
    if (member* const one = world.find(node); one != nullptr) {
        one->is_powered = on;
    } else if (foreign_node* const foreign = world.find_foreign(node); foreign != nullptr && on) {
        foreign->power_on();
    }
    // Not in the middle of what a daemon does: the end of another destroys its tasks.
    world.later.after(0ns, [&world, node, on] {
        if (on) {
            boot(world, node);
        } else {
            end_of_power(world, node);
        }
    });
}

void begin_boards(cluster& world) {
    if (!world.has_boards) {
        return;
    }
    std::size_t number = 0;
    for (const auto& one : world.members) {
        add_board(world, one->name(), ++number);
        one->node.boards.add(
            [&world, asker = one->name()](const async::command& what) { return ask_boards(world, asker, what); });
    }
    for (const auto& one : world.foreigners) {
        const std::string& name = one->settings.name;
        add_board(world, name, ++number);
        one->settings.boards = [&world, name](const async::command& what) { return ask_boards(world, name, what); };
        one->settings.break_locks = [&world, name](const uuid& id) { return remove_locks(world, name, id); };
    }
}

void heal_boards(cluster& world) {
    auto& powers = powers_of(world);
    powers.leads_to.clear();
    join_behind(world);
    for (const auto& [node, board] : powers.boards) {
        board->set_well();
    }
}

}  // namespace pvc::sim
