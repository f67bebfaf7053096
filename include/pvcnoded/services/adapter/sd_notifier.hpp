// The supervisor port: one datagram to the socket that systemd names (sd_notify(3)). Specification: config.md 7.2.
#pragma once

#include "pvcnoded/services/notifier.hpp"
#include "pvcnoded/services/notify_address.hpp"

#include <optional>

namespace pvc::services {

class sd_notifier final : public notifier {
public:
    // What the variable NOTIFY_SOCKET holds: a path, "@name" in the abstract namespace, or null or empty without a
    // supervisor. Anything else counts as none.
    explicit sd_notifier(const char* address);
    ~sd_notifier() override;

    void send(std::string_view message) override;
    [[nodiscard]] bool has_supervisor() const { return socket_ >= 0; }

private:
    std::optional<notify_address> address_;
    int socket_ = -1;
};

}  // namespace pvc::services
