// The fence of one node: what is said of it.
#include "fence_run.hpp"

#include <fmt/format.h>

namespace pvc::fencing {

using namespace std::chrono_literals;

void fence_run::say(policy::fence_news what, const std::string& text) const {
    using enum policy::fence_news;
    auto& log = node_.log;
    const std::string node = "node " + machine_.node;
    switch (what) {
        case marked:
            log.warning(message::fence_begun,
                        node + (machine_.origin == policy::fence_origin::seen_off
                                    ? " is dead: its board says that it has no power"
                                    : fmt::format(" is dead: no heartbeat for {} s; it is switched off unless it "
                                                  "comes back within {} s",
                                                  (node_.clock().now() - machine_.silent_since) / 1s,
                                                  policy::fence_limits::throws * machine_.rules.keepalive / 1s)));
            return;
        case passed: log.info(fmt::format("{} is not switched off: {}", node, text)); return;
        case abandoned: log.info(fmt::format("the fence of {} ends here: {}", node, text)); return;
        case seen_off: log.info(node + " is off: its board says so"); return;
        case not_seen_off:
            log.warning(message::fence_not_seen_off,
                        node + " was said to be without power, and is not seen off now: it is fenced as a silent one");
            return;
        case failed: {
            const std::string why = ledger_->last_of_board();
            log.error(message::fence_failed,
                      fmt::format("{} was not seen off{}, and may run: its machines are not started elsewhere without "
                                  "another proof. See to its board, or switch it off and say so: pvcnodectl fence "
                                  "confirm {}",
                                  node, why.empty() ? "" : " (" + why + ")", machine_.node));
            return;
        }
        case no_proof:
            log.error(message::fence_no_proof,
                      fmt::format("nothing shows that {} of {} cannot write any more: they are left", text, node));
            return;
        case fenced: log.ok(node + " is fenced"); return;
        case kept_off:
            tools_.ground.keeps_off(machine_.node, fences_in_an_hour_ || history_trouble_.empty()
                                                       ? text
                                                       : text + " (" + history_trouble_ + ")");
            return;
        case needs_ceph:
            log.warning(message::fence_needs_ceph,
                        fmt::format("{} of {} need Ceph, which this node cannot ask: other coordinators have {} s to "
                                    "recover them",
                                    text, node, policy::fence_limits::for_others / 1s));
            return;
        case node_back: log.warning(message::fence_node_back, fmt::format("{} is back: {}", node, text)); return;
        case unrecordable:
            if (!tools_.ground.is_disk_to_be_told()) {
                return;
            }
            log.error(message::fence_record_unwritten,
                      fmt::format("{}: {} ({}); another coordinator is to fence it", node, text,
                                  ledger_->trouble().empty() ? "the disk does not answer" : ledger_->trouble()));
            return;
        case held_back:
            log.error(message::fence_held_back, fmt::format("{} is dead and not switched off: {}", node, text));
            return;
        case powered_on: log.ok(node + " is switched on again"); return;
        case not_powered_on:
            log.warning(message::fence_not_on,
                        node + (machine_.is_failed
                                    ? ": its board did not take the order to switch it on either: look whether it runs"
                                    : " was told to switch on, and its board does not say that it is: look at the "
                                      "board, and switch the node on by hand"));
            return;
    }
}

}  // namespace pvc::fencing
