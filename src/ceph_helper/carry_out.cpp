#include "pvcnoded/ceph_helper/carry_out.hpp"

#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/ceph_helper/error_table.hpp"

#include <utility>

namespace pvc::ceph_helper {

namespace ask = protocol::ceph::ask;
namespace say = protocol::ceph::say;

namespace {

// A break that got no answer is tried again so often (storage.md 6.3 step 6).
constexpr int timeouts_max = 2;

say::failed to_answer(const failure& why) {
    return {why.code(), why.cause()};
}

say::failed to_answer(const call_status& status) {
    return {status.code(), status.text()};
}

struct question_answerer {
    time_point until;
    const surroundings& with;

    [[nodiscard]] bool is_late() const { return with.now() >= until; }
    [[nodiscard]] static say::failed late() { return {errc::timed_out, "its time was over before it was begun"}; }

    // `call` on a handle; once more on a new one when this one turns out to be lost, and after a timeout `again` times.
    // None: it did not come to a call.
    template <class Call>
    std::variant<call_status, say::failed> on_handle(Call call, int again = 0) const {
        bool was_lost = false;
        call_status status;
        for (bool is_first = true;; is_first = false) {
            if (is_late()) {
                return is_first ? std::variant<call_status, say::failed>(late()) : status;
            }
            auto handle = with.handle.get();
            if (!handle) {
                return to_answer(handle.error());
            }
            if (is_late()) {  // connecting took it all
                return late();
            }
            status = call(**handle);
            with.handle.note(*handle, status.error);
            if (is_handle_lost(status.error) && !was_lost) {
                was_lost = true;
            } else if (!is_timeout(status.error) || again-- <= 0) {
                return status;
            }
        }
    }

    // What is said when all went well, else why not.
    template <class Call, class Good>
    said answer(Call call, Good good) const {
        auto end = on_handle(std::move(call));
        if (auto* refusal = std::get_if<say::failed>(&end)) {
            return std::move(*refusal);
        }
        const auto& status = std::get<call_status>(end);
        return status.is_well() ? said(good()) : said(to_answer(status));
    }

    said operator()(const ask::monitor_command& what) const {
        say::output out;
        return answer([&](connection& on) { return on.command(what.text, out.bytes); }, [&] { return std::move(out); });
    }

    said operator()(const ask::pool_counters& what) const {
        say::counted out;
        for (const auto& pool : what.pools) {
            protocol::ceph::counters found;
            auto end = on_handle([&](connection& on) { return on.count(pool, found); });
            if (auto* refusal = std::get_if<say::failed>(&end)) {
                return std::move(*refusal);
            }
            const auto& status = std::get<call_status>(end);
            if (status.is_well()) {
                out.pools.push_back(std::move(found));
            } else if (!is_missing(status.error)) {
                return to_answer(status);
            }
        }
        return out;
    }

    said operator()(const ask::locks& what) const {
        const auto image = parse_image_name(what.image);
        if (!image) {
            return to_answer(image.error());
        }
        say::locked out;
        return answer([&](connection& on) { return on.list_lockers(*image, out.locks); },
                      [&] { return std::move(out); });
    }

    said operator()(const ask::watchers& what) const {
        const auto image = parse_image_name(what.image);
        if (!image) {
            return to_answer(image.error());
        }
        say::watched out;
        return answer([&](connection& on) { return on.list_watchers(*image, out.watchers); },
                      [&] { return std::move(out); });
    }

    said operator()(const ask::prepare_break& what) const {
        const auto image = parse_image_name(what.image);
        if (!image) {
            return to_answer(image.error());
        }
        const auto key = key_of(what);
        auto ready = with.prepared.find(key);
        auto end = on_handle([&](connection& on) { return opened_on(on, *image, what, ready); });
        if (ready) {
            with.prepared.put(key, ready, with.now());
        }
        return done_or_why(std::move(end));
    }

    said operator()(const ask::break_lock& what) const {
        const auto image = parse_image_name(what.image);
        if (!image) {
            return to_answer(image.error());
        }
        const auto key = key_of(what);
        auto ready = with.prepared.find(key);
        // Whatever took its time before: it begins with its proof, and for somebody who waits for it.
        const auto may_begin = [&] { return !is_late() && guarded(is_allowed(what.not_after_ns)); };
        call_status last;
        bool is_begun = false;
        auto end = on_handle(
            [&](connection& on) {
                call_status status = opened_on(on, *image, what, ready);
                if (!status.is_well() || !ready) {
                    return status;
                }
                status = ready->carry_out(may_begin);
                if (status.is_too_late && is_begun) {
                    return last;  // what came of the first attempt is not known
                }
                is_begun = is_begun || !status.is_too_late;
                last = status;
                return status;
            },
            timeouts_max);
        const auto* status = std::get_if<call_status>(&end);
        const bool is_too_late = status != nullptr && status->is_too_late;
        if (!is_too_late) {
            with.prepared.forget(key);  // else another proof comes for it
        }
        return is_too_late && is_late() ? said(late()) : done_or_why(std::move(end));
    }

    said operator()(const ask::blocklist& what) const {
        auto end = on_handle([&](connection& on) {
            call_status status{.what = "putting " + shown(what.address) + " on the blocklist"};
            if (with.identities.has_address(what.address)) {
                status.error = EBUSY;
                status.said = "that is the address of this helper itself";
            } else if (!guarded(is_allowed(what.not_after_ns))) {
                status.is_too_late = true;
            } else {
                const auto seconds = static_cast<std::uint32_t>(what.seconds);
                status = what.by_command ? on.blocklist_by_command(what.address, seconds)
                                         : on.blocklist(what.address, seconds);
            }
            return status;
        });
        return done_or_why(std::move(end));
    }

    said operator()(const ask::usage& /*what*/) const { return say::failed{errc::invalid, "it is asked elsewhere"}; }

    template <class Asked>
    static prepared_breaks::key key_of(const Asked& what) {
        return {what.image, what.which.id, what.which.client, what.is_blocked ? -1 : what.blocklist_seconds};
    }
    // Leaves in `ready` what was opened on this handle; none: there is no such lock any more.
    template <class Asked>
    call_status opened_on(connection& on, const image_name& image, const Asked& what,
                          std::shared_ptr<ready_break>& ready) const {
        // Asked again with each handle: the one that was just made is ours too.
        if (with.identities.has_client(what.which.client)) {
            ready.reset();
            return {.error = EBUSY, .what = "breaking a lock", .said = own_lock(what.which)};
        }
        if (ready && ready->is_of(on)) {
            return {};
        }
        const auto seconds = static_cast<std::uint32_t>(what.blocklist_seconds);
        return on.prepare_break(image, what.which, what.is_blocked ? std::nullopt : std::optional(seconds), until,
                                ready);
    }
    [[nodiscard]] bool is_allowed(std::int64_t not_after_ns) const {
        return with.boot_now().time_since_epoch().count() <= not_after_ns;
    }
    static std::string own_lock(const protocol::ceph::lock& which) {
        return "the lock \"" + shown(which.id) + "\" is held by this helper itself (" + shown(which.client) + ")";
    }
    static said done_or_why(std::variant<call_status, say::failed> end) {
        if (auto* refusal = std::get_if<say::failed>(&end)) {
            return std::move(*refusal);
        }
        const auto& status = std::get<call_status>(end);
        return status.is_well() ? said(say::done{}) : said(to_answer(status));
    }
};

}  // namespace

said carry_out(const decltype(protocol::ceph::request::what)& what, time_point until, const surroundings& with) {
    return std::visit(question_answerer{until, with}, what);
}

}  // namespace pvc::ceph_helper
