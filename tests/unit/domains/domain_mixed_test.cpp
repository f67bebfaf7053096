// Ours and the scripted reference, each of its steps at its earliest and at its latest moment, in all combinations:
// every run ends in `start` on the target or in a clean rollback, with one copy, and no lock of ours left.
#include "domain_migration_fixture.hpp"

#include <array>

namespace pvc::node {
namespace {

using sim::foreign_migration_times;

struct step {
    duration foreign_migration_times::* which;
    duration earliest;
    duration latest;
};

constexpr std::array as_sender{
    step{&foreign_migration_times::notice, 0ms, 800ms},
    step{&foreign_migration_times::pause, 500ms, 700ms},
    step{&foreign_migration_times::before_call, 0ms, 400ms},
    step{&foreign_migration_times::after_call, 0ms, 400ms},
    step{&foreign_migration_times::before_release, 0ms, 500ms},
    step{&foreign_migration_times::between_releases, 0ms, 300ms},
};
constexpr std::array as_receiver{
    step{&foreign_migration_times::notice, 0ms, 3000ms},  step{&foreign_migration_times::announce, 0ms, 400ms},
    step{&foreign_migration_times::hold, 1000ms, 1200ms}, step{&foreign_migration_times::requeue, 0ms, 700ms},
    step{&foreign_migration_times::look, 0ms, 800ms},     step{&foreign_migration_times::let_go, 0ms, 500ms},
};

class mixed_run : public migration_fixture {
public:
    void TestBody() override {}
    void close() { TearDown(); }

    std::string run(bool reference_sends, const foreign_migration_times& times, bool by_client, bool offline,
                    bool fails) {
        const std::map<std::string, std::string> keys{{"/migration_method", offline ? "shutdown" : "live"}};
        const std::string from = reference_sends ? "hv2" : "hv1";
        const std::string to = reference_sends ? "hv1" : "hv2";
        if (reference_sends) {
            hv2_runs_it(keys);
        } else {
            hv1_runs_it(keys);
        }
        add_reference("hv2", times);
        pass(4s);
        for (int i = 0; i < 3 && fails; ++i) {
            guest(from).fail_migration(migration_step::copy, {call_error::other, "refused"});
        }
        if (by_client) {
            client();
            forget();
            client_places("migrate", to, from);
            until_state("migrate");
        } else {
            forget();
            place("migrate", to, from);
        }
        until_state("start", 60s);
        pass(10s);
        const std::string end = fails ? from : to;
        std::string wrong;
        if (state() != "start" || value(key("/node")) != end || !executes(end) ||
            hardware.centre.running_copies(u1) != 1) {
            wrong += "state " + state() + ", node " + value(key("/node")) + ", " +
                     std::to_string(hardware.centre.running_copies(u1)) + " copies; ";
        }
        // The reference keeps the lock of a hand-shake that it rolled back.
        const std::size_t kept = fails && reference_sends ? 1 : 0;
        if (locks_left() != kept) {
            wrong += std::to_string(locks_left()) + " lock children; ";
        }
        if (!value(key("/migrate_sync_lock")).empty()) {
            wrong += "sync value; ";
        }
        if (running(end) != to_text(u1) || !running(end == "hv1" ? "hv2" : "hv1").empty()) {
            wrong += "lists `" + running("hv1") + "` `" + running("hv2") + "`; ";
        }
        if (hv1().host.read_file(journal)) {
            wrong += "journal; ";
        }
        return wrong;
    }
    [[nodiscard]] std::string tale() {
        return story() + "\nhv1:\n" + hv1().log() + "\nhv2: " + pvc::join(peers.front().part().deeds(), ", ");
    }
};

template <std::size_t N>
void all_combinations(const std::array<step, N>& steps, bool reference_sends, bool by_client, bool offline,
                      bool fails) {
    for (std::size_t bits = 0; bits < (std::size_t{1} << N); ++bits) {
        foreign_migration_times times;
        for (std::size_t i = 0; i < N; ++i) {
            times.*steps[i].which = (bits >> i & 1U) != 0 ? steps[i].latest : steps[i].earliest;
        }
        mixed_run one;
        const std::string wrong = one.run(reference_sends, times, by_client, offline, fails);
        EXPECT_EQ(wrong, "") << "combination " << bits << "\n" << one.tale();
        one.close();
        if (!wrong.empty()) {
            break;
        }
    }
}

TEST(domain_mixed, the_reference_sends_after_a_client) {
    all_combinations(as_sender, true, true, false, false);
}
TEST(domain_mixed, the_reference_sends_in_a_flush) {
    all_combinations(as_sender, true, false, false, false);
}
TEST(domain_mixed, the_reference_sends_and_rolls_back) {
    all_combinations(as_sender, true, false, false, true);
}
TEST(domain_mixed, the_reference_sends_through_a_shutdown) {
    all_combinations(as_sender, true, false, true, false);
}
TEST(domain_mixed, the_reference_receives_after_a_client) {
    all_combinations(as_receiver, false, true, false, false);
}
TEST(domain_mixed, the_reference_receives_in_a_flush) {
    all_combinations(as_receiver, false, false, false, false);
}
TEST(domain_mixed, the_reference_receives_nothing) {
    all_combinations(as_receiver, false, false, false, true);
}

}  // namespace
}  // namespace pvc::node
