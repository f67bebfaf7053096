#include "drain/job.hpp"

namespace pvc::domains {

namespace {
constexpr duration settle_slack = std::chrono::seconds(30);
}

duration job::settle_limit() const {
    return s.node.config->vm_shutdown_timeout + settle_slack;
}

}  // namespace pvc::domains
