// What is asked about fencing over the local socket: boards of other nodes, and records of fences. A subject that
// offers one of these is found by that alone, as a reporter is. Answers are awaited as those of an explainer, and end
// likewise with a failure when they cannot be had. Loop thread only.
#pragma once

#include "pvcnoded/core/explainer.hpp"

#include <memory>
#include <string>

namespace pvc::core {

class board_prober {
public:
    // Asks the board of another node now. Errors: not_found (no such node), refused (maintenance, its own board, a node
    // that is being fenced), unavailable (no session), timed_out.
    virtual std::shared_ptr<awaited_explanation> probe_board(std::string node, time_point until) = 0;

protected:
    ~board_prober() = default;
};

class fence_teller {
public:
    // The fences of which this node has a record, the youngest first. Errors: io, timed_out.
    virtual std::shared_ptr<awaited_explanation> list_fences(time_point until) = 0;
    // One of them by its id, or the youngest of that node. Errors: also not_found, invalid (it cannot be read).
    virtual std::shared_ptr<awaited_explanation> show_fence(std::string which, time_point until) = 0;

protected:
    ~fence_teller() = default;
};

}  // namespace pvc::core
