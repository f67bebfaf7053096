// What a coordinator tells of its records of fences.
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/core/fence_desk.hpp"
#include "pvcnoded/model/fence_record.hpp"

namespace pvc::node {
namespace {

constexpr std::string_view record_folder = "/var/lib/pvc/fences/";

class fence_archive : public node_test {
protected:
    fence_archive() { sim::initialise(ensemble, 10); }

    static model::fence_record record_of(int second, const std::string& node) {
        model::fence_record one;
        one.begun.wall = wall_time(1'695'762'812s + std::chrono::seconds(second));
        one.id = model::fence_record_id(one.begun.wall, node);
        one.coordinator = "hv1";
        one.node = node;
        return one;
    }
    static void put(sim_node& on, const model::fence_record& what) {
        on.host.files[std::string(record_folder) + what.id + ".json"] = to_text(what);
    }
    result<core::explanation> ask(sim_node& node, const std::string& which) {
        auto* teller = core::all_that_are<core::fence_teller>(node.daemon().subjects()).front();
        const auto until = loop.clock().now() + 10s;
        const auto answer = which.empty() ? teller->list_fences(until) : teller->show_fence(which, until);
        run_until([&] { return answer->answer.has_value(); }, 10s);
        return answer->answer.value_or(failure(errc::timed_out));
    }
    static core::explained_value value_in(const core::explained_fields& fields, std::string_view name) {
        for (const auto& [key, value] : fields) {
            if (key == name) {
                return value;
            }
        }
        return {};
    }
};

TEST_F(fence_archive, lists_and_shows) {
    sim_node& hv1 = add();
    auto one = record_of(1, "hv3");
    one.outcome = model::fence_outcome::done;
    one.proof = model::fence_proof{};
    one.ended = model::fence_moment{one.begun.wall + 5s, boot_time(5s)};
    model::fence_command off;
    off.what = "chassis power off";
    off.status = 0;
    off.output = "Chassis Power Control: Down/Off\n";
    one.commands.push_back(off);
    one.machines.push_back({.id = "u1",
                            .name = "web",
                            .locks = {},
                            .clients = {},
                            .target = "hv2",
                            .steps = {"plan", "it runs"},
                            .outcome = "recovered",
                            .transaction = 7,
                            .has_run = true});
    put(hv1, one);
    put(hv1, record_of(2, "hv3"));
    put(hv1, record_of(3, "hv2"));
    hv1.host.files[std::string(record_folder) + "20200101T000000.000Z-hv9.json"] = "{";
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();

    const auto all = ask(hv1, "");
    ASSERT_TRUE(all) << all.error().text();
    ASSERT_EQ(all->lists.size(), 1U);
    const auto& rows = all->lists[0].second;
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(value_in(rows[0], "id"), core::explained_value(record_of(3, "hv2").id));
    EXPECT_EQ(value_in(rows[0], "outcome"), core::explained_value("abandoned")) << "its daemon was killed";
    EXPECT_EQ(value_in(rows[2], "outcome"), core::explained_value("done"));
    EXPECT_EQ(value_in(rows[2], "recovered"), core::explained_value(1.0));
    EXPECT_EQ(value_in(rows[2], "began"), core::explained_value("20230926T211333Z"));
    EXPECT_EQ(value_in(rows[3], "outcome"), core::explained_value("cannot be read: it is cut off, or no JSON"));

    const auto shown = ask(hv1, one.id);
    ASSERT_TRUE(shown) << shown.error().text();
    EXPECT_EQ(value_in(shown->facts, "took_s"), core::explained_value(5.0));
    EXPECT_EQ(value_in(shown->lists[0].second[0], "said"), core::explained_value("Chassis Power Control: Down/Off"));
    EXPECT_EQ(value_in(shown->lists[1].second[0], "target"), core::explained_value("hv2"));
    EXPECT_EQ(value_in(shown->lists[1].second[0], "why"), core::explained_value("it runs"));
    const auto youngest = ask(hv1, "hv3");
    ASSERT_TRUE(youngest);
    EXPECT_EQ(value_in(youngest->facts, "id"), core::explained_value(record_of(2, "hv3").id));
    EXPECT_EQ(ask(hv1, "hv7").error().code(), errc::not_found);
    EXPECT_EQ(ask(hv1, "hv9").error().code(), errc::invalid);
}

TEST_F(fence_archive, by_its_name_a_node_has_its_own_youngest_fence_that_can_be_read) {
    sim_node& hv1 = add();
    put(hv1, record_of(1, "hv1"));
    put(hv1, record_of(2, "hv1"));
    auto later = record_of(3, "hv1");
    later.way = model::fence_way::recovering;
    put(hv1, later);
    put(hv1, record_of(4, "pvc-hv1"));
    const std::string cut = record_of(5, "hv1").id;
    hv1.host.files[std::string(record_folder) + cut + ".json"] = "{";
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    const auto shown = ask(hv1, "hv1");
    ASSERT_TRUE(shown) << shown.error().text();
    EXPECT_EQ(value_in(shown->facts, "id"), core::explained_value(record_of(2, "hv1").id));
    EXPECT_EQ(value_in(shown->facts, "went_on_in"), core::explained_value(later.id));
    EXPECT_NE(value_in(shown->facts, "younger_unreadable"), core::explained_value());
    const auto all = ask(hv1, "");
    ASSERT_TRUE(all);
    const auto& rows = all->lists[0].second;
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(value_in(rows[0], "id"), core::explained_value(cut));
    EXPECT_EQ(rows[0].size(), rows[1].size()) << "the columns of the first are those of all";
    EXPECT_EQ(ask(hv1, "v1").error().code(), errc::not_found);
    EXPECT_EQ(ask(hv1, "h\nv").error().subject(), "h?v");
}

// The clock of its coordinator ran ahead, and was put right.
TEST_F(fence_archive, a_record_of_a_time_to_come_hides_no_younger_one) {
    sim_node& hv1 = add();
    const auto then = loop.clock().wall_now();
    const auto days_ago = [&then](int days, const std::string& boot) {
        auto one = record_of(0, "hv3");
        one.begun.wall = then - days * 24h;
        one.id = model::fence_record_id(one.begun.wall, "hv3");
        one.boot_id = boot;
        return one;
    };
    const auto of_another_boot = days_ago(-1'000, "an earlier one");
    put(hv1, of_another_boot);
    put(hv1, days_ago(4, "an earlier one"));
    put(hv1, days_ago(2, "yet another"));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    EXPECT_EQ(value_in(ask(hv1, "hv3")->facts, "id"), core::explained_value(days_ago(2, "").id));
    const auto all = ask(hv1, "");
    const auto& rows = all->lists[0].second;
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(value_in(rows[0], "id"), core::explained_value(days_ago(2, "").id));
    EXPECT_EQ(value_in(rows[2], "id"), core::explained_value(of_another_boot.id)) << "nobody knows when that was";
}

TEST_F(fence_archive, the_list_has_those_of_this_boot_in_the_order_in_which_they_began) {
    sim_node& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    loop.run_for(60s);
    const auto now = model::fence_moment_of(loop.clock());
    const auto record = [&](duration ahead, duration ago) {
        auto one = record_of(0, "hv3");
        one.begun = {now.wall + ahead, now.boot - ago};
        one.id = model::fence_record_id(one.begun.wall, "hv3");
        one.boot_id = hv1.host.machine.boot_id;
        return one;
    };
    const auto first = record(24h, 50s);
    const auto second = record(48h, 30s);
    const auto third = record(-1s, 1s);
    for (const auto& one : {first, second, third}) {
        put(hv1, one);
    }
    const auto all = ask(hv1, "");
    ASSERT_TRUE(all) << all.error().text();
    const auto& rows = all->lists[0].second;
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(value_in(rows[0], "id"), core::explained_value(third.id));
    EXPECT_EQ(value_in(rows[1], "id"), core::explained_value(second.id));
    EXPECT_EQ(value_in(rows[2], "id"), core::explained_value(first.id));
}

// What was recovered is in the fence. One that it does not follow is another.
TEST_F(fence_archive, a_word_about_a_node_that_was_fenced_before_does_not_hide_that_fence) {
    sim_node& hv1 = add();
    const auto fence = record_of(1, "hv3");
    auto word = record_of(2, "hv3");
    word.way = model::fence_way::operator_word;
    word.follows = fence.id;
    put(hv1, fence);
    put(hv1, word);
    auto of_others = record_of(3, "hv2");
    of_others.way = model::fence_way::operator_word;
    of_others.follows = record_of(1, "hv2").id;  // it is on another coordinator
    put(hv1, of_others);
    put(hv1, record_of(0, "hv2"));
    auto tried = record_of(3, "hv4");
    tried.way = model::fence_way::recovering;
    tried.follows = record_of(1, "hv4").id;  // likewise
    put(hv1, tried);
    put(hv1, record_of(0, "hv4"));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    const auto shown = ask(hv1, "hv3");
    ASSERT_TRUE(shown) << shown.error().text();
    EXPECT_EQ(value_in(shown->facts, "id"), core::explained_value(fence.id));
    EXPECT_EQ(value_in(shown->facts, "went_on_in"), core::explained_value(word.id));
    EXPECT_EQ(value_in(ask(hv1, "hv2")->facts, "id"), core::explained_value(of_others.id));
    EXPECT_EQ(value_in(ask(hv1, "hv4")->facts, "id"), core::explained_value(tried.id));
}

TEST_F(fence_archive, of_one_boot_that_is_the_youngest_which_began_last) {
    sim_node& hv1 = add();
    const auto then = loop.clock().wall_now();
    const auto record = [&then](duration ahead, boot_time at) {
        auto one = record_of(0, "hv3");
        one.begun = {then + ahead, at};
        one.id = model::fence_record_id(one.begun.wall, "hv3");
        one.boot_id = "this";
        return one;
    };
    put(hv1, record(-1h, boot_time(1s)));
    put(hv1, record(1h, boot_time(2s)));
    const auto ahead = record(1h, boot_time(2s)).id;
    const auto last = record(-30min, boot_time(3s));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    EXPECT_EQ(value_in(ask(hv1, "hv3")->facts, "id"), core::explained_value(ahead)) << "also while it is to come";
    put(hv1, last);
    EXPECT_EQ(value_in(ask(hv1, "hv3")->facts, "id"), core::explained_value(last.id));
}

TEST_F(fence_archive, a_disk_that_cannot_be_written_is_said) {
    sim_node& hv1 = add();
    hv1.host.broken.emplace("/var/lib/pvc", failure(errc::io, "/var/lib/pvc", "Read-only file system"));
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_NE(hv1.log().find("no fence can be recorded, so this node would fence nobody: "), std::string::npos);
}

TEST_F(fence_archive, only_coordinators_have_one) {
    sim_node& hv4 = add({.name = "hv4", .coordinators = {"hv1", "hv2"}});
    hv4.start();
    ASSERT_TRUE(hv4.run_until_ready());
    EXPECT_TRUE(core::all_that_are<core::fence_teller>(hv4.daemon().subjects()).empty());
    EXPECT_FALSE(hv4.host.directories.contains("/var/lib/pvc/fences"));
}

}  // namespace
}  // namespace pvc::node
