// tidy-allow-file(io_context): the adapter takes it
#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/hypervisor/adapter/libvirt_hypervisor.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

namespace pvc::hypervisor {
namespace {

bool is_loaded() {
    void* const found = ::dlopen("libvirt.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return found != nullptr;
}

// What a node without virtual machines has of libvirt: nothing.
TEST(libvirt_library, is_not_there_before_a_connection_is_wanted) {
    async::real_loop loop;
    const libvirt_hypervisor port(loop.context(), loop.clock());
    EXPECT_EQ(libvirt_event_load().handles, 0U);
    EXPECT_FALSE(port.pools().empty());
    EXPECT_FALSE(is_loaded());
}

TEST(libvirt_library, is_loaded_by_who_connects) {
    async::real_loop loop;
    libvirt_options options;
    options.local_uri = "test:///default";
    libvirt_hypervisor port(loop.context(), loop.clock(), options);
    loop.run("test", [&]() -> async::awaitable<void> {
        co_await async::with_task_group("test", [&](async::task_group& group) -> async::awaitable<void> {
            group.spawn("hypervisor", [&] { return port.run(); });
            const auto until = loop.clock().now() + std::chrono::seconds(20);
            while (!port.connection().value().up && loop.clock().now() < until) {
                co_await async::sleep_for(loop.clock(), std::chrono::milliseconds(5), "the connection");
            }
            group.cancel();
        });
    });
    EXPECT_TRUE(is_loaded());
}

}  // namespace
}  // namespace pvc::hypervisor
