// The supervisor port (sd_notify): READY, STATUS, WATCHDOG, STOPPING. Without a supervisor every call is a no-op.
// Specification: config.md 7.2.
#pragma once

#include <string_view>

namespace pvc::services {

class notifier {
public:
    notifier() = default;
    notifier(const notifier&) = delete;
    notifier& operator=(const notifier&) = delete;
    virtual ~notifier() = default;

    // Sends one assignment or several separated by newlines ("READY=1\nSTATUS=running"). Never blocks; a full socket
    // drops the message.
    virtual void send(std::string_view message) = 0;
};

}  // namespace pvc::services
