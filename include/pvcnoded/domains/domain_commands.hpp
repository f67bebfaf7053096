// Commands about virtual machines that clients up to 0.9.80 write into /cmd/domains: flush_locks, attach_device,
// detach_device. The node that a domain belongs to carries them out; what names no domain fails at whoever is first.
// Nothing is done where the active schema has no such key. Specification: vm-domains.md 14, node-lifecycle.md 13.
#pragma once

#include "pvcnoded/core/subject.hpp"

namespace pvc::domains {

class domain_subject;

class domain_commands final : public core::subject, public core::session_subject {
public:
    // `here` outlives this.
    explicit domain_commands(domain_subject& here) : here_(here) {}
    [[nodiscard]] std::string_view name() const override { return "commands"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override;

private:
    domain_subject& here_;
};

}  // namespace pvc::domains
