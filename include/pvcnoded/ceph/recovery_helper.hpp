// Ceph's helper on a coordinator without the storage function: it clears the locks of a dead node's machines and does
// nothing else, so it is started only when somebody recovers such a machine and Ceph's configuration and keyring can be
// read, and ends when it was of no use for a minute. Loop thread only.
// Specification: storage.md 3.2 ("Who starts the helper"), README ruling 3; cases 39, 40.
#pragma once

#include "pvcnoded/ceph/ceph_subject.hpp"
#include "pvcnoded/core/subject.hpp"

#include <memory>

namespace pvc::ceph {

class helper_teller;  // helper_news.hpp

class recovery_helper final : public core::subject, public core::prepared_subject, public core::reporter {
public:
    recovery_helper(core::node_context& node, ceph_ports outside);
    ~recovery_helper() override;

    [[nodiscard]] std::string_view name() const override { return "ceph"; }
    async::awaitable<result<void>> prepare(core::preparation in) override;
    void report(std::vector<std::string>& lines) const override;

private:
    async::awaitable<result<void>> can_ask() const;

    core::node_context& node_;
    ceph_ports outside_;
    std::unique_ptr<helper_teller> teller_;
};

}  // namespace pvc::ceph
