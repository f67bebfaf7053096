#include "pvcnoded/policy/membership/peer_watch.hpp"

#include <algorithm>

namespace pvc::policy {

bool peer_watch::observe(std::optional<std::int64_t> mzxid, time_point sent, time_point answered) {
    if (answered - sent > peer_read_limit) {
        return false;
    }
    if (!since_ || mzxid != id_) {
        moved_ = moved_ || id_.has_value();
        since_ = std::max(sent, since_.value_or(sent));
        id_ = mzxid;
    }
    return true;
}

duration peer_watch::unchanged_for(time_point at) const {
    return since_ ? std::max(at - *since_, duration::zero()) : duration::zero();
}

}  // namespace pvc::policy
