// The creation of a guest: what is read for it, the call, and what is written of its end. Whatever becomes of the call,
// what may yet be carried out counts as running here. Specification: vm-domains.md 5.3, 6.1.
#pragma once

#include "operations/operation.hpp"

#include <string>
#include <vector>

namespace pvc::domains {

struct stored_definition {
    std::string xml;
    std::vector<std::string> volumes;  // RBD disks
};
// Errors: not_found (it has none), invalid (unusable; the cause is a failedreason), and those of a session that broke.
async::awaitable<result<stored_definition>> read_definition(operation& op);

// What stands on disk while a creation is out; of this boot.
[[nodiscard]] std::string creation_record(const core::node_context& node);

// libvirt begins before `not_after`, or not at all. Waits for its answer until then, or, after 120 s, until something
// else is wanted.
async::awaitable<hypervisor::call_result<void>> create(operation& op, const std::string& xml, boot_time not_after,
                                                       time_point until);
// A guest that crashed and was kept (`on_crash preserve`) counts as gone, but is in the way of its successor.
async::awaitable<void> end_crashed(operation& op);

// {failedreason, vnc} where they differ, and `state = start` at the end of a restart. False: something changed
// meanwhile, or it could not be written.
async::awaitable<bool> write_started(operation& op, policy::wish began_with);
// {state = fail, failedreason}, unless somebody changed it since the attempt began.
async::awaitable<policy::write_end> write_failed(operation& op, policy::wish began_with, std::string reason);
// Why it waits, into failedreason unless it is there, guarded by its state and its node. False: not written.
async::awaitable<bool> write_reason(operation& op, policy::wish began_with, std::string reason);
// What an earlier failure said is over. False: somebody has written since.
async::awaitable<bool> clear_reason(operation& op, policy::ask::clear_reason what);

}  // namespace pvc::domains
