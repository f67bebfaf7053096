// tidy-allow-file(thread): the client blocks, so its other end is a thread
// One question over a socket, and answers that are none of ours.
#include "pvcnoded/ctl/client.hpp"
#include "pvcnoded/ctl/options.hpp"
#include "pvcnoded/ctl/run.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace pvc::ctl {
namespace {

// Listens, takes one connection, reads a line, says what it is told to say, and hangs up.
class one_answer {
public:
    explicit one_answer(std::string text) : path_(testing::TempDir() + "pvc_ctl_" + std::to_string(::getpid())) {
        listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        ::unlink(path_.c_str());
        EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listening_, 1), 0);
        thread_ = std::thread([this, said = std::move(text)] {
            const int with = ::accept(listening_, nullptr, nullptr);
            std::array<char, 4096> room{};
            static_cast<void>(::recv(with, room.data(), room.size(), 0));
            static_cast<void>(::send(with, said.data(), said.size(), MSG_NOSIGNAL));
            ::close(with);
        });
    }
    one_answer(const one_answer&) = delete;
    one_answer& operator=(const one_answer&) = delete;
    ~one_answer() {
        thread_.join();
        ::close(listening_);
        ::unlink(path_.c_str());
    }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
    int listening_ = -1;
    std::thread thread_;
};

result<protocol::answer> asked(const std::string& said) {
    const one_answer daemon(said);
    protocol::request what;
    what.id = 1;
    what.name = "status";
    return ask(daemon.path(), what);
}

TEST(ctl_client, an_answer_repeats_the_id_of_its_request) {
    const auto good = asked("{\"version\":1,\"id\":1,\"ok\":true,\"result\":{}}\n");
    EXPECT_TRUE(good);
    const auto other = asked("{\"version\":1,\"id\":2,\"ok\":true,\"result\":{}}\n");
    EXPECT_TRUE(!other && other.error().code() == errc::invalid);
    const auto nobodys = asked("{\"version\":1,\"id\":null,\"ok\":true,\"result\":{}}\n");
    EXPECT_TRUE(!nobodys && nobodys.error().code() == errc::invalid);
    // What is about the connection has none.
    const auto busy =
        asked("{\"version\":1,\"id\":null,\"ok\":false,\"error\":{\"code\":\"busy\",\"text\":\"too many\"}}\n");
    EXPECT_TRUE(busy && busy->error && busy->error->what == protocol::problem::busy);
    const auto garbage = asked("no JSON\n");
    EXPECT_TRUE(!garbage && garbage.error().code() == errc::invalid);
}

// docs/control.md, "Exit status": a script can tell what was refused from what was not answered in time.
TEST(ctl_client, a_fence_command_ends_with_the_status_of_its_outcome) {
    using words = std::vector<std::string>;
    struct row {
        std::string code;
        int status;
    };
    for (const auto& command :
         {words{"fence", "probe", "hv2"}, words{"fence", "retry", "hv2"}, words{"fence", "show", "hv2"},
          words{"fence", "list"}, words{"fence", "confirm", "hv2", "--yes-the-node-is-off", "hv2"}}) {
        for (const auto& one : {row{"not-found", 1}, row{"bad-request", 1}, row{"unknown-request", 1}, row{"busy", 1},
                                row{"defect", 1}, row{"refused", 4}, row{"too-late", 5}, row{"version", 6}}) {
            const one_answer daemon(R"({"version":1,"id":1,"ok":false,"error":{"code":")" + one.code +
                                    R"(","text":"for this reason"}})" + "\n");
            words all{"--socket", daemon.path()};
            all.insert(all.end(), command.begin(), command.end());
            const auto given = parse_options(all);
            ASSERT_EQ(given.problem, "");
            testing::internal::CaptureStderr();
            EXPECT_EQ(run(given, {}), one.status) << command[1] << " " << one.code;
            EXPECT_EQ(testing::internal::GetCapturedStderr(), "pvcnodectl: for this reason\n");
        }
    }
}

TEST(ctl_client, a_word_that_does_not_name_the_node_again_is_not_sent) {
    const auto given = parse_options({"fence", "confirm", "hv2", "--yes-the-node-is-off", "hv3"});
    EXPECT_NE(given.problem, "") << "a usage error: status 2";
}

}  // namespace
}  // namespace pvc::ctl
