// The real adapter on the real loop, against a libvirt driver.
#pragma once

#include "contract/hypervisor/environment.hpp"
#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/hypervisor/adapter/libvirt_hypervisor.hpp"

#include <optional>

namespace pvc::contract {

class libvirt_environment : public hypervisor_environment {
public:
    explicit libvirt_environment(hypervisor::libvirt_options options);
    ~libvirt_environment() override;

    void run(std::function<awaitable<void>()> body) override { loop_.run("test", std::move(body)); }
    async::timers& clock() override { return loop_.clock(); }
    hypervisor::hypervisor& host() override { return *host_; }
    std::string description(const uuid& id, const std::string& name, guest_kind kind) override;
    [[nodiscard]] environment_burden burden() override;
    void settle(const environment_burden& before) override;

protected:
    void end_host() { host_.reset(); }
    async::real_loop& loop() { return loop_; }

private:
    async::real_loop loop_;
    std::optional<hypervisor::libvirt_hypervisor> host_;
};

// A driver in our own process keeps its guests only as long as somebody is connected; nothing of it can fail.
class test_driver_environment final : public libvirt_environment {
public:
    test_driver_environment();
    [[nodiscard]] hypervisor_traits traits() const override;
};

}  // namespace pvc::contract
