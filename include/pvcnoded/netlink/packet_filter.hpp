// The netlink port for table `inet filter` of this machine's packet filter: a look at it, one batch of changes that the
// kernel carries out as a whole or not at all, and a word when a table may have changed. No packet ever meets a part of
// a batch. No exception crosses, every call ends by its deadline. Loop thread only. The port outlives its callers, and
// its watches. Specification: networking.md 7.3; runtime-design.md 4.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/packet_filter.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::netlink {

// Why a batch was refused. Nothing of it was done.
struct batch_refusal {
    std::size_t change = 0;  // the first of the batch that the kernel refused
    std::string cause;       // what the kernel says
};

// As long as it lives, its wakeup is notified whenever a table, a chain or a rule may have changed, by whoever: also by
// this port, and when events were lost.
class filter_watch {
public:
    filter_watch() = default;
    filter_watch(const filter_watch&) = delete;
    filter_watch& operator=(const filter_watch&) = delete;
    virtual ~filter_watch() = default;
};

class packet_filter {
public:
    packet_filter() = default;
    packet_filter(const packet_filter&) = delete;
    packet_filter& operator=(const packet_filter&) = delete;
    virtual ~packet_filter() = default;

    // The table, all its chains and rules, of one generation: what changes meanwhile begins the look anew, a few times.
    // Errors: unavailable (it changes again and again; no socket, no such subsystem in this kernel), io, timed_out.
    virtual async::awaitable<result<model::filter_state>> look(time_point deadline) = 0;

    // The whole batch, provided that nothing has changed since `generation`, if that is given. Empty: all of it is
    // done. Errors: version_conflict (the generation is another one: look again; nothing was done), unavailable, io
    // (nothing was done), outcome_unknown (no answer by the deadline).
    virtual async::awaitable<result<std::optional<batch_refusal>>> commit(std::vector<model::filter_change> changes,
                                                                          std::optional<std::uint32_t> generation,
                                                                          time_point deadline) = 0;

    [[nodiscard]] virtual std::unique_ptr<filter_watch> watch(async::wakeup& changed) = 0;
};

}  // namespace pvc::netlink
