// What is asked about fencing over the local socket: boards of other nodes, and records of fences; and an
// operator's word is given. A subject that offers one of these is found by that alone, as a reporter is. Answers are
// awaited as those of an explainer, and end likewise with a failure when they cannot be had. Loop thread only.
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

// An operator's word that a node is off, and stays off.
struct fence_word {
    std::string node;
    bool although_on = false;  // against what its board says
    std::string by;            // who gave it, for the log and the record
};

class fence_confirmer {
public:
    // Takes the word as the proof that the node is off, or says why not (policy::why_not_confirmed); who asks is root
    // and has typed the node's name. The answer comes when that is decided and in a synced record; what follows is in
    // the record. After `until` no word is taken. Facts: `node`, `record` (its id), `power` (what the board said just
    // now: `off` or `unknown`, or `on` against which the word was taken). Errors: refused (the cause says what is
    // missing and would help), not_found (no such node), unavailable (no session), io (no record), timed_out.
    // Specification: README ruling 43.
    virtual std::shared_ptr<awaited_explanation> confirm_fence(fence_word word, time_point until) = 0;
    // A fence that failed is tried again now, or it is said why not (policy::why_not_retried); who asks is root. What
    // it comes to is in its record. Facts: `node`, `failed_before` (so often in a row). Errors: refused, not_found (no
    // such node), unavailable (no session).
    virtual std::shared_ptr<awaited_explanation> retry_fence(std::string node, std::string by) = 0;

protected:
    ~fence_confirmer() = default;
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
