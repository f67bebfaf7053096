// The calls of the library that the port is made of, as functions that block. Pool threads only. Each returns values; a
// reference to a guest lives no longer than the call.
#pragma once

#include "link.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pvc::hypervisor::blocking {

struct free_domain {
    void operator()(_virDomain* domain) const;
};
using domain_pointer = std::unique_ptr<_virDomain, free_domain>;
call_result<domain_pointer> find(const link& on, const uuid& id);

call_result<void> say_version(const link& on);  // any round trip that takes no lock in the other daemon

call_result<std::vector<guest>> list(const link& on);
call_result<std::vector<guest_figures>> survey(const link& on);
void ask_one_by_one(_virDomain* domain, guest_figures& figures);
call_result<model::guest_status> status(const link& on, const uuid& id);
call_result<std::string> live_xml(const link& on, const uuid& id);

call_result<void> create(const link& on, const uuid& id, const std::string& xml, boot_time not_after);
call_result<void> shutdown(const link& on, const uuid& id, shutdown_way way);
call_result<void> destroy(const link& on, const uuid& id);
call_result<void> resume(const link& on, const uuid& id, boot_time not_after);
call_result<void> attach_device(const link& on, const uuid& id, const std::string& xml, boot_time not_after);
call_result<void> detach_device(const link& on, const uuid& id, const std::string& xml, boot_time not_after);

call_result<void> set_maximum_downtime(const link& on, const uuid& id, std::uint64_t milliseconds);
call_result<void> migrate(const link& from, const link& to, const uuid& id, const migration& how);
call_result<void> abort_migration(const link& on, const uuid& id);
call_result<migration_progress> progress(const link& on, const uuid& id);

}  // namespace pvc::hypervisor::blocking
