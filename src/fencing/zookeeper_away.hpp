// What is told to whoever asked about other nodes, where ZooKeeper did not answer: the same before the question was
// begun and in the midst of it.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/policy/fencing/confirm.hpp"

#include <string>
#include <utility>

namespace pvc::fencing {

[[nodiscard]] inline failure zookeeper_away(std::string subject) {
    return failure(errc::unavailable, std::move(subject), std::string(policy::zookeeper_is_away));
}

// `why`: of a question to it.
[[nodiscard]] inline failure unanswered(const failure& why, std::string subject) {
    switch (why.code()) {
        case errc::suspended:
        case errc::session_lost: return zookeeper_away(std::move(subject));
        case errc::timed_out:
            return failure(errc::timed_out, std::move(subject), std::string(policy::zookeeper_is_late));
        default: return failure(why.code(), std::move(subject), why.text());
    }
}

}  // namespace pvc::fencing
