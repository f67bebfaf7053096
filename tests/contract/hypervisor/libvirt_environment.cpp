#include "contract/hypervisor/libvirt_environment.hpp"

#include "pvcnoded/async/adapter/signal_source.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

namespace pvc::contract {

namespace {

std::size_t entries_of(const char* folder) {
    const std::filesystem::directory_iterator all(folder);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

libvirt_environment::libvirt_environment(hypervisor::libvirt_options options) {
    async::ignore_broken_pipes();
    std::thread([] {}).join();  // a sanitizer makes a thread of its own with the first one, which is not ours to count
    host_.emplace(loop_.context(), loop_.clock(), std::move(options));
}

libvirt_environment::~libvirt_environment() = default;

std::string libvirt_environment::description(const uuid& id, const std::string& name, guest_kind /*kind*/) {
    return "<domain type='test'><name>" + name + "</name><uuid>" + to_text(id) +
           "</uuid><memory unit='KiB'>65536</memory><vcpu>1</vcpu><os><type arch='i686'>hvm</type></os></domain>";
}

environment_burden libvirt_environment::burden() {
    const auto load = hypervisor::libvirt_event_load();
    return {entries_of("/proc/self/task"), entries_of("/proc/self/fd"), load.handles + load.timeouts};
}

// Pool threads go with the adapter: what is left then is a leak.
void libvirt_environment::settle(const environment_burden& before) {
    const auto load = hypervisor::libvirt_event_load();
    EXPECT_EQ(load.handles + load.timeouts, before.watches) << "when run() had ended";
    host_.reset();
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (!(burden() == before) && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(1ms);  // a detached thread leaves a little after it has said so
    }
}

test_driver_environment::test_driver_environment() : libvirt_environment({"test:///default", "test:///{}"}) {}

hypervisor_traits test_driver_environment::traits() const {
    hypervisor_traits has;
    has.obeys_shutdown = true;
    return has;
}

}  // namespace pvc::contract
