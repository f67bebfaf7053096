// Frames and the messages of Ceph's helper in them: what is written is read, in pieces of any size, and nothing else is
// taken for a message.
#include "pvcnoded/protocol/ceph_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::protocol {
namespace {

// Everything that `bytes` holds, given in pieces of this size; what went wrong, if anything did.
struct frames_read {
    std::vector<frame> frames;
    std::string problem;
    bool is_between_frames = false;
};
frames_read read_in_pieces(std::string_view bytes, std::size_t piece) {
    frame_reader reader;
    frames_read seen;
    while (!bytes.empty()) {
        const auto room = reader.room();
        const std::size_t size = std::min({piece, room.size(), bytes.size()});
        std::ranges::copy(bytes.substr(0, size), room.begin());
        bytes.remove_prefix(size);
        reader.filled(size);
        for (;;) {
            auto next = reader.take();
            if (!next) {
                seen.problem = next.error().text();
                return seen;
            }
            if (!*next) {
                break;
            }
            seen.frames.push_back(**std::move(next));
        }
    }
    seen.is_between_frames = reader.is_between_frames();
    return seen;
}

std::string many(char c, std::size_t count) {
    std::string text;
    text.assign(count, c);
    return text;
}

TEST(frame_reader, takes_frames_from_pieces_of_any_size) {
    const std::vector<frame> sent{{"{}", ""}, {"", "body"}, {"{\"a\":1}", many('\0', 70'000)}, {"last", "\xff\n"}};
    std::string bytes;
    for (const auto& one : sent) {
        bytes += *encode(one);
    }
    for (const std::size_t piece : {1UL, 2UL, 3UL, 7UL, 8UL, 9UL, 4096UL, 1UL << 20U}) {
        const auto seen = read_in_pieces(bytes, piece);
        EXPECT_EQ(seen.frames, sent) << piece;
        EXPECT_TRUE(seen.is_between_frames) << piece;
    }
}

TEST(frame_reader, an_end_within_a_frame_is_seen) {
    const std::string whole = *encode(frame{"{}", "body"});
    for (std::size_t size = 1; size < whole.size(); ++size) {
        const auto seen = read_in_pieces(std::string_view(whole).substr(0, size), 3);
        EXPECT_TRUE(seen.frames.empty());
        EXPECT_FALSE(seen.is_between_frames) << size;
    }
}

// Who announces more than is allowed is refused by the lengths; who announces much and sends nothing takes no room.
TEST(frame_reader, lengths_alone_take_no_room) {
    EXPECT_NE(read_in_pieces(many('\xff', 8), 8).problem, "");
    EXPECT_NE(read_in_pieces(std::string("\0\x10\0\1\0\0\0\0", 8), 1).problem, "") << "a head of one byte too much";
    EXPECT_NE(read_in_pieces(std::string("\0\0\0\0\1\0\0\1", 8), 1).problem, "") << "such a body";
    frame_reader reader;
    const std::string_view announced("\0\0\0\0\1\0\0\0", 8);
    std::ranges::copy(announced, reader.room().begin());
    reader.filled(announced.size());
    EXPECT_TRUE(reader.take().has_value());
    EXPECT_LE(reader.room().size(), 64U * 1024);
    EXPECT_FALSE(encode(frame{"", many('x', frame_body_max + 1)}).has_value());
    EXPECT_FALSE(encode(frame{many('x', frame_head_max + 1), ""}).has_value());
}

template <class T>
frame frame_of(const T& what) {
    return read_in_pieces(*ceph::encode(what), 64).frames.at(0);
}

TEST(ceph_messages, every_question_and_answer_is_read_as_it_was_written) {
    namespace ask = ceph::ask;
    namespace say = ceph::say;
    const ceph::lock held{"auto 1", "client.4185", "[fd00::2]:0/7"};
    const std::vector<decltype(ceph::request::what)> questions{ask::monitor_command{R"({"prefix":"health"})"},
                                                               ask::pool_counters{{"vms", "\xc3\xa4pfel"}},
                                                               ask::locks{"vms/ns/web"},
                                                               ask::watchers{"vms/web"},
                                                               ask::break_lock{"vms/web", held, 77, 86400},
                                                               ask::break_lock{"vms/web", held, 77, 0, true},
                                                               ask::blocklist{"10.0.0.1:0/3", 78, 3600},
                                                               ask::blocklist{"10.0.0.1:0/3", 78, 3600, true},
                                                               ask::usage{},
                                                               ask::prepare_break{"vms/web", held, 86400},
                                                               ask::prepare_break{"vms/web", held, 0, true}};
    std::int64_t id = 0;
    for (const auto& what : questions) {
        const ceph::request sent{++id, std::chrono::milliseconds(2000), what};
        EXPECT_EQ(ceph::parse_request(frame_of(sent)).value(), sent) << id;
    }
    const std::vector<decltype(ceph::answer::what)> answers{
        say::done{},
        say::failed{errc::timed_out, "-110"},
        say::output{"\xff{}\n"},
        say::counted{{{"vms", 1, 2, 3, 4, 5, 6, 7, 8, ~std::uint64_t{0}}}},
        say::locked{{held, held}},
        say::watched{{{"client.1", "10.0.0.1:0/3"}}},
        say::used{1, 2, 3}};
    for (const auto& what : answers) {
        const ceph::answer sent{++id, what};
        EXPECT_EQ(ceph::parse_answer(frame_of(sent)).value(), sent) << id;
    }
    const ceph::greeting hello{ceph::version, "0.1.0"};
    EXPECT_EQ(ceph::parse_greeting(frame_of(hello)).value(), hello);
}

TEST(ceph_messages, questions_are_about_a_pool_or_none) {
    namespace ask = ceph::ask;
    const auto pool = [](auto what) { return std::string(ceph::pool_of({1, {}, std::move(what)})); };
    EXPECT_EQ(pool(ask::locks{"vms/ns/web"}), "vms");
    EXPECT_EQ(pool(ask::watchers{"vms/web"}), "vms");
    EXPECT_EQ(pool(ask::break_lock{"backup/web", {}, 0, 0}), "backup");
    EXPECT_EQ(pool(ask::prepare_break{"backup/web", {}, 0}), "backup");
    EXPECT_EQ(pool(ask::blocklist{"10.0.0.1:0/3", 0, 0}), "");
    EXPECT_EQ(pool(ask::monitor_command{"vms/web"}), "");
}

TEST(ceph_messages, what_is_no_message_says_why) {
    for (const std::string_view head :
         {"", "x", "[]", "{}", R"({"id":-1})", R"({"id":1})", R"({"id":1,"limit_ms":1,"ask":"?"})",
          R"({"id":1,"limit_ms":1,"ask":"locks"})", R"({"id":1,"limit_ms":1,"ask":"locks","image":7})",
          R"({"id":1,"limit_ms":99999999999,"ask":"usage"})",
          R"({"id":1,"limit_ms":1,"ask":"break_lock","image":"a/b","lock":[]})", R"({"id":1,"say":"?"})",
          R"({"id":1,"limit_ms":1,"ask":"prepare_break","image":"a/b","lock":{"id":"1","client":"2","address":"3"}})",
          R"({"id":1,"say":"locked","locks":[1]})", R"({"id":1,"say":"used","threads":-3})",
          "[[[[[[[[[[[[1]]]]]]]]]]]]"}) {
        const frame from{std::string(head), ""};
        const auto request = ceph::parse_request(from);
        ASSERT_FALSE(request.has_value()) << head;
        EXPECT_EQ(request.error().code(), errc::invalid);
        EXPECT_FALSE(request.error().cause().empty());
        EXPECT_FALSE(ceph::parse_answer(from).has_value()) << head;
        EXPECT_FALSE(ceph::parse_greeting(from).has_value()) << head;
    }
    EXPECT_FALSE(ceph::parse_answer({R"({"id":1,"say":"done"})", "a body"}).has_value());
}

}  // namespace
}  // namespace pvc::protocol
