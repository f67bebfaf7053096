// Which boards are probed when, and what a probe finds (README rulings 41, 42).
#include "pvcnoded/policy/fencing/probe.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using probe_kind = probe_question_kind;

const time_point probed_at{1h};
const std::string board_guid = "31303043-534d-2500-90d8-7a1600000000";
const board_entry entry_of_hv3{"hv3-lom", "admin", secret("Passw0rd")};

probe_heard says(const std::string& output, duration took = 300ms) {
    return {.failed = {}, .status = 0, .output = output, .errors = {}, .took = took};
}
probe_heard fails(const std::string& errors, duration took = 100ms) {
    return {.failed = {}, .status = 1, .output = {}, .errors = errors, .took = took};
}
const probe_heard says_on = says("Chassis Power is on\n");
const probe_heard says_guid = says("System GUID  : " + board_guid + "\n");

board_probe at_status(const known_board& before = {}, std::optional<int> configured = std::nullopt,
                      bool is_run = true) {
    board_probe probe(entry_of_hv3, before, configured, is_run);
    EXPECT_EQ(probe.next().what, probe_kind::resolve);
    probe.resolved({"192.0.2.3"}, "");
    EXPECT_EQ(probe.next().what, probe_kind::status);
    return probe;
}

known_board known_as_good() {
    auto probe = at_status();
    probe.answered(says_on);
    probe.answered(says_guid);
    auto found = probe.found;
    found.probed = probed_at;
    return found;
}

TEST(probe, of_a_good_board) {
    auto probe = at_status();
    EXPECT_EQ(probe.next().address, "192.0.2.3");
    EXPECT_EQ(probe.next().suite, std::nullopt);
    probe.answered(says_on);
    ASSERT_EQ(probe.next().what, probe_kind::guid);
    probe.answered(says_guid);
    EXPECT_EQ(probe.next().what, probe_kind::none);
    EXPECT_EQ(probe.found.power, board_power::on);
    EXPECT_EQ(probe.found.guid, board_guid);
    EXPECT_EQ(probe.found.latency, 300ms);
    EXPECT_TRUE(probe.found.is_usable()) << probe.found.trouble;
}

TEST(probe, learns_the_suite_that_is_fast) {
    auto probe = at_status();
    probe.answered(says("Chassis Power is on\n", 10100ms));
    EXPECT_EQ(probe.next().suite, 17);
    probe.answered(fails("invalid authentication algorithm"));
    EXPECT_EQ(probe.next().suite, 3);
    probe.answered(says("Chassis Power is on\n", 100ms));
    ASSERT_EQ(probe.next().what, probe_kind::guid);
    EXPECT_EQ(probe.next().suite, 3);
    probe.answered(says_guid);
    EXPECT_EQ(probe.found.suite, 3);
    EXPECT_EQ(probe.found.latency, 100ms);
    // And begins with it next time.
    auto again = at_status(probe.found);
    EXPECT_EQ(again.next().suite, 3);
    again.answered(says_on);
    EXPECT_EQ(again.next().what, probe_kind::guid);
}

TEST(probe, a_slow_board_that_knows_no_other_suite_is_asked_as_ever) {
    auto probe = at_status();
    probe.answered(says("Chassis Power is on\n", 6s));
    probe.answered(fails("no"));
    probe.answered(fails("no"));
    EXPECT_EQ(probe.found.suite, std::nullopt);
    EXPECT_EQ(probe.found.latency, 6s);
    EXPECT_TRUE(probe.found.is_usable());
}

TEST(probe, a_configured_suite_is_the_only_one) {
    auto probe = at_status({}, 8);
    EXPECT_EQ(probe.next().suite, 8);
    probe.answered(fails("Error: Unable to establish IPMI v2 / RMCP+ session"));
    EXPECT_EQ(probe.next().what, probe_kind::none);
    EXPECT_EQ(
        probe.found.trouble,
        "its board 192.0.2.3 does not answer (exit status 1, Error: Unable to establish IPMI v2 / RMCP+ session)");
}

TEST(probe, learns_that_it_is_an_operator) {
    auto probe = at_status();
    auto heard = says_on;
    heard.as_operator = true;
    probe.answered(heard);
    EXPECT_TRUE(probe.next().as_operator);
    probe.answered(says_guid);
    EXPECT_TRUE(probe.found.as_operator);
}

TEST(probe, a_board_that_answered_and_is_silent_now_is_asked_once) {
    auto probe = at_status(known_as_good());
    probe.answered(fails("Error: Unable to establish IPMI v2 / RMCP+ session", 20s));
    EXPECT_EQ(probe.next().what, probe_kind::none);
    EXPECT_FALSE(probe.found.is_usable());
    EXPECT_EQ(probe.found.address, "192.0.2.3");
    EXPECT_EQ(probe.found.guid, board_guid);
    // One that never did is tried with every suite.
    auto never = at_status();
    never.answered(fails("silence", 20s));
    EXPECT_EQ(never.next().suite, 17);
}

TEST(probe, no_answer_at_all) {
    auto probe = at_status();
    probe.answered({.failed = "ipmitool: not found", .status = {}, .output = {}, .errors = {}});
    probe.answered({.failed = "ipmitool: not found", .status = {}, .output = {}, .errors = {}});
    probe.answered({.failed = "ipmitool: not found", .status = {}, .output = {}, .errors = {}});
    EXPECT_EQ(probe.found.trouble, "its board 192.0.2.3 does not answer (ipmitool: not found)");
}

TEST(probe, a_name_that_does_not_resolve) {
    board_probe probe(entry_of_hv3, {}, std::nullopt, true);
    probe.resolved({}, "it resolves to no address, exit status 2");
    EXPECT_EQ(probe.next().what, probe_kind::none);
    EXPECT_EQ(probe.found.trouble,
              "the name of its board, hv3-lom, does not resolve (it resolves to no address, exit status 2)");

    // The address is kept while the same board is there.
    board_probe kept(entry_of_hv3, known_as_good(), std::nullopt, true);
    kept.resolved({}, "no");
    EXPECT_EQ(kept.next().address, "192.0.2.3");
    kept.answered(says_on);
    kept.answered(says_guid);
    EXPECT_TRUE(kept.found.is_usable()) << kept.found.trouble;

    board_probe moved(entry_of_hv3, known_as_good(), std::nullopt, true);
    moved.resolved({}, "no");
    moved.answered(says_on);
    moved.answered(says("System GUID  : 99999999-534d-2500-90d8-7a1600000000\n"));
    EXPECT_EQ(moved.found.trouble,
              "the name of its board, hv3-lom, does not resolve, and at 192.0.2.3 answers another one");
    EXPECT_EQ(moved.found.power, board_power::unknown);
    EXPECT_EQ(moved.found.guid, board_guid);
}

TEST(probe, another_entry_is_another_board) {
    board_probe probe({"hv3-new", "admin", secret("Passw0rd")}, known_as_good(), std::nullopt, true);
    EXPECT_EQ(probe.found.address, "");
    EXPECT_EQ(probe.found.guid, "");
}

TEST(probe, off_while_the_node_checks_in_is_not_believed_until_it_says_on) {
    auto probe = at_status(known_as_good());
    probe.answered(says("Chassis Power is off\n"));
    probe.answered(says_guid);
    ASSERT_EQ(probe.next().what, probe_kind::heartbeat);
    probe.heartbeat_seen(true);
    EXPECT_EQ(probe.next().what, probe_kind::none);
    EXPECT_TRUE(probe.found.is_distrusted);
    EXPECT_EQ(probe.found.trouble, "its board 192.0.2.3 said off while the node checked in: it is another's, or lies");

    // Still off, the node stands still by now: as before.
    auto still = at_status(probe.found);
    still.answered(says("Chassis Power is off\n"));
    still.answered(says_guid);
    still.heartbeat_seen(false);
    EXPECT_TRUE(still.found.is_distrusted);
    EXPECT_FALSE(still.found.is_usable());
    // Silent: likewise.
    auto silent = at_status(probe.found);
    silent.answered(fails("silence", 20s));
    EXPECT_TRUE(silent.found.is_distrusted);
    EXPECT_FALSE(silent.found.is_usable());

    auto on = at_status(probe.found);
    on.answered(says_on);
    on.answered(says_guid);
    EXPECT_FALSE(on.found.is_distrusted);
    EXPECT_TRUE(on.found.is_usable());
}

TEST(probe, off_of_a_node_that_does_not_check_in_is_usual) {
    auto stopped = at_status({}, std::nullopt, false);
    stopped.answered(says("Chassis Power is off\n"));
    stopped.answered(says_guid);
    EXPECT_EQ(stopped.next().what, probe_kind::none);
    EXPECT_TRUE(stopped.found.is_usable());

    auto dying = at_status();
    dying.answered(says("Chassis Power is off\n"));
    dying.answered(says_guid);
    dying.heartbeat_seen(false);
    EXPECT_TRUE(dying.found.is_usable());
    EXPECT_EQ(dying.found.power, board_power::off);
}

TEST(probe, a_board_that_answers_nonsense_does_answer) {
    auto probe = at_status({}, 3);
    probe.answered(says("Chassis Power is purple\n"));
    EXPECT_EQ(
        probe.found.trouble,
        "its board 192.0.2.3 gives no answer that is understood (expected \"Chassis Power is on\" or \"off\", got "
        "\"Chassis Power is purple\")");
}

// ---- whose it is ---------------------------------------------------------------------------------------------------
TEST(probe, an_entry_that_two_nodes_have_is_nobodys) {
    known_boards all;
    all["hv2"] = known_as_good();
    all["hv2"].entry.host = "hv2-lom";
    all["hv2"].address = "192.0.2.2";
    all["hv2"].guid = "31303043-534d-2500-90d8-7a1600000002";
    all["hv3"] = known_as_good();
    const auto why = [&](const std::string& node) {
        return why_board_unusable(node, all, "hv1", "hv1-lom", "192.0.2.1");
    };
    EXPECT_EQ(why("hv2"), "");
    EXPECT_EQ(why("hv3"), "");
    EXPECT_EQ(why("hv4"), "its board was not asked yet");
    all["hv3"].address = "192.0.2.2";
    EXPECT_EQ(why("hv2"), "its board is the same as that of node hv3");
    EXPECT_EQ(why("hv3"), "its board is the same as that of node hv2");
    all["hv3"].address = "192.0.2.3";
    all["hv3"].entry.host = "hv2-lom";
    EXPECT_EQ(why("hv3"), "its board is the same as that of node hv2");
    all["hv3"].entry.host = "192.0.2.2";
    EXPECT_EQ(why("hv3"), "its board is the same as that of node hv2");
    all["hv3"].entry.host = "hv1-lom";
    EXPECT_EQ(why("hv3"), "its board is the same as that of node hv1");
    all["hv3"].entry.host = "hv3-lom";
    all["hv3"].address = "192.0.2.1";
    EXPECT_EQ(why("hv3"), "its board is the same as that of node hv1");
    // Two addresses of one board.
    all["hv3"].address = "192.0.2.3";
    all["hv3"].guid = all["hv2"].guid;
    EXPECT_EQ(why("hv3"), "its board is the same as that of node hv2");
    all["hv2"].guid = all["hv3"].guid = "";
    EXPECT_EQ(why("hv3"), "");
}

// The GUID of a board under a name under which another one answered before.
TEST(probe, R42_boards_that_were_exchanged_stay_unusable_until_an_entry_names_another_host) {
    known_boards all;
    const auto probed = [&](const std::string& node, const std::string& host, int guid) {
        auto found = known_as_good();
        found.entry.host = host;
        found.address = host == "hv2-lom" ? "192.0.2.2" : host == "hv3-lom" ? "192.0.2.3" : "192.0.2.9";
        found.guid = guid == 0 ? "" : "31303043-534d-2500-90d8-7a160000000" + std::to_string(guid);
        take_board(all, node, std::move(found));
        const auto why = [&](const std::string& of) {
            return who_shares_board(of, all, "hv1", "hv1-lom", "192.0.2.1");
        };
        return why("hv2") + "/" + why("hv3");
    };
    EXPECT_EQ(probed("hv2", "hv2-lom", 2), "/");
    EXPECT_EQ(probed("hv3", "hv3-lom", 3), "/");
    EXPECT_EQ(probed("hv2", "hv2-lom", 3), "hv3/hv2");
    EXPECT_EQ(probed("hv3", "hv3-lom", 2), "hv3/hv2") << "exchanged";
    EXPECT_EQ(probed("hv2", "hv2-lom", 3), "hv3/hv2") << "seen again";
    EXPECT_EQ(probed("hv3", "hv3-lom", 0), "hv3/") << "it tells none now";
    EXPECT_EQ(probed("hv3", "hv3-lom", 3), "hv3/hv2");
    EXPECT_EQ(probed("hv2", "hv2-lom", 2), "/") << "put right";
    EXPECT_EQ(probed("hv2", "hv2-lom", 4), "/") << "a new board";
    EXPECT_EQ(probed("hv3", "hv3-lom", 4), "hv3/hv2");
    EXPECT_EQ(probed("hv3", "hv3-bmc", 5), "/") << "its entry names another one";
}

TEST(probe, an_entry_that_was_read_anew) {
    known_boards all;
    all["hv2"] = known_as_good();
    all["hv2"].entry.host = "hv2-lom";
    all["hv2"].address = "192.0.2.2";
    all["hv2"].guid = "31303043-534d-2500-90d8-7a1600000002";
    const auto shares = [&](const std::string& host, const std::string& address, const std::string& host_of_hv2) {
        const auto anew =
            boards_read_anew(all, "hv3", {host, "admin", secret("Passw0rd")}, address, {{"hv2", host_of_hv2}});
        return who_shares_board("hv3", anew, "hv1", "hv1-lom", "192.0.2.1");
    };
    EXPECT_EQ(shares("hv3-lom", "192.0.2.3", "hv2-lom"), "");
    EXPECT_EQ(shares("hv3-lom", "192.0.2.2", "hv2-lom"), "hv2");
    EXPECT_EQ(shares("hv3-lom", "192.0.2.3", "hv3-lom"), "hv2");
    EXPECT_EQ(shares("hv3-lom", "192.0.2.2", "hv2-bmc"), "hv2") << "it had that address when it was probed";
    EXPECT_EQ(shares("hv3-lom", "192.0.2.1", "hv2-lom"), "hv1");
    EXPECT_EQ(shares("hv1-lom", "192.0.2.3", "hv2-lom"), "hv1");
    // The GUID that a probe saw is of the board to which its name led then.
    all["hv3"] = known_as_good();
    all["hv3"].guid = all["hv2"].guid;
    EXPECT_EQ(shares("hv3-lom", "192.0.2.3", "hv2-lom"), "hv2");
    EXPECT_EQ(shares("hv3-lom", "192.0.2.4", "hv2-lom"), "");
    all.clear();
    EXPECT_EQ(shares("hv2-lom", "192.0.2.2", "hv2-lom"), "hv2") << "nobody was probed yet";
}

// ---- what is due
// -------------------------------------------------------------------------------------------------------
TEST(probe, due) {
    const auto due = [](std::vector<probe_candidate> all,
                        time_point now) -> std::pair<std::string, std::optional<duration>> {
        const auto first = next_probe(all, now);
        if (!first) {
            return {"", std::nullopt};
        }
        return {first->node, first->at ? std::optional(*first->at - now) : std::nullopt};
    };
    using answer = std::pair<std::string, std::optional<duration>>;
    const auto now = probed_at;
    EXPECT_EQ(due({}, now), (answer{"", std::nullopt}));
    EXPECT_EQ(due({{.node = "a", .probed = now}, {.node = "b", .probed = {}}, {.node = "c", .probed = {}}}, now),
              (answer{"b", std::nullopt}));
    EXPECT_EQ(due({{.node = "a", .probed = now - 2min}, {.node = "b", .probed = now - 3min}}, now),
              (answer{"b", 7min}));
    EXPECT_EQ(due({{.node = "a", .probed = now - 10min}, {.node = "b", .probed = now - 9min}}, now),
              (answer{"a", std::nullopt}));
    EXPECT_EQ(due({{.node = "a", .probed = now - 5min}, {.node = "b", .probed = now, .is_distrusted = true}}, now),
              (answer{"b", 1min}));
    EXPECT_EQ(due({{.node = "a", .probed = now}, {.node = "b", .probed = now, .is_wanted = true}}, now),
              (answer{"b", std::nullopt}));
    EXPECT_EQ(due({{.node = "a", .probed = {}, .is_being_fenced = true}}, now), (answer{"", std::nullopt}));
    EXPECT_EQ(due({{.node = "a", .probed = {}, .again = now + 5s}}, now), (answer{"a", 5s}));
    EXPECT_EQ(due({{.node = "a", .probed = {}, .again = now + 5s}, {.node = "b", .probed = {}}}, now),
              (answer{"b", std::nullopt}));
    EXPECT_EQ(due({{.node = "a", .probed = {}, .is_wanted = true, .again = now + 5s}}, now),
              (answer{"a", std::nullopt}));
}

// ---- what is said
// ------------------------------------------------------------------------------------------------------
TEST(probe, said_when_it_changes_and_each_hour) {
    using news = probe_news::kind;
    const auto good = known_as_good();
    auto bad = good;
    bad.trouble = "its board 192.0.2.3 does not answer (x)";
    const auto said = [&](const known_board& after, std::optional<probe_said> before = {},
                          std::optional<int> configured = {}) {
        return news_of_probe("hv3", after, after.trouble, before, configured, probed_at);
    };
    const auto ago = [](duration time, std::string why, bool is_slow = false) {
        return probe_said{probed_at - time, std::move(why), is_slow};
    };
    EXPECT_EQ(said(good).what, news::nothing);
    EXPECT_EQ(said(good, ago(10min, "")).what, news::nothing);
    EXPECT_EQ(said(bad).what, news::unusable);
    EXPECT_EQ(said(bad).text, "node hv3 could not be fenced now: its board 192.0.2.3 does not answer (x)");
    EXPECT_EQ(said(bad, ago(10min, bad.trouble)).what, news::nothing);
    EXPECT_EQ(said(bad, ago(1h, bad.trouble)).what, news::unusable);
    EXPECT_EQ(said(bad, ago(10min, "")).what, news::unusable);
    EXPECT_EQ(said(bad, ago(1min, "its key ipmihostname is empty")).what, news::unusable) << "another reason";
    EXPECT_EQ(said(good, ago(10min, bad.trouble)).what, news::usable);
    EXPECT_EQ(said(good, ago(10min, bad.trouble)).text,
              "node hv3 can be fenced: its board 192.0.2.3 answers within 0.3 s");
    auto foreign = bad;
    foreign.is_distrusted = true;
    EXPECT_EQ(said(foreign).what, news::foreign);
    const std::string same = "its board is the same as that of node hv2";
    EXPECT_EQ(news_of_probe("hv3", good, same, ago(1min, bad.trouble), {}, probed_at).what, news::foreign);
    EXPECT_EQ(news_of_probe("hv3", good, same, ago(1min, same), {}, probed_at).what, news::nothing);
    EXPECT_EQ(said(good, ago(1min, same)).what, news::usable) << "its end";
    auto slow = good;
    slow.latency = 12s;
    EXPECT_EQ(said(slow).what, news::slow);
    EXPECT_EQ(said(slow).text,
              "the board 192.0.2.3 of node hv3 takes 12.0 s for an answer, which every step of a fence waits for; no "
              "cipher suite that was tried is faster, so look at the board and the way to it");
    EXPECT_EQ(said(slow, {}, 3).text,
              "the board 192.0.2.3 of node hv3 takes 12.0 s for an answer, which every step of a fence waits for; "
              "fencing.ipmi.cipher_suite is 3 here, another may be faster");
    EXPECT_EQ(said(slow, ago(10min, "", true)).what, news::nothing);
    EXPECT_EQ(said(slow, ago(10min, "")).what, news::slow) << "it was not said yet";
    EXPECT_EQ(said(slow, ago(10min, bad.trouble)).what, news::slow);
    EXPECT_TRUE(said(slow, ago(10min, bad.trouble)).text.starts_with("node hv3 can be fenced, but the board "));
}

}  // namespace
}  // namespace pvc::policy
