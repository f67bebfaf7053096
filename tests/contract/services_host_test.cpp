// The host port: files, directories, kernel settings, locks; on a real folder and on a simulated machine.
#include "contract/services_bench.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/services/adapter/linux_host.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

namespace pvc::contract {
namespace {

class real_host : public real_world {
public:
    real_host() {
        std::filesystem::create_directories(folder_ / "proc/sys/net/ipv4/conf/bond0.100");
        std::filesystem::create_directories(folder_ / "dev");
        folder_.write("proc/sys/net/ipv4/ip_forward", "0\n");
        folder_.write("proc/sys/net/ipv4/conf/bond0.100/rp_filter", "1\n");
    }
    services::host& host() { return host_; }
    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    void make_file(const std::string& name, const std::string& text) const { folder_.write(name, text); }
    [[nodiscard]] std::string setting(const std::string& key) const { return folder_.read("proc/sys/" + key); }
    const scratch_folder& folder() const { return folder_; }

private:
    scratch_folder folder_;
    async::thread_offload pool_{loop().context()};
    services::linux_host host_{pool_, clock(), services::host_paths{folder_ / "proc", folder_ / "dev"}};
};

class sim_machine : public sim_world {
public:
    sim_machine() {
        host_.directories["/base"] = {};
        host_.missing_settings = {"net.ipv4.no_such_key"};
    }
    services::host& host() { return host_; }
    [[nodiscard]] static std::string path(const std::string& name) { return "/base/" + name; }
    void make_file(const std::string& name, const std::string& text) { host_.files[path(name)] = text; }

private:
    sim::sim_host host_{clock()};
};

template <class Bench>
class host_contract : public testing::Test {
protected:
    services::host& host() { return bench.host(); }
    Bench bench;
};

using hosts = testing::Types<real_host, sim_machine>;
TYPED_TEST_SUITE(host_contract, hosts);

TYPED_TEST(host_contract, facts_are_four_tokens_and_more) {
    const auto facts = this->host().facts();
    EXPECT_GE(facts.cpus, 1U);
    EXPECT_EQ(facts.operating_system, "GNU/Linux");
    for (const auto& token : {facts.kernel_release, facts.operating_system, facts.machine}) {
        EXPECT_EQ(split_blanks(token).size(), 1U) << token;
    }
    EXPECT_GT(facts.pid, 1);
}

TYPED_TEST(host_contract, directories_are_made_with_their_parents_and_may_exist) {
    this->bench.run([&]() -> awaitable<void> {
        for (int round = 0; round < 2; ++round) {
            auto made = co_await this->host().make_directory(this->bench.path("a/b/c"), 0750, "");
            EXPECT_TRUE(made);
        }
        auto in_parent = co_await this->host().replace_file(this->bench.path("a/b/file"), "text");
        auto inside = co_await this->host().replace_file(this->bench.path("a/b/c/file"), "text");
        EXPECT_TRUE(in_parent && inside);
        auto unknown_owner = co_await this->host().make_directory(this->bench.path("d"), 0755, "pvc-no-such-user");
        EXPECT_TRUE(unknown_owner);
    });
}

TYPED_TEST(host_contract, a_file_is_replaced_as_a_whole) {
    this->bench.run([&]() -> awaitable<void> {
        for (const auto& text : {std::string("first\n"), std::string(), std::string(60'000, 'x')}) {
            auto written = co_await this->host().replace_file(this->bench.path("file"), text);
            EXPECT_TRUE(written);
            const auto back = this->host().read_file(this->bench.path("file"));
            EXPECT_TRUE(back && *back == text);
        }
        auto nowhere = co_await this->host().replace_file(this->bench.path("missing/file"), "text");
        EXPECT_TRUE(!nowhere && nowhere.error().code() == errc::io);
    });
}

TYPED_TEST(host_contract, reading_says_what_is_wrong) {
    const auto missing = this->host().read_file(this->bench.path("missing"));
    EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
    this->bench.make_file("exact", std::string(64 * 1024, 'x'));
    const auto exact = this->host().read_file(this->bench.path("exact"));
    EXPECT_TRUE(exact && exact->size() == 64 * 1024);
    this->bench.make_file("large", std::string(64 * 1024 + 1, 'x'));
    const auto large = this->host().read_file(this->bench.path("large"));
    EXPECT_TRUE(!large && large.error().code() == errc::too_large);
}

TYPED_TEST(host_contract, a_file_on_a_disk) {
    this->bench.make_file("settings", "a text\n");
    this->bench.make_file("large", std::string(64 * 1024 + 1, 'x'));
    this->bench.run([&]() -> awaitable<void> {
        const auto there = co_await this->host().read_disk_file(this->bench.path("settings"));
        EXPECT_TRUE(there && *there == "a text\n");
        const auto missing = co_await this->host().read_disk_file(this->bench.path("missing"));
        EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
        const auto large = co_await this->host().read_disk_file(this->bench.path("large"));
        EXPECT_TRUE(!large && large.error().code() == errc::too_large);
    });
}

TYPED_TEST(host_contract, whether_a_file_can_be_read) {
    this->bench.make_file("keyring", std::string(100'000, 'x'));
    this->bench.run([&]() -> awaitable<void> {
        auto there = co_await this->host().can_read(this->bench.path("keyring"));
        EXPECT_TRUE(there);
        auto missing = co_await this->host().can_read(this->bench.path("missing"));
        EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
        auto made = co_await this->host().make_directory(this->bench.path("folder"), 0750, "");
        EXPECT_TRUE(made);
        auto folder = co_await this->host().can_read(this->bench.path("folder"));
        EXPECT_TRUE(!folder && folder.error().code() == errc::refused);
    });
}

TYPED_TEST(host_contract, a_directory_is_listed_and_removed_with_its_files) {
    this->bench.run([&]() -> awaitable<void> {
        auto& host = this->host();
        for (const char* name : {"nets/1001", "nets/1002", "nets/1002/inner"}) {
            auto made = co_await host.make_directory(this->bench.path(name), 0755, "");
            EXPECT_TRUE(made) << name;
        }
        for (const char* name : {"nets/1001.pid", "nets/1001/a", "nets/1001/b", "nets/1002/c", "nets/1002/inner/d"}) {
            auto written = co_await host.replace_file(this->bench.path(name), "text");
            EXPECT_TRUE(written) << name;
        }
        const auto folders = [&]() -> std::set<std::string> {
            const auto names = host.list_folders(this->bench.path("nets"));
            EXPECT_TRUE(names);
            return {names->begin(), names->end()};
        };
        EXPECT_EQ(folders(), (std::set<std::string>{"1001", "1002"}));
        for (int round = 0; round < 2; ++round) {
            auto removed = co_await host.remove_folder(this->bench.path("nets/1001"));
            EXPECT_TRUE(removed);
            EXPECT_EQ(folders(), std::set<std::string>{"1002"});
        }
        const auto inside = co_await host.remove_folder(this->bench.path("nets/1002"));
        EXPECT_TRUE(!inside && inside.error().code() == errc::refused);
        EXPECT_EQ(folders(), std::set<std::string>{"1002"});
        EXPECT_FALSE(host.read_file(this->bench.path("nets/1002/c")));
        EXPECT_TRUE(host.read_file(this->bench.path("nets/1002/inner/d")));
        const auto file = co_await host.remove_folder(this->bench.path("nets/1001.pid"));
        EXPECT_TRUE(!file && file.error().code() == errc::refused);
        EXPECT_TRUE(host.read_file(this->bench.path("nets/1001.pid")));
        const auto missing = host.list_folders(this->bench.path("nets/1001"));
        EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
        // Of a disk all that is in it.
        const auto all = co_await host.list_disk_files(this->bench.path("nets"));
        EXPECT_TRUE(all &&
                    (std::set<std::string>(all->begin(), all->end()) == std::set<std::string>{"1001.pid", "1002"}));
        const auto none = co_await host.list_disk_files(this->bench.path("nets/1001.pid"));
        EXPECT_TRUE(!none && none.error().code() == errc::not_found);
    });
}

TYPED_TEST(host_contract, settings_are_written_or_not_there_or_not_below) {
    EXPECT_TRUE(this->host().set_sysctl("net.ipv4.ip_forward", "1"));
    EXPECT_TRUE(this->host().set_sysctl("net/ipv4/conf/bond0.100/rp_filter", "0"));
    const auto missing = this->host().set_sysctl("net.ipv4.no_such_key", "1");
    EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
    for (const char* key : {"", "../../../etc/passwd", "net/../../x"}) {
        const auto refused = this->host().set_sysctl(key, "1");
        EXPECT_TRUE(!refused && refused.error().code() == errc::invalid) << key;
    }
}

TYPED_TEST(host_contract, a_lock_is_held_once_and_freed_with_its_guard) {
    const std::string path = this->bench.path("lock");
    auto first = this->host().lock(path);
    ASSERT_TRUE(first);
    const auto second = this->host().lock(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), errc::refused);
    EXPECT_EQ(second.error().cause(), std::to_string(this->host().facts().pid));
    first->reset();
    EXPECT_TRUE(this->host().lock(path));
}

// Only on a real machine.
class linux_host : public testing::Test {
protected:
    real_host bench;
};

// Of a child process that is nobody.
bool nobody_can(const std::function<bool()>& deed) {
    constexpr uid_t nobody = 65534;
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_nobody = ::geteuid() != 0 || ::setresuid(nobody, nobody, nobody) == 0;
        ::_exit(is_nobody && deed() ? 0 : 1);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

mode_t mode_of(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

// Who has put a link in the place of a record has no other file written, nor its mode given to the record.
TEST_F(linux_host, a_symbolic_link_is_replaced_and_not_followed) {
    bench.make_file("elsewhere", "another's\n");
    ASSERT_EQ(::chmod(bench.path("elsewhere").c_str(), 0666), 0);
    ASSERT_EQ(::symlink(bench.path("elsewhere").c_str(), bench.path("record").c_str()), 0);
    bench.run([&]() -> awaitable<void> {
        auto written = co_await bench.host().replace_file(bench.path("record"), "ours\n");
        EXPECT_TRUE(written);
    });
    const auto elsewhere = bench.host().read_file(bench.path("elsewhere"));
    EXPECT_TRUE(elsewhere && *elsewhere == "another's\n");
    const auto record = bench.host().read_file(bench.path("record"));
    EXPECT_TRUE(record && *record == "ours\n");
    struct stat found{};
    ASSERT_EQ(::lstat(bench.path("record").c_str(), &found), 0);
    EXPECT_TRUE(S_ISREG(found.st_mode));
    EXPECT_EQ(found.st_mode & 07777, 0644U);
}

TEST_F(linux_host, the_mode_is_exact_whatever_the_umask_is) {
    const mode_t before = ::umask(077);
    bench.run([&]() -> awaitable<void> {
        auto made = co_await bench.host().make_directory(bench.path("x/y"), 01775, "");
        auto written = co_await bench.host().replace_file(bench.path("x/file"), "text");
        EXPECT_TRUE(made && written);
    });
    ::umask(before);
    EXPECT_EQ(mode_of(bench.path("x/y")), 01775U);
    EXPECT_EQ(mode_of(bench.path("x/file")), 0644U);
}

// It may be a shared one, or its administrator closed it.
TEST_F(linux_host, a_directory_that_exists_keeps_its_mode) {
    std::filesystem::create_directory(bench.path("mine"));
    ASSERT_EQ(::chmod(bench.path("mine").c_str(), 01770), 0);
    bench.run([&]() -> awaitable<void> {
        auto made = co_await bench.host().make_directory(bench.path("mine"), 0755, "");
        EXPECT_TRUE(made);
    });
    EXPECT_EQ(mode_of(bench.path("mine")), 01770U);
}

// flock() needs no right to write: whoever can open the file can keep the daemon from starting.
TEST_F(linux_host, the_lock_file_is_closed_to_others) {
    const std::string path = bench.path("lock");
    bench.make_file("lock", "1\n");
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    ASSERT_EQ(::chmod(bench.folder().path().c_str(), 0755), 0);
    auto held = bench.host().lock(path);
    ASSERT_TRUE(held);
    EXPECT_EQ(mode_of(path), 0600U);
    if (::geteuid() == 0) {
        EXPECT_TRUE(nobody_can([&] { return ::access(bench.folder().path().c_str(), X_OK) == 0; }));
        EXPECT_FALSE(nobody_can([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC) >= 0; }));
    }
}

TEST_F(linux_host, a_holder_that_is_not_the_recorded_daemon_is_named_as_such) {
    const std::string path = bench.path("lock");
    bench.make_file("lock", "4711\n");
    const int held = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
    std::ifstream locks("/proc/locks");
    bench.make_file("proc/locks", std::string(std::istreambuf_iterator<char>(locks), {}));
    const auto refused = bench.host().lock(path);
    ::close(held);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), errc::refused);
    const std::string own = std::to_string(::getpid());
    EXPECT_TRUE(refused.error().cause().starts_with(own)) << refused.error().cause();
    EXPECT_TRUE(refused.error().cause().ends_with("is not the daemon that the file records (4711)"))
        << refused.error().cause();
}

TEST_F(linux_host, a_replaced_file_keeps_its_mode_and_leaves_nothing_beside_it) {
    bench.make_file("secret", "old");
    ASSERT_EQ(::chmod(bench.path("secret").c_str(), 0600), 0);
    bench.run([&]() -> awaitable<void> {
        auto written = co_await bench.host().replace_file(bench.path("secret"), "new");
        auto failed = co_await bench.host().replace_file(bench.path("proc"), "a directory is there");
        EXPECT_TRUE(written);
        EXPECT_FALSE(failed);
    });
    EXPECT_EQ(mode_of(bench.path("secret")), 0600U);
    EXPECT_EQ(bench.folder().read("secret"), "new");
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(bench.folder().path())) {
        ++entries;
    }
    EXPECT_EQ(entries, 3U);  // dev, proc, secret
}

TEST_F(linux_host, a_file_in_the_way_of_a_directory_is_said) {
    bench.make_file("file", "");
    bench.run([&]() -> awaitable<void> {
        auto over = co_await bench.host().make_directory(bench.path("file"), 0755, "");
        auto below = co_await bench.host().make_directory(bench.path("file/x"), 0755, "");
        EXPECT_TRUE(!over && over.error().code() == errc::io);
        EXPECT_TRUE(!below && below.error().code() == errc::io);
    });
}

TEST_F(linux_host, symbolic_links_are_neither_listed_nor_followed_when_directories_are_removed) {
    namespace fs = std::filesystem;
    fs::create_directories(bench.path("nets/1001"));
    fs::create_directory(bench.path("elsewhere"));
    bench.make_file("elsewhere/file", "theirs");
    bench.make_file("nets/1001/own", "");
    fs::create_directory_symlink(bench.path("elsewhere"), bench.path("nets/1002"));
    fs::create_symlink(bench.path("elsewhere/file"), bench.path("nets/1001/link"));
    ASSERT_EQ(::mkfifo(bench.path("nets/1003").c_str(), 0600), 0);
    const auto names = bench.host().list_folders(bench.path("nets"));
    EXPECT_TRUE(names && *names == std::vector<std::string>{"1001"});
    bench.run([&]() -> awaitable<void> {
        for (const char* name : {"nets/1001", "nets/1002", "nets/1003"}) {
            const auto refused = co_await bench.host().remove_folder(bench.path(name));
            EXPECT_TRUE(!refused && refused.error().code() == errc::refused) << name;
        }
        EXPECT_FALSE(fs::exists(bench.path("nets/1001/own")));
        EXPECT_TRUE(fs::is_symlink(bench.path("nets/1001/link")) && fs::is_symlink(bench.path("nets/1002")));
        EXPECT_EQ(bench.folder().read("elsewhere/file"), "theirs");
        fs::remove(bench.path("nets/1001/link"));
        const auto removed = co_await bench.host().remove_folder(bench.path("nets/1001"));
        EXPECT_TRUE(removed && !fs::exists(bench.path("nets/1001")));
    });
}

TEST_F(linux_host, what_is_no_regular_file_is_not_read) {
    ASSERT_EQ(::mkfifo(bench.path("fifo").c_str(), 0600), 0);
    for (const auto& path : {bench.path("fifo"), bench.path("proc")}) {
        const auto refused = bench.host().read_file(path);
        EXPECT_TRUE(!refused && refused.error().code() == errc::io);
    }
}

// Of the daemon's own directories: what a link leads to is somebody else's. Of a disk an administrator may have put it
// elsewhere.
TEST_F(linux_host, a_link_in_place_of_a_file_of_memory_is_not_followed) {
    namespace fs = std::filesystem;
    bench.make_file("theirs", "boot 1\n");
    fs::create_symlink(bench.path("theirs"), bench.path("client-bridges"));
    const auto refused = bench.host().read_file(bench.path("client-bridges"));
    EXPECT_TRUE(!refused && refused.error().code() == errc::io &&
                refused.error().cause() == "it is a symbolic link, which is not followed");
    bench.run([&]() -> awaitable<void> {
        const auto by_disk = co_await bench.host().read_disk_file(bench.path("client-bridges"));
        EXPECT_TRUE(by_disk && *by_disk == "boot 1\n");
        // It is replaced, and not what it leads to.
        const auto written = co_await bench.host().replace_file(bench.path("client-bridges"), "boot 2\n");
        EXPECT_TRUE(written && !fs::is_symlink(bench.path("client-bridges")));
        EXPECT_EQ(bench.folder().read("theirs"), "boot 1\n");
        EXPECT_EQ(bench.folder().read("client-bridges"), "boot 2\n");
    });
}

TEST_F(linux_host, settings_reach_the_files) {
    EXPECT_TRUE(bench.host().set_sysctl("net.ipv4.ip_forward", "1"));
    EXPECT_TRUE(bench.host().set_sysctl("net/ipv4/conf/bond0.100/rp_filter", "0"));
    EXPECT_EQ(bench.setting("net/ipv4/ip_forward").front(), '1');
    EXPECT_EQ(bench.setting("net/ipv4/conf/bond0.100/rp_filter").front(), '0');
}

TEST_F(linux_host, a_program_that_we_start_does_not_keep_the_lock) {
    async::posix_process processes(bench.loop().context(), bench.clock());
    const std::string path = bench.path("lock");
    bench.run([&]() -> awaitable<void> {
        auto lock = bench.host().lock(path);
        EXPECT_TRUE(lock);
        co_await async::with_task_group("child", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("child", [&]() -> awaitable<void> {
                auto outcome = co_await processes.run(async::command{{"sleep", "1000"}}, async::process_limits());
            });
            while (processes.running() == 0) {
                co_await async::yield();
            }
            lock->reset();
            auto again = bench.host().lock(path);
            EXPECT_TRUE(again);
            group.cancel();
        });
    });
}

TEST_F(linux_host, a_watchdog_is_a_device) {
    EXPECT_FALSE(bench.host().has_watchdog());
    bench.make_file("dev/watchdog", "");
    EXPECT_FALSE(bench.host().has_watchdog());
    std::filesystem::create_symlink("/dev/null", bench.path("dev/watchdog0"));
    EXPECT_TRUE(bench.host().has_watchdog());
}

TEST(linux_host_of_this_machine, reads_proc) {
    real_world world;
    async::thread_offload pool(world.loop().context());
    services::linux_host host(pool, world.clock());
    const auto meminfo = host.meminfo();
    const auto loadavg = host.loadavg();
    EXPECT_TRUE(meminfo && meminfo->find("MemTotal:") != std::string::npos);
    EXPECT_TRUE(loadavg && split_blanks(*loadavg).size() >= 4);
    EXPECT_EQ(host.facts().pid, ::getpid());
    EXPECT_EQ(host.facts().boot_id.size(), 36U);
}

}  // namespace
}  // namespace pvc::contract
