#include "pvcnoded/policy/domains/drain_end.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::policy::drain {

using model::domain_state;

// Without the hypervisor function a node must never look like somewhere to move a domain to.
domain_state concluding::word_at_end() const {
    return of == job_kind::unflush && order.has_hypervisor ? domain_state::ready : domain_state::flushed;
}

step concluding::read() {
    where = at::reading;
    return {ask::order_key{}, time_point::max(), "the order, whether it stands"};
}

step concluding::pause() {
    where = at::pausing;
    return {ask::better_session{}, time_point::max(), "another attempt to read or write keys"};
}

step concluding::finish(context& c, std::int64_t settled) {
    c.acts.emplace_back(act::settled{settled});
    where = at::over;
    return {};
}

step concluding::has_read(context& c) {
    const auto& said = c.answer_as<order_read>();
    using enum order_read::how;
    if (said.what == gone) {
        return finish(c, c.ordered);
    }
    if (said.what == failed) {
        return pause();
    }
    const auto own_word = of == job_kind::flush ? domain_state::flush : domain_state::unflush;
    const bool is_taken_back = of == job_kind::unflush && !order.has_hypervisor && said.word == domain_state::ready;
    // The same word of another write may be an order of later: what has come since is to leave too.
    if ((said.word != own_word && !is_taken_back) || said.changed != order.given) {
        return finish(c, said.changed - 1);  // what the watch is about to show is news, what it shows now is not
    }
    where = at::writing;
    return {ask::write_word{word_at_end(), said.version, of == job_kind::flush}, time_point::max(),
            "the end of the order to be written"};
}

step concluding::has_written(context& c) {
    const auto& done = c.answer_as<word_written>();
    switch (done.what) {
        case word_written::how::written: break;
        case word_written::how::overtaken: return read();
        case word_written::how::failed: return pause();
    }
    step end = finish(c, done.zxid);
    report(c, done.still_here);
    return end;
}

void concluding::report(context& c, const std::vector<std::string>& still_here) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(c.now - order.began).count();
    if (!order.has_hypervisor) {
        return c.ok("this node runs no virtual machines: it is `flushed`, and stays so");
    }
    if (of == job_kind::unflush) {
        return c.ok(fmt::format("unflush: done after {} s, this node takes virtual machines again", seconds));
    }
    if (still_here.empty()) {
        return c.ok(fmt::format("flush: done after {} s, no virtual machine runs here any more", seconds));
    }
    c.error(message::flush_leftovers,
            fmt::format("flush: done after {} s, but still running here: {}", seconds, join(still_here, ", ")));
}

step concluding::resume(context& c) {
    switch (where) {
        case at::begin: return read();
        case at::reading: return has_read(c);
        case at::pausing: return read();
        case at::writing: return has_written(c);
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy::drain
