// Who uses a virtual function, where its keys say otherwise. Clients write that; but nobody frees the function of a
// machine that was removed or that a daemon moved away (flush, fence), and nobody takes one where such a machine came
// to. A value: what is stored goes in, what is to be written now comes out.
//
// Only what was read counts, and only what stayed as it is for a while: a client may write the keys of a function and
// those of its machine one after the other, and what it writes in that time begins the wait anew.
// Specification: networking.md 4.4 (case 21); node-lifecycle.md H54.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// What the keys of a function say.
struct function_use {
    std::string name;
    bool is_used = false;  // its key says exactly True
    std::string used_by;
    std::int64_t written = 0;  // when its keys were written last, as ZooKeeper counts
    bool is_whole = true;      // it has both keys: `used` and `used_by`
};

// A function by the XML of a machine.
struct named_function {
    std::string name;
    std::string mac;  // "": none that can be used
    friend bool operator==(const named_function&, const named_function&) = default;
};
// Those that the XML of a machine names. Text that cannot be read names none: then it is said why.
struct named_functions {
    std::vector<named_function> all;
    std::string trouble;
};
[[nodiscard]] named_functions functions_of_machine(std::string_view xml);

// A machine that uses a function or runs here. Empty members: not known, missing, or not understood.
struct function_machine {
    std::optional<std::string> node;
    std::optional<model::vm_state> state;
    std::int64_t written = 0;  // when node and state were written last
    std::vector<named_function> names;
    std::int64_t xml_written = 0;
};

struct function_view {
    std::string self;
    std::vector<function_use> functions;                // of this node
    const std::vector<std::string>* domains = nullptr;  // all names below /domains; null: not known
    std::optional<std::set<uuid>> running;              // what runs here; empty: not known
    std::map<uuid, function_machine> machines;          // those that were read
};

// What is to be written into the keys of one function, and all that it rests on.
struct function_change {
    enum class kind : std::uint8_t {
        free,     // nobody uses it any more
        take,     // a machine that runs here uses it
        contest,  // the same, but another machine of this node may: nothing is written
    };
    kind what = kind::free;
    std::string function;
    bool was_used = false;
    std::string used_by;
    std::int64_t written = 0;
    // Whom `used_by` names, if that is a machine that exists, of a function that is used.
    struct guard {
        uuid id;
        std::int64_t written = 0;
        std::int64_t xml_written = 0;
        friend bool operator==(const guard&, const guard&) = default;
    };
    std::optional<guard> user;
    std::optional<guard> taker;
    std::string mac;  // of the taker; "": it stays

    friend bool operator==(const function_change&, const function_change&) = default;
};

// What would be written if all stays as it is; one of a function at most.
[[nodiscard]] std::vector<function_change> wanted_changes(const function_view& now);

class function_changes {
public:
    // All stays as it is for so long before something is written; and so long after a failure it is tried again.
    static constexpr duration patience = std::chrono::seconds(10);

    void see(time_point now, const function_view& all);
    // Those to be written.
    [[nodiscard]] std::vector<function_change> due(time_point now) const;
    // Those that are contested for so long: for a word about it.
    [[nodiscard]] std::vector<function_change> contested(time_point now) const;
    void failed(const std::string& function, time_point now);
    // When the next one is due, or the list of machines, which could not be read, is to be looked at again; `now`: when
    // contested() was asked last. Empty: none is waiting.
    [[nodiscard]] std::optional<time_point> next(time_point now) const;

private:
    struct waiting {
        function_change change;
        time_point due;
    };
    std::map<std::string, waiting> waiting_;
    std::optional<time_point> again_;
};

}  // namespace pvc::policy
