// What holds for every machine of a domain, whatever it is told and in whatever order: its question and the answer fit,
// it says what it waits for, it does not ask without end, and it is over when the daemon stops. Walks by chance, of
// fixed seeds; what holds for each resumption is checked by the fixture.
#include "machine_world.hpp"

#include <set>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using any_played = played<domain_machine>;

constexpr int walks_of_each = 200;
constexpr int steps_of_a_walk = 100;
constexpr int questions_in_a_row_max = 50;
constexpr int questions_to_the_end_max = 400;

// splitmix64.
class chance {
public:
    explicit chance(std::uint64_t seed) : state_(seed) {}

    std::uint64_t number(std::uint64_t below) {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return (z ^ (z >> 31U)) % below;
    }
    bool one_in(std::uint64_t many) { return number(many) == 0; }
    template <class Enum>
    Enum any_to(Enum last) {
        return static_cast<Enum>(number(static_cast<std::uint64_t>(last) + 1));
    }
    std::string_view node() {
        static constexpr std::array<std::string_view, 6> names{"hv1", "hv2", "hv3", "hv2", "", "a/b"};
        return names.at(number(names.size()));
    }

private:
    std::uint64_t state_;
};

// ---- answers by chance, each of the alternative that is asked for

std::vector<other_node> some_nodes(chance& by) {
    std::vector<other_node> nodes;
    for (const char* name : {"hv2", "hv3"}) {
        nodes.push_back({name, by.any_to(daemon_state::fenced), by.one_in(3)});
    }
    return nodes;
}

struct answers_by_chance {
    chance& by;
    const ask::any& question;

    answer of(woken /*t*/) { return woken{}; }
    answer of(yes /*t*/) { return by.one_in(5) ? yes{} : yes{!by.one_in(4)}; }
    answer of(row_read /*t*/) {
        return row_read{by.one_in(5) ? by.any_to(row_read::end::failed) : row_read::end::fresh, {}};
    }
    answer of(write_end /*t*/) { return by.one_in(3) ? by.any_to(write_end::failed) : write_end::written; }
    answer of(const call_answer& /*t*/) {
        return call_answer{by.one_in(2) ? by.any_to(call_end::other) : call_end::done, "words"};
    }
    answer of(const others_read& /*t*/) { return others_read{!by.one_in(4), some_nodes(by)}; }
    answer of(remote_answer /*t*/) { return by.any_to(remote_answer::silent); }
    answer of(const nodes_asked& /*t*/) {
        nodes_asked said;
        for (const auto& name : std::get<ask::nodes>(question).names) {
            said.answers.emplace_back(name, by.any_to(remote_answer::silent));
        }
        return said;
    }
    answer of(const rbd_judged& /*t*/) { return rbd_judged{by.any_to(rbd_judged::verdict::unreadable), "why"}; }
    answer of(const rbd_listed& /*t*/) {
        rbd_listed said{{}, {"10.254.0.1"}};
        for (const auto& volume : std::get<ask::list_rbd_locks>(question).volumes) {
            said.volumes.push_back({volume, {}, {}});
            if (by.one_in(6)) {
                said.volumes.back().error = "no answer";
                said.volumes.back().may_pass = !by.one_in(3);
            } else if (by.one_in(2)) {
                said.volumes.back().locks.push_back(
                    {"auto 1", "client.1", by.one_in(3) ? "10.254.0.2:0/1" : "10.254.0.1:0/1"});
            }
        }
        return said;
    }
    answer of(const disk_users_read& /*t*/) {
        disk_users_read read{
            by.one_in(4) ? by.any_to(disk_users_read::end::failed) : disk_users_read::end::known, "why", {}};
        for (const auto& volume : std::get<ask::disk_users>(question).volumes) {
            if (by.one_in(4)) {
                read.users.push_back({by.any_to(disk_user::kind::nbd), volume, "other", by.one_in(2)});
            }
        }
        return read;
    }
    answer of(const wishes_read& /*t*/) {
        static constexpr std::array<const char*, 4> methods{"none", "live", "shutdown", "x"};
        wishes_read read{!by.one_in(4), !by.one_in(6), methods.at(by.number(4)), {}};
        read.max_downtime = by.one_in(2) ? std::optional<std::string>("300") : std::nullopt;
        return read;
    }
    answer of(progress_read /*t*/) { return progress_read{!by.one_in(4), !by.one_in(3), by.number(5), 5, 1, 1}; }
    answer of(contenders_read /*t*/) { return contenders_read{by.any_to(contenders_read::end::failed), by.one_in(2)}; }
    answer of(keys_compared /*t*/) {
        return keys_compared{!by.one_in(4), by.one_in(4), static_cast<std::int64_t>(by.number(2))};
    }
    answer of(const definition_read& /*t*/) {
        return definition_read{by.one_in(4) ? by.any_to(definition_read::end::failed) : definition_read::end::read,
                               "x",
                               {"vms/web_sda", "vms/web_sdb"}};
    }
};

template <std::size_t Index = 0>
answer answer_by_chance(const ask::any& question, chance& by) {
    if constexpr (Index < std::variant_size_v<answer>) {
        if (fitting_answer(question) == Index) {
            return answers_by_chance{by, question}.of(std::variant_alternative_t<Index, answer>{});
        }
        return answer_by_chance<Index + 1>(question, by);
    } else {
        ADD_FAILURE();
        return woken{};
    }
}

// ---- views by chance

void hold_by_chance(held_now& held, const holdings& wanted, time_point now, chance& by) {
    const auto trouble = by.one_in(4) ? by.any_to(held_now::locks::failed) : held_now::locks::held;
    held.of_migration = wanted.locks ? trouble : held_now::locks::none;
    held.somebody_waits = by.one_in(3);
    held.sync_granted = by.one_in(2);
    held.sync_alone = held.sync_granted && by.one_in(3);
    held.sync_failed = !held.sync_granted && by.one_in(6);
    const bool is_at_sync = wanted.of_sync == holdings::sync::offered || wanted.of_sync == holdings::sync::taken;
    held.sync_released = !is_at_sync && by.one_in(2);
    held.sync_is_held = by.one_in(2);
    held.has_turn = wanted.of_turn != holdings::turn::none && by.one_in(2);
    held.target_daemon = by.one_in(8) ? std::optional(by.any_to(daemon_state::fenced)) : std::nullopt;
    held.target_lists_it = by.one_in(3);
    if (wanted.call_to.empty()) {
        held.call_begun.reset();
        held.call_outcome.reset();
        held.call_is_over = false;
        return;
    }
    if (!held.call_begun && by.one_in(2)) {
        held.call_begun = now;
    }
    if (!held.call_outcome && by.one_in(6)) {
        held.call_outcome = by.any_to(call_end::other);
    }
    held.call_is_over = held.call_is_over || (held.call_outcome && by.one_in(2));
}

void change_by_chance(any_played& p, chance& by) {
    if (by.one_in(4)) {
        p.place(by.any_to(vm_state::deleted), by.node());
    }
    if (by.one_in(6)) {
        static constexpr std::array usual{vm_state::migrate, vm_state::start, vm_state::stop};
        p.place(usual.at(by.number(usual.size())), by.one_in(2) ? "hv1" : "hv2");
    }
    if (by.one_in(3)) {
        p.seen.guest = by.one_in(6) ? std::nullopt : std::optional(by.any_to(guest_class::absent));
        p.seen.class_since = p.now;
    }
    if (by.one_in(25)) {
        p.remove_keys();
    } else if (!p.seen.is_present && by.one_in(2)) {
        p.seen.is_present = true;
        p.seen.wish.created = static_cast<std::int64_t>(by.number(3));
        p.place(vm_state::start, "hv1");
    }
    p.seen.is_handed_over = by.one_in(3);
    p.seen.is_half_made = by.one_in(8);
    p.seen.holds_starts = by.one_in(20);
    p.seen.is_connected = !by.one_in(20);
    p.seen.last_node = by.node();
    p.seen.came_from = by.node();
    p.seen.stable = {by.one_in(2), by.one_in(2), by.any_to(vm_state::deleted), by.node(),
                     p.seen.state_version - static_cast<std::int32_t>(by.number(3))};
    p.seen.names_bridges = by.one_in(2);
    p.seen.bridge = {by.one_in(6) ? by.any_to(bridge_seen::kind::unknown) : bridge_seen::kind::fine, "vmbr7", {}};
}

// What it is asked to do suits what is seen, as it does when the tables have decided; or it does not.
any_played at_the_beginning(const domain_machine& machine, chance& by) {
    any_played p(machine);
    p.is_late_by_a_look = std::holds_alternative<sending>(machine) || std::holds_alternative<receiving>(machine);
    p.memory.migration.is_sent_by_us = by.one_in(2);
    p.memory.adoption.owes_reason = by.one_in(3);
    p.memory.adoption.not_before = by.one_in(4) ? p.now + 4s : time_point();
    p.seen.state_since = p.seen.class_since = p.now;
    if (std::holds_alternative<sending>(machine) || std::holds_alternative<resolving_sent>(machine) ||
        std::holds_alternative<handing_over_ended>(machine)) {
        p.place(vm_state::migrate, "hv2");
    } else if (std::holds_alternative<receiving>(machine)) {
        p.place(vm_state::migrate, "hv1");
        p.seen.guest = guest_class::absent;
    } else if (std::holds_alternative<seeing_taken_over>(machine)) {
        p.place(vm_state::stop, "hv2");
        p.seen.is_handed_over = true;
    } else if (std::holds_alternative<starting>(machine)) {
        p.seen.guest = guest_class::absent;
    } else if (const auto* half = std::get_if<resolving_own>(&machine)) {
        p.seen.guest = guest_class::incoming;
        if (half->is_found) {
            p.place(vm_state::migrate, "hv2");
        }
    }
    return p;
}

// Somebody changes something once in so many steps.
void step_by_chance(any_played& p, chance& by, std::uint64_t calm = 3) {
    const bool is_wait = p.asked<ask::change>() != nullptr || p.asked<ask::time>() != nullptr;
    const bool is_to_the_end = is_wait && p.next.until < time_point::max() && by.one_in(2);
    p.now = is_to_the_end ? std::max(p.now, p.next.until) : p.now + std::chrono::milliseconds(by.number(3000));
    if (by.one_in(calm)) {
        change_by_chance(p, by);
    }
    hold_by_chance(p.seen.held, p.holds(), p.now, by);
    p.says(answer_by_chance(p.next.what, by));
}

// Returns how many questions it asked in a row without a wait, at most.
int walk(any_played& p, chance& by) {
    const std::uint64_t calm = 2U << by.number(6);
    p.begin();
    int in_a_row = 0;
    int most = 0;
    for (int i = 0; i < steps_of_a_walk && !p.is_over(); ++i) {
        const bool is_wait = p.asked<ask::change>() != nullptr || p.asked<ask::time>() != nullptr;
        in_a_row = is_wait && p.next.until > p.now ? 0 : in_a_row + 1;
        most = std::max(most, in_a_row);
        step_by_chance(p, by, calm);
    }
    return most;
}

// What is to be destroyed goes when it is destroyed, as in every other world; all else stands still.
void expect_winds_up(any_played p, remote_answer elsewhere) {
    p.seen.must_end = true;
    quiet_world<domain_machine> world(p);
    world.elsewhere = elsewhere;
    world.is_libvirt_there = p.seen.guest.has_value();
    EXPECT_TRUE(world.wind_up(questions_to_the_end_max)) << p.story();
    EXPECT_LE(world.most_without_wait, questions_in_a_row_max) << p.story();
    EXPECT_EQ(p.holds(), holdings()) << p.story();
}

TEST(machine_walks, every_machine_in_any_order_of_events) {
    std::set<std::size_t> walked;
    std::set<std::size_t> asked;
    for (int number = 0; number <= static_cast<int>(domain_action::report_unknown); ++number) {
        const auto machine = machine_for(static_cast<domain_action>(number));
        if (!machine) {
            continue;
        }
        walked.insert(machine->index());
        for (int seed = 0; seed < walks_of_each; ++seed) {
            SCOPED_TRACE(std::string(to_text(static_cast<domain_action>(number))) + ", walk " + std::to_string(seed));
            chance by(static_cast<std::uint64_t>(number * 1000 + seed));
            auto p = at_the_beginning(*machine, by);
            ASSERT_NO_THROW(EXPECT_LE(walk(p, by), questions_in_a_row_max)) << p.story();
            for (const auto& one : p.on_its_way()) {
                asked.insert(one.next.what.index());
            }
            ASSERT_NO_THROW(expect_winds_up(p, remote_answer::absent));
            ASSERT_NO_THROW(expect_winds_up(p, remote_answer::silent));
            ASSERT_NO_THROW(expect_winds_up(p, remote_answer::alive));
            if (testing::Test::HasFailure()) {
                return;
            }
        }
    }
    EXPECT_EQ(walked.size(), std::variant_size_v<domain_machine>) << "the tables begin every one of them";
    // The hand-shake has machines of its own, and what takes several failures in a row, or 120 s of the same, does not
    // come by chance: those have their tables.
    const std::set<std::string_view> elsewhere{"contenders",  "make_sync_key", "take_back",
                                               "daemon_runs", "end_crashed",   "bridges_look"};
    for (std::size_t i = 1; i < question_names.size(); ++i) {
        EXPECT_TRUE(asked.contains(i) || elsewhere.contains(question_names.at(i))) << question_names.at(i);
    }
}

TEST(machine_walks, what_the_tables_ask_for) {
    for (const auto action : {domain_action::nothing, domain_action::wait, domain_action::report_unknown}) {
        EXPECT_FALSE(machine_for(action)) << to_text(action);
    }
    const auto why = [](domain_action action) { return std::get<going_off>(*machine_for(action)).why; };
    EXPECT_EQ(why(domain_action::shutdown), going_off::reason::shutdown);
    EXPECT_EQ(why(domain_action::quiet_shutdown), going_off::reason::quiet_shutdown);
    EXPECT_EQ(why(domain_action::stop), going_off::reason::stop);
    EXPECT_EQ(why(domain_action::restart), going_off::reason::restart);
    EXPECT_EQ(why(domain_action::destroy), going_off::reason::terminate);
    EXPECT_EQ(why(domain_action::terminate), going_off::reason::terminate);
    EXPECT_TRUE(std::get<cleaning_up>(*machine_for(domain_action::clean_up)).with_keys);
    EXPECT_FALSE(std::get<cleaning_up>(*machine_for(domain_action::forget)).with_keys);
}

// What a machine is told and what it remembers is all there is: two of them that are told the same go the same way.
TEST(machine_walks, a_machine_is_a_value) {
    const auto machine = machine_for(domain_action::send);
    chance by(7);
    auto one = at_the_beginning(*machine, by);
    one.begin();
    auto other = one;
    chance first(8);
    chance second(8);
    for (int i = 0; i < 40 && !one.is_over(); ++i) {
        step_by_chance(one, first);
        step_by_chance(other, second);
        ASSERT_TRUE(one.machine == other.machine && one.memory == other.memory) << one.story();
        ASSERT_EQ(one.last_question(), other.last_question());
        ASSERT_EQ(one.holds(), other.holds());
    }
    const auto kept = one.machine;
    one.seen.must_end = true;
    quiet_world<domain_machine> world(one);
    world.wind_up();
    EXPECT_TRUE(kept == other.machine) << "what becomes of one is nothing to the other";
}

}  // namespace
}  // namespace pvc::policy
