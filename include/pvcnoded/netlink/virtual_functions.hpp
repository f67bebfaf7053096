// The port to network cards with virtual functions (SR-IOV): how many a card has, what its driver tells of them, and
// one setting at a time. Cards are named as the kernel names them.
//
// A driver may take its time, and may hang: calls wait for it without holding anything else up, end by their deadline
// (timed_out: of a change the outcome is unknown), and while one that hangs has not come back the next ones fail at
// once (unavailable). One call at a time. No exception crosses. Loop thread only.
// Specification: networking.md 2, 4.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/virtual_functions.hpp"

#include <string>

namespace pvc::netlink {

class virtual_functions {
public:
    virtual_functions() = default;
    virtual_functions(const virtual_functions&) = delete;
    virtual_functions& operator=(const virtual_functions&) = delete;
    virtual ~virtual_functions() = default;

    // The module through which guests get functions is loaded, and takes hosts whose interrupts are not remapped.
    // Errors: refused (the cause says why) and those of all.
    virtual async::awaitable<result<void>> allow_unsafe_interrupts(time_point deadline) = 0;

    // How many functions the card has now. Errors: not_found (no such card, or it cannot have any), io.
    virtual async::awaitable<result<int>> count(std::string card, time_point deadline) = 0;
    // Makes them; the kernel refuses to change a number that is not zero. Errors: not_found, refused.
    virtual async::awaitable<result<void>> make(std::string card, int count, time_point deadline) = 0;

    // Errors: not_found (there is no such card: nothing else says so), unavailable, io (the kernel refuses, or says
    // what cannot be understood).
    virtual async::awaitable<result<model::physical_function>> look(std::string card, time_point deadline) = 0;

    // Errors: not_found (no such card), invalid (the driver does not have this setting), refused (the cause is what the
    // kernel says), unavailable.
    virtual async::awaitable<result<void>> set(model::function_name which, model::function_setting setting,
                                               time_point deadline) = 0;

    // Of the function's own link; one that has the size already is left as it is. Errors: not_found (it has no link
    // here: a guest has it), refused.
    virtual async::awaitable<result<void>> set_mtu(model::function_name which, int mtu, time_point deadline) = 0;
};

}  // namespace pvc::netlink
