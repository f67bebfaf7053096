// What only real Ceph and the real helper show of the storage port; the rest is in cluster_test.cpp.
#include "contract/ceph/ceph_bench.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace pvc::contract {
namespace {

class ceph_itself : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        bench_ = make_real_ceph();
        if (!bench_) {
            GTEST_SKIP() << "no Ceph on this machine (tests/packages)";
        }
    }
    [[nodiscard]] ceph_bench& bench() { return *bench_; }
    [[nodiscard]] storage::ceph_helper& port() { return bench_->port(); }
    [[nodiscard]] time_point in(duration time) { return bench_->clock().now() + time; }
    // Breaks the only lock of the image; the lock.
    awaitable<storage::rbd_lock> break_only_lock(std::string image, std::chrono::seconds block_for) {
        const auto held = co_await port().list(image, in(10s));
        EXPECT_TRUE(held && held->size() == 1);
        const storage::rbd_lock one = held && !held->empty() ? (*held)[0] : storage::rbd_lock();
        const boot_time soon = bench().clock().boot_now() + 5s;
        const auto broken = co_await port().break_lock(image, one, block_for, soon, in(10s));
        EXPECT_TRUE(broken) << (broken ? "" : broken.error().text());
        const auto left = co_await port().list(image, in(10s));
        EXPECT_TRUE(left && left->empty());
        co_return one;
    }

private:
    std::unique_ptr<ceph_bench> bench_;
};

INSTANTIATE_TEST_SUITE_P(real, ceph_itself, testing::Values(0), [](const auto&) { return "ceph"; });

// Of the blocklist as the monitors print it: for how long the client of that lock is on it.
std::chrono::seconds time_on_blocklist(const std::string& address) {
    const auto dump = run_on_real_ceph("ceph", "osd blocklist ls");
    const auto line = dump.find(address + " ");
    if (line == std::string::npos) {
        return 0s;
    }
    // "127.0.0.1:0/123 2026-11-24T07:56:45.219373+0000"
    std::tm until{};
    if (::strptime(dump.c_str() + line + address.size() + 1, "%Y-%m-%dT%H:%M:%S", &until) == nullptr) {
        return 0s;
    }
    return std::chrono::seconds(::timegm(&until) - ::time(nullptr));
}

TEST_P(ceph_itself, locks_made_by_hand_and_in_namespaces_are_locks_as_well) {
    run_on_real_ceph("rbd", "namespace create vms/space");
    bench().make_image("vms/space/by_hand");
    run_on_real_ceph("rbd", "lock add vms/space/by_hand 'my own'");
    bench().play([this]() -> awaitable<void> {
        const auto broken = co_await break_only_lock("vms/space/by_hand", 86400s);
        EXPECT_EQ(broken.id, "my own");
        const auto left = time_on_blocklist(broken.address);
        EXPECT_TRUE(left > 86000s && left <= 86400s) << left.count();
    });
}

TEST_P(ceph_itself, for_how_long_a_client_is_kept_out_is_the_requests_or_the_monitors_choice) {
    for (const char* image : {"vms/default_time", "vms/own_time"}) {
        bench().make_image(image);
        run_on_real_ceph("rbd", std::string("lock add ") + image + " one");
    }
    bench().play([this]() -> awaitable<void> {
        const auto one = co_await break_only_lock("vms/own_time", 7200s);
        const auto other = co_await break_only_lock("vms/default_time", 0s);
        const auto own = time_on_blocklist(one.address);
        EXPECT_TRUE(own > 7000s && own <= 7200s) << own.count();
        const auto usual = time_on_blocklist(other.address);
        EXPECT_TRUE(usual > 3400s && usual <= 3600s) << usual.count();
    });
}

// Metadata of an image has the last word in the library. Not in this.
TEST_P(ceph_itself, metadata_that_says_not_to_blocklist_is_not_obeyed) {
    bench().make_image("vms/lenient");
    bench().make_image("vms/hasty");
    run_on_real_ceph("rbd", "config image set vms/lenient rbd_blocklist_on_break_lock false");
    run_on_real_ceph("rbd", "config image set vms/hasty rbd_blocklist_expire_seconds 60");
    run_on_real_ceph("rbd", "lock add vms/lenient one");
    run_on_real_ceph("rbd", "lock add vms/hasty one");
    bench().play([this]() -> awaitable<void> {
        for (const char* image : {"vms/lenient", "vms/hasty"}) {
            const auto broken = co_await break_only_lock(image, 86400s);
            EXPECT_GT(time_on_blocklist(broken.address), 86000s) << image;
        }
    });
}

// It says that it is there, and half of an answer.
TEST_P(ceph_itself, a_helper_that_ends_in_the_middle_of_a_frame_is_replaced) {
    const scratch_folder folder;
    auto half = *encode(protocol::ceph::greeting{protocol::ceph::version, "half"});
    const auto answer = *encode(protocol::ceph::answer{1, protocol::ceph::say::output{"nothing"}});
    half += answer.substr(0, answer.size() / 2);
    folder.write("half", half);
    folder.write("helper", "#!/bin/sh\nif [ -e '" + (folder / "half") + "' ]; then\n  cat '" + (folder / "half") +
                               "' >&3\n  rm '" + (folder / "half") + "'\n  exit 1\nfi\nexec '" +
                               bench().settings().program + "' \"$@\"\n");
    std::filesystem::permissions(folder / "helper", std::filesystem::perms::owner_all);
    bench().use_program(folder / "helper");
    bench().play([this]() -> awaitable<void> {
        const std::string health = R"({"prefix":"health","format":"json"})";
        const auto first = co_await port().command(health, in(5s));
        EXPECT_TRUE(!first && first.error().code() == errc::io) << (first ? *first : first.error().text());
        const auto second = co_await port().command(health, in(5s));
        EXPECT_TRUE(second) << (second ? "" : second.error().text());
        EXPECT_EQ(port().view().starts, 2U);
    });
}

// Ruling 3: the daemon's side maps nothing of Ceph, nor has it a thread for it (storage.md case 11).
TEST_P(ceph_itself, no_library_of_ceph_is_on_the_daemons_side) {
    bench().play([this]() -> awaitable<void> {
        const auto health = co_await port().command(R"({"prefix":"health","format":"json"})", in(5s));
        EXPECT_TRUE(health);
    });
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        EXPECT_EQ(line.find("librados"), std::string::npos) << line;
        EXPECT_EQ(line.find("librbd"), std::string::npos) << line;
    }
    const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    EXPECT_EQ(threads, 1);
}

}  // namespace
}  // namespace pvc::contract
