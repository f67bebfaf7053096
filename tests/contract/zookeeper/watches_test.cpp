// Watches: one-shot, told before the change can be read, kept over a reconnect within the session.
#include "contract/zookeeper/suite.hpp"

#include <gtest/gtest.h>

namespace pvc::contract {
namespace {

class zookeeper_watches : public zookeeper_contract {
protected:
    using events = std::vector<std::string>;
    awaitable<bool> told(std::string what, std::size_t times = 1) {
        const bool came = co_await eventually([this, what, times] { return events_.count(what) >= times; });
        co_return came;
    }
    // After this every event that was under way has come: events go before the answers of later requests.
    awaitable<void> settle(client& zk) {
        auto done = co_await zk.sync(soon(), "/");
        EXPECT_TRUE(done);
    }
};

TEST_P(zookeeper_watches, a_data_watch_fires_once_for_a_change) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "1");
        auto armed = co_await zk.get(soon(), "/a", watching::yes);
        EXPECT_TRUE(armed);
        co_await other().put("/a", "2");
        co_await other().put("/a", "3");
        auto came = co_await told("changed /a");
        EXPECT_TRUE(came);
        co_await settle(zk);
        EXPECT_EQ(events_.seen, events{"changed /a"});
    });
}

TEST_P(zookeeper_watches, the_event_comes_before_a_read_that_shows_the_change) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "0");
        for (int i = 1; i <= 50; ++i) {
            auto armed = co_await zk.get(soon(), "/a", watching::yes);
            EXPECT_TRUE(armed);
            events_.seen.clear();
            co_await other().put("/a", std::to_string(i));
            for (bool shown = false; !shown;) {
                auto got = co_await zk.get(soon(), "/a");
                shown = got->data == std::to_string(i);
                if (shown) {
                    EXPECT_EQ(events_.count("changed /a"), 1U) << i;
                }
            }
        }
    });
}

TEST_P(zookeeper_watches, reading_and_arming_are_one_so_no_change_is_missed) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "0");
        bool is_done = false;
        std::string last;
        co_await with_task_group("race", [&](task_group& group) -> awaitable<void> {
            group.spawn("writer", [&]() -> awaitable<void> {
                for (int i = 1; i <= 200; ++i) {
                    co_await other().put("/a", std::to_string(i));
                }
                is_done = true;
            });
            while (last != "200") {
                events_.seen.clear();
                auto got = co_await zk.get(soon(), "/a", watching::yes);
                EXPECT_TRUE(got);
                last = got->data;
                if (last != "200") {
                    auto came = co_await told("changed /a");
                    EXPECT_TRUE(came);
                    if (!came) {
                        break;
                    }
                }
            }
        });
        EXPECT_TRUE(is_done);
        EXPECT_EQ(last, "200");
    });
}

TEST_P(zookeeper_watches, a_removed_node_says_so_to_data_presence_and_children_watches) {
    with_client([&](client& zk) -> awaitable<void> {
        for (const std::string path : {"/d", "/e", "/c"}) {
            co_await other().put(path, "");
        }
        auto data = co_await zk.get(soon(), "/d", watching::yes);
        auto presence = co_await zk.exists(soon(), "/e", watching::yes);
        auto children = co_await zk.children(soon(), "/c", watching::yes);
        EXPECT_TRUE(data && presence && children);
        for (const std::string path : {"/d", "/e", "/c"}) {
            co_await other().remove(path);
        }
        auto came = co_await told("deleted /c");
        EXPECT_TRUE(came);
        co_await settle(zk);
        const events expected{"deleted /d", "deleted /e", "deleted /c"};
        EXPECT_EQ(events_.seen, expected);
    });
}

TEST_P(zookeeper_watches, data_and_children_watches_of_one_node_tell_of_its_removal_once) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "");
        auto data = co_await zk.get(soon(), "/a", watching::yes);
        auto children = co_await zk.children(soon(), "/a", watching::yes);
        EXPECT_TRUE(data && children);
        co_await other().remove("/a");
        auto came = co_await told("deleted /a");
        EXPECT_TRUE(came);
        co_await other().put("/a", "again");
        co_await other().put("/a/b", "");
        co_await settle(zk);
        EXPECT_EQ(events_.seen, events{"deleted /a"});
    });
}

TEST_P(zookeeper_watches, a_missing_node_is_watched_by_exists_only) {
    with_client([&](client& zk) -> awaitable<void> {
        auto data = co_await zk.get(soon(), "/get", watching::yes);
        auto children = co_await zk.children(soon(), "/children", watching::yes);
        auto presence = co_await zk.exists(soon(), "/exists", watching::yes);
        EXPECT_EQ(data.error().code(), errc::not_found);
        EXPECT_EQ(children.error().code(), errc::not_found);
        EXPECT_EQ(presence.error().code(), errc::not_found);
        for (const std::string path : {"/get", "/children", "/exists"}) {
            co_await other().put(path, "");
        }
        auto came = co_await told("created /exists");
        EXPECT_TRUE(came);
        co_await settle(zk);
        EXPECT_EQ(events_.seen, events{"created /exists"});
    });
}

TEST_P(zookeeper_watches, a_children_watch_sees_names_come_and_go_and_nothing_else) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a/b", "1");
        auto armed = co_await zk.children(soon(), "/a", watching::yes);
        EXPECT_TRUE(armed);
        co_await other().put("/a", "data of the parent");
        co_await other().put("/a/b", "data of a child");
        co_await other().put("/a/b/c", "grandchild");
        co_await settle(zk);
        EXPECT_EQ(events_.seen, events());
        co_await other().put("/a/d", "");
        auto came = co_await told("children /a");
        EXPECT_TRUE(came);
        co_await other().put("/a/e", "");
        co_await settle(zk);
        EXPECT_EQ(events_.seen, events{"children /a"});

        armed = co_await zk.children(soon(), "/a", watching::yes);
        EXPECT_EQ(armed->names.size(), 3U);
        co_await other().remove("/a/d");
        came = co_await told("children /a", 2);
        EXPECT_TRUE(came);
    });
}

TEST_P(zookeeper_watches, own_changes_fire_too) {
    with_client([&](client& zk) -> awaitable<void> {
        auto made = co_await zk.create(soon(), "/a", "");
        auto armed = co_await zk.get(soon(), "/a", watching::yes);
        EXPECT_TRUE(made && armed);
        transaction what;
        what.set("/a", "x", 0);
        auto done = co_await zk.commit(soon(), what);
        EXPECT_TRUE(done);
        EXPECT_EQ(events_.seen, events{"changed /a"});  // the event came before the answer
    });
}

TEST_P(zookeeper_watches, after_a_reconnect_every_missed_change_is_told_and_the_rest_still_watched) {
    with_client([&](client& zk) -> awaitable<void> {
        for (const std::string path :
             {"/changed", "/deleted", "/reborn", "/parent/x", "/parent_gone", "/quiet", "/still/x"}) {
            co_await other().put(path, "1");
        }
        for (const std::string path : {"/changed", "/deleted", "/reborn", "/quiet"}) {
            auto armed = co_await zk.get(soon(), path, watching::yes);
            EXPECT_TRUE(armed);
        }
        for (const std::string path : {"/missing", "/absent"}) {
            auto armed = co_await zk.exists(soon(), path, watching::yes);
            EXPECT_EQ(armed.error().code(), errc::not_found);
        }
        for (const std::string path : {"/parent", "/parent_gone", "/still"}) {
            auto armed = co_await zk.children(soon(), path, watching::yes);
            EXPECT_TRUE(armed);
        }
        const auto session = zk.state().value().session_id;
        env().refuse_connections();
        auto away = co_await reaches(zk, link::suspended);
        EXPECT_TRUE(away);
        co_await other().put("/changed", "2");
        co_await other().remove("/deleted");
        co_await other().remove("/reborn");
        co_await other().put("/reborn", "1");
        co_await other().put("/missing", "");
        co_await other().put("/parent/y", "");
        co_await other().remove("/parent_gone");
        env().accept_connections();
        auto back = co_await reaches(zk, link::connected);
        EXPECT_TRUE(back);
        EXPECT_EQ(zk.state().value().session_id, session);
        co_await settle(zk);
        std::ranges::sort(events_.seen);
        const events expected{"changed /changed", "changed /reborn",  "children /parent",
                              "created /missing", "deleted /deleted", "deleted /parent_gone"};
        EXPECT_EQ(events_.seen, expected);

        events_.seen.clear();
        co_await other().put("/quiet", "2");
        co_await other().put("/absent", "");
        co_await other().put("/still/y", "");
        auto came = co_await told("children /still");
        EXPECT_TRUE(came);
        co_await settle(zk);
        const events rest{"changed /quiet", "created /absent", "children /still"};
        EXPECT_EQ(events_.seen, rest);
    });
}

TEST_P(zookeeper_watches, two_clients_each_have_their_own) {
    env().run([&]() -> awaitable<void> {
        event_recorder second_events;
        co_await one_client(env().options(), events_, [&](client& first) -> awaitable<void> {
            co_await one_client(env().options(), second_events, [&](client& second) -> awaitable<void> {
                co_await other().put("/a", "1");
                auto one = co_await first.get(soon(), "/a", watching::yes);
                auto two = co_await second.exists(soon(), "/a", watching::yes);
                EXPECT_TRUE(one && two);
                co_await other().put("/a", "2");
                auto came = co_await eventually(
                    [&] { return events_.count("changed /a") == 1 && second_events.count("changed /a") == 1; });
                EXPECT_TRUE(came);
            });
        });
    });
}

TEST_P(zookeeper_watches, without_a_sink_nothing_breaks) {
    with_client([&](client& zk) -> awaitable<void> {
        co_await other().put("/a", "1");
        auto armed = co_await zk.get(soon(), "/a", watching::yes);
        EXPECT_TRUE(armed);
        zk.set_watch_sink(nullptr);
        co_await other().put("/a", "2");
        co_await settle(zk);
        EXPECT_EQ(events_.seen, events());
    });
}

PVC_INSTANTIATE_EVERYWHERE(zookeeper_watches);

}  // namespace
}  // namespace pvc::contract
