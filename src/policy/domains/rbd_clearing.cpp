#include "pvcnoded/policy/domains/rbd_clearing.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {
// Three tries with their pauses within 30 s, in which a start has to say why it fails.
constexpr duration list_limit = 8s;
// Its client is blocklisted and the lock removed, with two more tries of that.
constexpr duration break_limit = 20s;
constexpr duration own_guest_limit = 5s;
constexpr duration list_locks_again = 1s;
constexpr std::array<duration, 2> list_once_more_after{1s, 3s};
}  // namespace

// ---- listing --------------------------------------------------------------------------------------------------------

std::vector<std::string> reading_rbd_locks::unread() const {
    std::vector<std::string> all;
    for (const auto& one : found) {
        if (one.error && one.may_pass) {
            all.push_back(one.volume);
        }
    }
    return all;
}

step reading_rbd_locks::list(context& c, std::vector<std::string> which) {
    where = at::listing;
    return {ask::list_rbd_locks{std::move(which)}, std::min(c.now + list_limit, limit), "the locks of its disks"};
}

step reading_rbd_locks::pause() {
    where = at::pausing;
    return {ask::change{}, again_at, "another attempt to list the locks of its disks"};
}

step reading_rbd_locks::take(context& c) {
    const auto& said = c.answer_as<rbd_listed>();
    own_addresses = said.own_addresses;
    for (const auto& one : said.volumes) {
        const auto known = std::ranges::find(found, one.volume, &volume_locks::volume);
        if (known == found.end()) {
            found.push_back(one);
        } else {
            *known = one;
        }
    }
    const bool is_last = tries == list_once_more_after.size() || c.now + list_once_more_after.at(tries) >= limit;
    if (is_last || unread().empty()) {
        where = at::over;
        return over();
    }
    again_at = c.now + list_once_more_after.at(tries++);
    return pause();
}

step reading_rbd_locks::resume(context& c) {
    switch (where) {
        case at::begin: {
            found.clear();
            tries = 0;
            std::vector<std::string> named;
            std::ranges::copy_if(volumes, std::back_inserter(named), names_an_image);
            return list(c, std::move(named));
        }
        case at::listing: return take(c);
        case at::pausing: return c.now < again_at ? pause() : list(c, unread());
        case at::over: break;
    }
    return over();
}

// ---- clearing -------------------------------------------------------------------------------------------------------

step clearing_rbd_locks::finish(outcome how, std::string why) {
    where = at::over;
    end = how;
    reason = std::move(why);
    return over();
}

lock_decision clearing_rbd_locks::decision() const {
    return rules.breaks_any ? decide_flush_locks(read.found, read.own_addresses, true)
                            : decide_start_locks(read.found, read.own_addresses);
}

bool clearing_rbd_locks::is_ceph_silent() const {
    const auto is_unread = [](const volume_locks& one) { return one.error.has_value(); };
    const auto is_fine = [](const volume_locks& one) { return !one.error || one.is_cephs; };
    return std::ranges::any_of(read.found, is_unread) && std::ranges::all_of(read.found, is_fine);
}

step clearing_rbd_locks::list(context& c, at which) {
    where = which;
    read.where = reading_rbd_locks::at::begin;
    return read.resume(c);
}

step clearing_rbd_locks::wait() {
    where = at::waiting;
    return {ask::change{}, again_at, "an RBD lock of another host to go"};
}

step clearing_rbd_locks::prove(at which) {
    where = which;
    return {ask::row{}, time_point::max(), "its keys, before a lock of its disks is dealt with"};
}

// storage.md 6.3, step 1.
void clearing_rbd_locks::tell_nameless(context& c) const {
    for (const auto& volume : read.volumes) {
        if (!names_an_image(volume)) {
            c.warning(message::rbd_image_missing,
                      shown(volume) + " names no RBD image, as it has no pool: passed over");
        }
    }
}

void clearing_rbd_locks::tell_missing(context& c) const {
    for (const auto& one : read.found) {
        if (rules.tells_missing && one.is_missing) {
            c.warning(message::rbd_image_missing, "the RBD image " + shown(one.volume) + " does not exist");
        }
    }
}

step clearing_rbd_locks::decide(context& c) {
    lock_decision seen = decision();
    if (seen.verdict == lock_verdict::foreign && c.now < patient_until) {
        in_the_way = std::move(seen.in_the_way);
        again_at = std::min(patient_until, c.now + list_locks_again);
        return wait();
    }
    if (seen.verdict != lock_verdict::own) {
        is_cephs = seen.verdict == lock_verdict::unreadable && is_ceph_silent();
        return finish(outcome::refused, std::move(seen.reason));
    }
    if (seen.to_break.empty()) {
        return finish(outcome::clear);
    }
    to_break = std::move(seen.to_break);
    return rules.asks_libvirt && !is_planted(defect::lock_of_a_guest) ? look_here(c) : prove(at::proving);
}

// After the listing: whoever has a lock that was listed is here by now, if he is here at all.
step clearing_rbd_locks::look_here(context& c) {
    where = at::looking_here;
    return {ask::own_guest{}, c.now + own_guest_limit, "libvirt, whether it is here already"};
}

// Begins while the proof is valid, or not at all.
step clearing_rbd_locks::break_next(context& c) {
    where = at::breaking;
    return {ask::break_rbd_lock{to_break.front(), c.answer_as<row_read>().proof, rules.block_for}, c.now + break_limit,
            "a stale lock of its disks to be broken"};
}

step clearing_rbd_locks::broken(context& c) {
    const lock_to_break which = to_break.front();
    const auto& answer = c.answer_as<call_answer>();
    if (answer.end == call_end::too_late) {
        return finish(outcome::changed);
    }
    if (answer.end != call_end::done) {
        is_cephs = answer.end == call_end::unavailable || answer.end == call_end::timed_out;
        return finish(outcome::refused, unbreakable_lock_text(which, answer.text));
    }
    to_break.erase(to_break.begin());
    return to_break.empty() ? list(c, at::listing_again) : prove(at::proving);
}

// Whoever took it at once after the break may write: only what is seen to be gone is out of the way.
step clearing_rbd_locks::conclude() {
    if (is_planted(defect::break_unverified)) {
        return finish(outcome::clear);
    }
    lock_decision left = decision();
    if (left.verdict != lock_verdict::own) {
        is_cephs = left.verdict == lock_verdict::unreadable && is_ceph_silent();
        return finish(outcome::refused, std::move(left.reason));
    }
    if (!left.to_break.empty()) {
        return finish(outcome::refused, unbreakable_lock_text(left.to_break.front(), "it is still there"));
    }
    return finish(outcome::clear);
}

// Told whatever was written meanwhile: the lock is gone.
void clearing_rbd_locks::tell_broken(context& c) const {
    const lock_to_break& which = to_break.front();
    if (c.answer_as<call_answer>().end == call_end::done) {
        c.info("broke the RBD lock \"" + which.lock.id + "\" of " + which.lock.address + " on " + which.volume);
    }
}

step clearing_rbd_locks::resume(context& c, bool goes_on) {
    if (where == at::breaking) {
        tell_broken(c);
    }
    const bool is_blind = where == at::proving && is_planted(defect::lock_broken_blindly);
    if (where != at::begin && where != at::over && !goes_on && !is_blind) {
        return finish(outcome::changed);
    }
    const auto is_proven = [&c] { return c.answer_as<row_read>().is_fresh() && c.seen.is_connected; };
    switch (where) {
        case at::begin:
            tell_nameless(c);
            if (std::ranges::none_of(read.volumes, names_an_image)) {
                return finish(outcome::clear);
            }
            patient_until = c.now + rules.patience;
            return list(c, at::listing);
        case at::listing:
            return hand_on(read, c, [&] {
                tell_missing(c);
                return decide(c);
            });
        case at::waiting: return c.now < again_at ? wait() : prove(at::looking_again);
        case at::looking_again: return is_proven() ? list(c, at::listing) : finish(outcome::changed);
        case at::looking_here: return c.said_yes() ? prove(at::proving) : finish(outcome::no_libvirt);
        case at::proving: return is_proven() || is_blind ? break_next(c) : finish(outcome::changed);
        case at::breaking: return broken(c);
        case at::listing_again: return hand_on(read, c, [&] { return conclude(); });
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
