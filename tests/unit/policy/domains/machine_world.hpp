// A quiet world for machines: nothing moves by itself, every question is answered, every effect succeeds. What a
// machine comes to in it, from any step on, is its way to wind up.
#pragma once

#include "machine_fixture.hpp"

#include <algorithm>

namespace pvc::policy {

template <class Machine>
class quiet_world {
public:
    explicit quiet_world(played<Machine>& one) : p(one) {}

    remote_answer elsewhere = remote_answer::absent;  // what other nodes say
    bool is_libvirt_there = true;
    int most_without_wait = 0;

    // Until it is over, or `most` questions were asked. True: it is over.
    bool wind_up(int most = 200) {
        int without_wait = 0;
        for (int i = 0; i < most && !p.is_over(); ++i) {
            const bool is_wait = p.template asked<ask::change>() != nullptr || p.template asked<ask::time>() != nullptr;
            const bool takes_time = is_wait && p.next.until > p.now;
            without_wait = takes_time ? 0 : without_wait + 1;
            most_without_wait = std::max(most_without_wait, without_wait);
            p.says(std::visit([this](const auto& question) { return this->answer_to(question); }, p.next.what));
        }
        return p.is_over();
    }

private:
    played<Machine>& p;

    answer wait() {
        p.now = p.next.until == time_point::max() ? p.now + std::chrono::seconds(1) : std::max(p.now, p.next.until);
        settle();
        return woken{};
    }
    // What it holds comes, or goes.
    void settle() {
        using locks = held_now::locks;
        const holdings wanted = p.holds();
        held_now& held = p.seen.held;
        if (!wanted.locks) {
            held.of_migration = locks::none;
        } else if (held.of_migration == locks::none) {
            held.of_migration = p.seen.is_present ? locks::held : locks::no_keys;
        } else if (held.of_migration == locks::pending && p.now >= *wanted.locks) {
            held.of_migration = locks::late;
        }
        const bool is_taken = wanted.of_sync == holdings::sync::taken;
        held.sync_failed = held.sync_failed || (is_taken && !held.sync_granted && p.now >= wanted.sync_by);
        held.sync_released = !is_taken && wanted.of_sync != holdings::sync::offered;
        held.has_turn = wanted.of_turn != holdings::turn::none;
        if (wanted.call_to.empty()) {
            held.call_begun.reset();
            held.call_outcome.reset();
            held.call_is_over = false;
        } else {
            held.call_begun = held.call_begun.value_or(p.now);
            held.call_is_over = held.call_is_over || wanted.gives_up_call || held.call_outcome.has_value();
        }
    }
    answer write(answer made) {
        if (!p.seen.is_present) {
            return write_end::overtaken;
        }
        p.apply_write();
        return made;
    }
    template <class Change>
    answer guest_call(Change change) {
        if (!is_libvirt_there) {
            p.seen.guest.reset();
            return call_answer{call_end::unavailable, "no libvirt"};
        }
        change();
        return call_answer{call_end::done, {}};
    }

    answer answer_to(const ask::nothing& /*q*/) { return woken{}; }
    answer answer_to(const ask::change& /*q*/) { return wait(); }
    answer answer_to(const ask::time& /*q*/) { return wait(); }
    answer answer_to(const ask::row& /*q*/) {
        return row_read{p.seen.is_present ? row_read::end::fresh : row_read::end::gone, {}};
    }
    answer answer_to(const ask::write_state& /*q*/) { return write(write_end::written); }
    answer answer_to(const ask::write_placement& /*q*/) { return write(write_end::written); }
    answer answer_to(const ask::write_last_node& /*q*/) { return write(write_end::written); }
    answer answer_to(const ask::take_back& /*q*/) { return write(write_end::written); }
    answer answer_to(const ask::write_failed& /*q*/) { return write(write_end::written); }
    answer answer_to(const ask::write_started& /*q*/) {
        return p.seen.is_present ? write(policy::yes{true}) : answer(policy::yes{false});
    }
    answer answer_to(const ask::clear_own& /*q*/) { return policy::yes{p.seen.is_present}; }
    answer answer_to(const ask::offer_to_receive& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::connection& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::sending_keys& /*q*/) { return wishes_read{true, true, "none", std::nullopt}; }
    answer answer_to(const ask::set_listed& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::others& /*q*/) {
        return others_read{true, {{"hv2", model::daemon_state::run, false}, {"hv3", model::daemon_state::run, false}}};
    }
    answer answer_to(const ask::daemon_runs& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::node_exists& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::whose_stop& /*q*/) { return policy::yes{false}; }
    answer answer_to(const ask::target& /*q*/) { return elsewhere; }
    answer answer_to(const ask::nodes& question) {
        nodes_asked said;
        for (const auto& name : question.names) {
            said.answers.emplace_back(name, elsewhere);
        }
        return said;
    }
    answer answer_to(const ask::own_guest& /*q*/) { return policy::yes{p.seen.guest.has_value()}; }
    answer answer_to(const ask::destroy& /*q*/) {
        return guest_call([this] { p.seen.guest = model::guest_class::absent; });
    }
    answer answer_to(const ask::resume_guest& /*q*/) {
        return guest_call([this] { p.seen.guest = model::guest_class::alive; });
    }
    answer answer_to(const ask::create& /*q*/) {
        return guest_call([this] { p.seen.guest = model::guest_class::alive; });
    }
    answer answer_to(const ask::set_downtime& /*q*/) {
        return guest_call([] {});
    }
    answer answer_to(const ask::progress& /*q*/) {
        p.now += std::chrono::milliseconds(1);
        settle();
        return progress_read{is_libvirt_there, true, 100, 200, 1, 1};
    }
    answer answer_to(const ask::abort_call& /*q*/) {
        p.seen.held.call_outcome = call_end::other;
        p.seen.held.call_is_over = true;
        return call_answer{call_end::done, {}};
    }
    answer answer_to(const ask::rbd_verdict& /*q*/) { return rbd_judged{rbd_judged::verdict::no_disks, {}}; }
    answer answer_to(const ask::list_rbd_locks& question) {
        rbd_listed said;
        for (const auto& volume : question.volumes) {
            said.volumes.push_back({volume, {}, {}});
        }
        return said;
    }
    answer answer_to(const ask::prepare_rbd_break& /*q*/) { return call_answer{call_end::done, {}}; }
    answer answer_to(const ask::disk_users& /*q*/) { return disk_users_read{disk_users_read::end::known, {}, {}}; }
    answer answer_to(const ask::break_rbd_lock& /*q*/) { return call_answer{call_end::done, {}}; }
    answer answer_to(const ask::contenders& /*q*/) { return contenders_read{contenders_read::end::read, false}; }
    answer answer_to(const ask::make_sync_key& /*q*/) { return policy::yes{p.seen.is_present}; }
    answer answer_to(const ask::stranded_keys& /*q*/) { return keys_compared{true, false, 5}; }
    answer answer_to(const ask::definition& /*q*/) {
        return definition_read{
            p.seen.is_present ? definition_read::end::read : definition_read::end::missing, {}, {"vms/web_sda"}};
    }
    answer answer_to(const ask::end_crashed& /*q*/) { return woken{}; }
    answer answer_to(const ask::publish_vnc& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::live_xml& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::end_console& /*q*/) { return woken{}; }
    answer answer_to(const ask::clear_reason& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::monitors& /*q*/) { return call_answer{call_end::done, {}}; }
    answer answer_to(const ask::bridges_look& /*q*/) { return policy::yes{true}; }
    answer answer_to(const ask::network_is_gone& /*q*/) { return policy::yes{false}; }
    answer answer_to(const ask::write_reason& /*q*/) { return policy::yes{p.seen.is_present}; }
};

// From every step of a story on, after `change` was made to what is seen: it winds up. What it did on the way there is
// looked at by `check`.
template <class Machine, class Change, class Check>
void wind_up_from_each(const played<Machine>& story, Change change, Check check) {
    for (auto one : story.on_its_way()) {
        const std::string from = text_of(one.next, one.now);
        SCOPED_TRACE("from: " + from);
        change(one);
        quiet_world<Machine> world(one);
        EXPECT_TRUE(world.wind_up()) << one.story();
        EXPECT_LE(world.most_without_wait, 50);
        check(one);
    }
}

}  // namespace pvc::policy
