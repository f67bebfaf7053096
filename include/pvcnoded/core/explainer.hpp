// Tells which rule decides what now, and what would come of it, without acting: for `pvcnodectl explain TOPIC`. A
// subject that offers it is found by that alone, as a reporter is. Loop thread only.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pvc::core {

// Empty: not known, or there is none. Numbers are seconds.
using explained_value = std::variant<std::monostate, bool, double, std::string>;
// With the names of docs/control.md; a name is a literal.
using explained_fields = std::vector<std::pair<std::string_view, explained_value>>;

struct explanation {
    explained_fields facts;
    // What it says of several things: lists with a name, of a row each.
    std::vector<std::pair<std::string_view, std::vector<explained_fields>>> lists;
};

// An explanation that may still have to come. Who explains ends it with a failure when it cannot be had any more, with
// its session for one; who asked may let it go at any moment.
struct awaited_explanation {
    async::wakeup changed;  // one waiter
    std::optional<result<explanation>> answer;

    void give(result<explanation> what) {
        answer.emplace(std::move(what));
        changed.notify();
    }
};

class explainer {
public:
    // The word behind `explain`.
    [[nodiscard]] virtual std::string_view topic() const = 0;
    // Begins to explain, and gives the answer at once if all that it needs is known. What must be read is read by a
    // task of the session, by `until`; nothing is ever written. Errors: unavailable (there is no session, ZooKeeper is
    // away), timed_out, refused (there is nothing to explain on such a node).
    virtual std::shared_ptr<awaited_explanation> explain(time_point until) = 0;

protected:
    ~explainer() = default;
};

}  // namespace pvc::core
