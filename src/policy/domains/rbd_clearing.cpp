#include "pvcnoded/policy/domains/rbd_clearing.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/start_outcomes.hpp"

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
// An image of slow OSDs takes a dozen calls.
constexpr duration prepare_limit = 20s;
constexpr duration users_limit = 10s;
constexpr duration users_validity = 2s;  // as of a proof
// So often it is looked at what became of a break that nobody knows of, and so often one is prepared again that could
// not begin in time.
constexpr int rounds_max = 2;
constexpr int late_max = 5;
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
    users_until = {};  // those of locks that are listed only now
    users_proof.reset();
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
        if (rules.tells_missing && one.is_missing && rounds == 0) {
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
    if (seen.verdict == lock_verdict::foreign && rules.asks_others) {
        reason = std::move(seen.reason);
        where = at::asking_others;
        return {ask::others{}, time_point::max(), "the other nodes' running lists, as the lock is another host's"};
    }
    if (seen.verdict != lock_verdict::own) {
        is_cephs = seen.verdict == lock_verdict::unreadable && is_ceph_silent();
        return finish(outcome::refused, std::move(seen.reason));
    }
    if (seen.to_break.empty()) {
        return finish(outcome::clear);
    }
    to_break = std::move(seen.to_break);
    broken_now.clear();
    is_after_break = false;
    return rules.asks_libvirt && !is_planted(defect::lock_of_a_guest) ? look_here(c) : prepare(c);
}

// Whoever lists the domain may have the guest whose lock that is, and be about to end it: its start waits for that in
// its own way, with its own patience.
step clearing_rbd_locks::others_seen(context& c) {
    using model::daemon_state;
    const auto& others = c.answer_as<others_read>();
    if (!others.is_known) {
        return finish(outcome::changed);
    }
    std::vector<std::string> holders;
    for (const auto& one : others.nodes) {
        const bool is_off = one.daemon == daemon_state::dead || one.daemon == daemon_state::fenced;
        if (one.lists_it && !is_off) {
            holders.push_back(one.name);
        }
    }
    if (holders.empty()) {
        return finish(outcome::refused, std::move(reason));
    }
    where = at::asking_holders;
    return {ask::nodes{std::move(holders)}, time_point::max(), "the hypervisors of nodes that list it"};
}

step clearing_rbd_locks::holders_seen(context& c) {
    const auto& asked = c.answer_as<nodes_asked>().answers;
    const bool has_one =
        std::ranges::any_of(asked, [](const auto& one) { return one.second != remote_answer::absent; });
    return has_one ? finish(outcome::changed) : finish(outcome::refused, std::move(reason));
}

// After the listing: whoever has a lock that was listed is here by now, if he is here at all.
step clearing_rbd_locks::look_here(context& c) {
    where = at::looking_here;
    return {ask::own_guest{}, c.now + own_guest_limit, "libvirt, whether it is here already"};
}

// What takes long and needs no proof.
step clearing_rbd_locks::prepare(context& c) {
    if (is_planted(defect::opened_after_proof)) {
        return ask_users(c);
    }
    where = at::preparing;
    return {ask::prepare_rbd_break{to_break.front(), rules.block_for}, c.now + prepare_limit,
            "the image of a stale lock to be opened"};
}

step clearing_rbd_locks::prepared(context& c) {
    const auto& answer = c.answer_as<call_answer>();
    return answer.end == call_end::done ? ask_users(c) : list_anew(c, answer);
}

// Right before the proof: whoever has an image open here has its lock, though its address is ours. One look is for all
// locks that are broken by the end of the proof that follows it: it costs the live XML of all guests.
step clearing_rbd_locks::ask_users(context& c) {
    auto volumes = rules.asks_users ? volumes_to_ask_about(to_break, read.own_addresses) : std::vector<std::string>();
    if (volumes.empty() || c.now < users_until) {
        return prove(at::proving);
    }
    users_until = {};
    users_proof.reset();
    where = at::asking_users;
    return {ask::disk_users{std::move(volumes)}, c.now + users_limit, "who else on this node has its disks open"};
}

step clearing_rbd_locks::users_seen(context& c) {
    const auto& answer = c.answer_as<disk_users_read>();
    switch (answer.what) {
        case disk_users_read::end::no_libvirt: return finish(outcome::no_libvirt, answer.reason);
        case disk_users_read::end::failed:
            return finish(outcome::unseen, std::string(wait_words::disk_users) + answer.reason);
        case disk_users_read::end::known: break;
    }
    users_until = c.now + users_validity;
    users_decision seen = decide_on_users(to_break, answer.users, read.own_addresses);
    if (!seen.refusal.empty()) {
        return finish(outcome::refused, std::move(seen.refusal));
    }
    left_alone.insert(left_alone.end(), seen.left_alone.begin(), seen.left_alone.end());
    const lock_to_break next = to_break.front();
    to_break = std::move(seen.to_break);
    if (to_break.empty()) {
        return finish(outcome::clear);
    }
    if (is_after_break) {
        return finish(outcome::refused, unbreakable_lock_text(to_break.front(), "it is still there"));
    }
    return to_break.front() == next ? prove(at::proving) : prepare(c);
}

// Begins while the proof is valid, or not at all; so long counts the look that came before the first one.
step clearing_rbd_locks::break_next(context& c) {
    boot_time proof = c.answer_as<row_read>().proof;
    if (users_until != time_point()) {
        users_proof = std::min(users_proof.value_or(proof), proof);
        proof = *users_proof;
    }
    where = at::breaking;
    return {ask::break_rbd_lock{to_break.front(), proof, rules.block_for}, c.now + break_limit,
            "a stale lock of its disks to be broken"};
}

step clearing_rbd_locks::broken(context& c) {
    const auto& answer = c.answer_as<call_answer>();
    if (answer.end == call_end::too_late) {
        return too_late(c);
    }
    if (answer.end != call_end::done) {
        return list_anew(c, answer);
    }
    late = 0;
    broken_now.push_back(to_break.front());
    to_break.erase(to_break.begin());
    return to_break.empty() ? list(c, at::listing_again) : prepare(c);
}

// Its keys are read anew; where that takes long itself, or Ceph is asked by many, again and again. That is no failure,
// and it is told.
step clearing_rbd_locks::too_late(context& c) {
    users_until = {};
    if (++late < late_max) {
        return prepare(c);
    }
    c.info("the RBD lock \"" + to_break.front().lock.id + "\" on " + to_break.front().volume +
           " was not broken: " + std::to_string(late) +
           " times its turn came when the last look at its keys was older than 2 s; beginning anew");
    return finish(outcome::changed);
}

// Whether it was done is not known, or it could not be tried: what the storage says now is decided on.
step clearing_rbd_locks::list_anew(context& c, const call_answer& why) {
    const bool may_pass =
        why.end == call_end::timed_out || why.end == call_end::unavailable || why.end == call_end::too_late;
    if (!may_pass || rounds >= rounds_max || is_planted(defect::lost_break_given_up)) {
        return refuse(why);
    }
    ++rounds;
    to_break.clear();
    left_alone.clear();
    return list(c, at::listing);
}

step clearing_rbd_locks::refuse(const call_answer& why) {
    is_cephs = why.end == call_end::unavailable || why.end == call_end::timed_out || why.end == call_end::too_late;
    return finish(outcome::refused, unbreakable_lock_text(to_break.front(), why.text));
}

// Another that shares the image was started in the same moment, broke the same stale lock, and has its own by now: who
// that is, is asked. What nobody here is seen to have is not broken a second time.
bool clearing_rbd_locks::has_successor(const lock_decision& left) const {
    return rules.asks_users && !is_after_break && !volumes_to_ask_about(left.to_break, read.own_addresses).empty() &&
           std::ranges::all_of(left.to_break, [this](const lock_to_break& one) {
               return std::ranges::find(broken_now, one) == broken_now.end();
           });
}

// Whoever took it at once after the break may write: only what is seen to be gone is out of the way.
step clearing_rbd_locks::conclude(context& c) {
    if (is_planted(defect::break_unverified)) {
        return finish(outcome::clear);
    }
    lock_decision left = decision();
    std::erase_if(left.to_break, [this](const lock_to_break& one) {
        return std::ranges::find(left_alone, one.volume) != left_alone.end();
    });
    if (left.verdict != lock_verdict::own) {
        is_cephs = left.verdict == lock_verdict::unreadable && is_ceph_silent();
        return finish(outcome::refused, std::move(left.reason));
    }
    if (has_successor(left)) {
        is_after_break = true;
        to_break = std::move(left.to_break);
        return ask_users(c);
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
        case at::asking_others: return others_seen(c);
        case at::asking_holders: return holders_seen(c);
        case at::looking_here:
            return c.said_yes() ? prepare(c) : finish(outcome::no_libvirt, std::string(wait_words::libvirt_silent));
        case at::preparing: return prepared(c);
        case at::asking_users: return users_seen(c);
        case at::proving: return is_proven() || is_blind ? break_next(c) : finish(outcome::changed);
        case at::breaking: return broken(c);
        case at::listing_again: return hand_on(read, c, [&] { return conclude(c); });
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
