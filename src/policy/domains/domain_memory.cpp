#include "pvcnoded/policy/domains/domain_memory.hpp"

namespace pvc::policy {

void adoption::begin_anew() {
    is_adopted = false;
    untidy();
    spacing.reset();
}

}  // namespace pvc::policy
