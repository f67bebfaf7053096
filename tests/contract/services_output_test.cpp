// Log output and supervisor notifications: files, pipes, sockets (config.md 5.6 and 7.2).
#include "contract/services_bench.hpp"

#include "pvcnoded/services/adapter/file_log_output.hpp"
#include "pvcnoded/services/adapter/sd_notifier.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <array>
#include <csignal>
#include <thread>

namespace pvc::contract {
namespace {

using services::file_log_output;
using services::sd_notifier;
using services::stdout_log_output;

class real_file {
public:
    services::log_output& output() { return output_; }
    std::string text() { return folder_.read("pvc.log"); }

private:
    scratch_folder folder_;
    file_log_output output_{folder_ / "pvc.log"};
};

class sim_file {
public:
    services::log_output& output() { return output_; }
    std::string text() { return output_.text(); }

private:
    sim::sim_log_output output_;
};

template <class Bench>
class log_output_contract : public testing::Test {
protected:
    Bench bench;
};
using outputs = testing::Types<real_file, sim_file>;
TYPED_TEST_SUITE(log_output_contract, outputs);

TYPED_TEST(log_output_contract, what_was_written_is_there_at_once) {
    EXPECT_TRUE(this->bench.output().write("one\n"));
    EXPECT_EQ(this->bench.text(), "one\n");
    EXPECT_TRUE(this->bench.output().write(""));
    EXPECT_TRUE(this->bench.output().reopen());
    EXPECT_TRUE(this->bench.output().write("two\n"));
    EXPECT_EQ(this->bench.text(), "one\ntwo\n");
}

TEST(file_log_output, appends_and_goes_on_in_a_new_file_after_rotation) {
    const scratch_folder folder;
    folder.write("pvc.log", "before\n");
    file_log_output output(folder / "pvc.log");
    EXPECT_TRUE(output.write("one\n"));
    std::filesystem::rename(folder / "pvc.log", folder / "pvc.log.1");
    EXPECT_TRUE(output.write("two\n"));
    EXPECT_TRUE(output.reopen());
    EXPECT_TRUE(output.write("three\n"));
    EXPECT_EQ(folder.read("pvc.log.1"), "before\none\ntwo\n");
    EXPECT_EQ(folder.read("pvc.log"), "three\n");
}

TEST(file_log_output, a_folder_that_cannot_be_made_is_an_io_failure_until_it_can) {
    const scratch_folder folder;
    folder.write("logs", "in the way");
    file_log_output output(folder / "logs/pvc.log");
    const auto failed = output.write("lost\n");
    EXPECT_TRUE(!failed && failed.error().code() == errc::io);
    std::filesystem::remove(folder / "logs");
    EXPECT_TRUE(output.write("kept\n"));
    EXPECT_EQ(std::filesystem::status(folder / "logs/pvc.log").permissions(), std::filesystem::perms(0640));
    EXPECT_EQ(folder.read("logs/pvc.log"), "kept\n");
}

// In a directory that others may write it could lead anywhere.
TEST(file_log_output, a_link_is_not_followed) {
    const scratch_folder folder;
    folder.write("victim", "mine\n");
    std::filesystem::create_symlink(folder / "victim", folder / "pvc.log");
    file_log_output output(folder / "pvc.log");
    const auto failed = output.write("lost\n");
    EXPECT_TRUE(!failed && failed.error().code() == errc::io);
    EXPECT_EQ(folder.read("victim"), "mine\n");
    std::filesystem::remove(folder / "pvc.log");
    EXPECT_TRUE(output.write("kept\n"));
}

TEST(file_log_output, what_another_daemon_left_open_to_all_is_closed_to_them) {
    const scratch_folder folder;
    folder.write("pvc.log", "before\n");
    std::filesystem::permissions(folder / "pvc.log", std::filesystem::perms(0646));
    file_log_output output(folder / "pvc.log");
    EXPECT_TRUE(output.write("after\n"));
    EXPECT_EQ(std::filesystem::status(folder / "pvc.log").permissions(), std::filesystem::perms(0640));
}

TEST(file_log_output, a_failed_reopen_keeps_the_old_file) {
    const scratch_folder folder;
    std::filesystem::create_directory(folder / "logs");
    file_log_output output(folder / "logs/pvc.log");
    EXPECT_TRUE(output.write("one\n"));
    std::filesystem::rename(folder / "logs", folder / "moved");
    folder.write("logs", "in the way");
    EXPECT_FALSE(output.reopen());
    EXPECT_TRUE(output.write("two\n"));
    EXPECT_EQ(folder.read("moved/pvc.log"), "one\ntwo\n");
}

TEST(file_log_output, a_full_disk_is_an_io_failure) {
    file_log_output output("/dev/full");
    const auto failed = output.write("text\n");
    EXPECT_TRUE(!failed && failed.error().code() == errc::io);
}

// A pipe as standard output, non-blocking at our end.
class pipe_output : public testing::Test {
protected:
    pipe_output() {
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
        ::signal(SIGPIPE, SIG_IGN);
    }
    ~pipe_output() override {
        close_reader();
        ::close(ends[1]);
    }
    void close_reader() {
        if (ends[0] >= 0) {
            ::close(std::exchange(ends[0], -1));
        }
    }
    std::array<int, 2> ends{-1, -1};
};

TEST_F(pipe_output, a_slow_reader_gets_everything) {
    const std::string text(1'000'000, 'x');
    std::size_t taken = 0;
    std::thread reader([&] {
        std::array<char, 8192> part{};
        while (taken < text.size()) {
            const ssize_t size = ::read(ends[0], part.data(), part.size());
            if (size <= 0) {
                break;
            }
            taken += static_cast<std::size_t>(size);
        }
    });
    stdout_log_output output(ends[1], 30s);
    EXPECT_TRUE(output.write(text));
    reader.join();
    EXPECT_EQ(taken, text.size());
    EXPECT_TRUE(output.reopen());
}

TEST_F(pipe_output, a_reader_that_takes_nothing_is_waited_for_in_vain) {
    stdout_log_output output(ends[1], 20ms);
    const auto failed = output.write(std::string(1'000'000, 'x'));
    EXPECT_TRUE(!failed && failed.error().code() == errc::io);
}

TEST_F(pipe_output, a_reader_that_went_is_an_io_failure) {
    close_reader();
    stdout_log_output output(ends[1]);
    const auto failed = output.write("text\n");
    EXPECT_TRUE(!failed && failed.error().code() == errc::io);
}

class notify_socket {
public:
    explicit notify_socket(const std::string& name) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::ranges::copy(name, address.sun_path);
        const bool is_abstract = name.front() == '@';
        if (is_abstract) {
            address.sun_path[0] = '\0';
        }
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1));
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    }
    notify_socket(const notify_socket&) = delete;
    notify_socket& operator=(const notify_socket&) = delete;
    ~notify_socket() { ::close(socket_); }
    // Empty if there is none.
    [[nodiscard]] std::string receive() const {
        std::array<char, 4096> part{};
        const ssize_t size = ::recv(socket_, part.data(), part.size(), 0);
        return size <= 0 ? std::string() : std::string(part.data(), static_cast<std::size_t>(size));
    }

private:
    int socket_ = -1;
};

TEST(sd_notifier, reaches_a_path_and_an_abstract_name) {
    const scratch_folder folder;
    for (const std::string& name : {folder / "notify", "@pvc-test-" + std::to_string(::getpid())}) {
        const notify_socket socket(name);
        sd_notifier notifier(name.c_str());
        EXPECT_TRUE(notifier.has_supervisor());
        notifier.send("READY=1\nSTATUS=running");
        EXPECT_EQ(socket.receive(), "READY=1\nSTATUS=running");
        notifier.send("WATCHDOG=1");
        EXPECT_EQ(socket.receive(), "WATCHDOG=1");
    }
}

TEST(sd_notifier, without_a_supervisor_nothing_happens) {
    const std::string too_long = '/' + std::string(200, 'x');
    for (const char* address : {static_cast<const char*>(nullptr), "", "@", "relative", too_long.c_str()}) {
        sd_notifier notifier(address);
        EXPECT_FALSE(notifier.has_supervisor());
        notifier.send("READY=1");
    }
}

TEST(sd_notifier, a_missing_or_full_socket_drops_the_message) {
    const scratch_folder folder;
    const std::string name = folder / "notify";
    sd_notifier notifier(name.c_str());
    notifier.send("lost");
    const notify_socket socket(name);
    for (int i = 0; i < 10'000; ++i) {
        notifier.send("WATCHDOG=1");
    }
    EXPECT_EQ(socket.receive(), "WATCHDOG=1");
}

TEST(sim_notifier, remembers_messages_and_counts_their_lines) {
    sim_world world;
    sim::sim_notifier notifier(world.clock());
    notifier.send("READY=1\nSTATUS=running");
    notifier.send("WATCHDOG=1");
    notifier.send("WATCHDOG=1");
    EXPECT_EQ(notifier.messages().size(), 3U);
    EXPECT_EQ(notifier.count("READY=1"), 1U);
    EXPECT_EQ(notifier.count("WATCHDOG=1"), 2U);
    EXPECT_EQ(notifier.count("WATCHDOG"), 0U);
}

}  // namespace
}  // namespace pvc::contract
