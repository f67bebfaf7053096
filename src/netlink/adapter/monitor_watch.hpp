// A watch of a port, whose wakeup the monitor tells while it lives. It may live longer than the port.
#pragma once

#include "adapter/change_monitor.hpp"

#include <memory>
#include <utility>

namespace pvc::netlink {

// `Watch`: what the port calls one.
template <class Watch>
class monitor_watch final : public Watch {
public:
    monitor_watch(std::shared_ptr<change_monitor> monitor, async::wakeup& changed)
        : monitor_(std::move(monitor)), changed_(changed) {
        monitor_->add(changed_);
    }
    monitor_watch(const monitor_watch&) = delete;
    monitor_watch& operator=(const monitor_watch&) = delete;
    ~monitor_watch() override { monitor_->remove(changed_); }

private:
    std::shared_ptr<change_monitor> monitor_;
    async::wakeup& changed_;
};

}  // namespace pvc::netlink
