#include "pvcnoded/policy/domains/unflush_job.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::policy::drain {

step unflush_job::read() {
    where = at::reading;
    return {ask::all_keys{}, time_point::max(), "the keys of all virtual machines"};
}

step unflush_job::has_read(context& c) {
    const auto& all = c.answer_as<all_read>();
    if (!all.is_known) {
        where = at::pausing;
        return {ask::better_session{}, time_point::max(), "another attempt to read or write keys"};
    }
    for (const auto& [id, keys] : all.domains) {
        if (unflush_step(keys, self) != domain_step::skip) {
            domains.push_back(id);
        }
    }
    c.state(domains.empty() ? std::string("unflush: no virtual machine has to come back")
                            : fmt::format("unflush: {} virtual machine(s) come back", domains.size()));
    return next_domain(c);
}

step unflush_job::next_domain(context& c) {
    if (taken == domains.size()) {
        return conclude(c);
    }
    one = one_domain::of_job(job_kind::unflush, domains[taken++], self, shutdown_timeout);
    where = at::moving;
    return go_on(c);
}

step unflush_job::go_on(context& c) {
    step next = one.resume(c, {});
    if (!next.is_over()) {
        return next;
    }
    if (one.found && one.found->state == model::vm_state::start && one.found->node != self) {
        one.warn(c, message::unflush_stays, "it could not be moved, it stays on " + ascii_only(one.found->node));
    }
    c.acts.emplace_back(act::unfollow{});
    return next_domain(c);
}

step unflush_job::conclude(context& c) {
    last = {.of = job_kind::unflush, .order = order};
    where = at::concluding;
    return resume(c);
}

step unflush_job::resume(context& c) {
    switch (where) {
        case at::begin: return order.has_hypervisor ? read() : conclude(c);
        case at::reading: return has_read(c);
        case at::pausing: return read();
        case at::moving: return go_on(c);
        case at::concluding: {
            step next = last.resume(c);
            if (next.is_over()) {
                where = at::over;
            }
            return next;
        }
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy::drain
