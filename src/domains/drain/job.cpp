#include "drain/job.hpp"

#include "drain/shell.hpp"
#include "pvcnoded/policy/domains/flush_job.hpp"
#include "pvcnoded/policy/domains/unflush_job.hpp"

namespace pvc::domains {

namespace {

async::awaitable<void> empty_node(job& of, bool is_short) {
    policy::drain::flush_job machine;
    machine.is_short = is_short;
    machine.order = of.given;
    machine.self = of.self();
    machine.shutdown_timeout = of.s.node.config->vm_shutdown_timeout;
    drain_shell shell(of, [&](const policy::drain::event& what) { return resume(machine, what); });
    co_await shell.run();
}

}  // namespace

async::awaitable<void> flush(job& of) {
    return empty_node(of, false);
}

async::awaitable<void> move_on(job& of) {
    return empty_node(of, true);
}

async::awaitable<void> unflush(job& of) {
    policy::drain::unflush_job machine;
    machine.order = of.given;
    machine.self = of.self();
    machine.shutdown_timeout = of.s.node.config->vm_shutdown_timeout;
    drain_shell shell(of, [&](const policy::drain::event& what) { return resume(machine, what); });
    co_await shell.run();
}

}  // namespace pvc::domains
