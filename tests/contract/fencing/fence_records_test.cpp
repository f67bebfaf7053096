// Records of fences, on a real folder and on a simulated disk (README rulings 36, 46).
#include "pvcnoded/fencing/fence_records.hpp"
#include "contract/process_bench.hpp"
#include "pvcnoded/services/adapter/linux_host.hpp"
#include "sim/sim_host.hpp"

#include <sched.h>
#include <sys/mount.h>

namespace pvc::contract {
namespace {

using fencing::fence_records;
using model::fence_record;

class real_disk : public real_world {
public:
    services::host& host() { return host_; }
    [[nodiscard]] std::string folder() const { return scratch_ / "pvc/fences"; }
    void put(const std::string& name, const std::string& text) {
        std::filesystem::create_directories(folder());
        scratch_.write("pvc/fences/" + name, text);
    }
    void put_file() {
        std::filesystem::create_directories(scratch_ / "pvc");
        scratch_.write("pvc/fences", "mine");
    }
    [[nodiscard]] bool has(const std::string& name) const { return std::filesystem::exists(folder() + '/' + name); }

private:
    scratch_folder scratch_;
    async::thread_offload pool_{loop().context()};
    services::linux_host host_{pool_, clock()};
};

class simulated_disk : public sim_world {
public:
    sim::sim_host& host() { return host_; }
    [[nodiscard]] static std::string folder() { return "/var/lib/pvc/fences"; }
    void put(const std::string& name, const std::string& text) { host_.files[folder() + '/' + name] = text; }
    void put_file() { host_.files[folder()] = "mine"; }
    [[nodiscard]] bool has(const std::string& name) const {
        return host_.storage.files.contains(folder() + '/' + name);
    }

private:
    sim::sim_host host_{clock()};
};

fence_record record_of(int second, const std::string& node = "hv3") {
    fence_record one;
    one.begun.wall = wall_time(1'795'762'812s + std::chrono::seconds(second));
    one.id = model::fence_record_id(one.begun.wall, node);
    one.coordinator = "hv1";
    one.node = node;
    return one;
}

template <class Bench>
class fence_records_contract : public testing::Test {
protected:
    template <class Body>
    void run(Body body) {
        bench.run([&]() -> awaitable<void> {
            fence_records records(bench.host(), bench.folder());
            co_await body(records);
        });
    }
    Bench bench;
};
using benches = testing::Types<real_disk, simulated_disk>;
TYPED_TEST_SUITE(fence_records_contract, benches);

TYPED_TEST(fence_records_contract, what_is_saved_is_read) {
    this->run([&](fence_records& records) -> awaitable<void> {
        const auto none = co_await records.list();
        EXPECT_TRUE(none && none->empty());
        auto one = record_of(1);
        const auto opened = co_await records.open(one);
        EXPECT_TRUE(opened) << opened.error().text();
        EXPECT_TRUE(this->bench.has("reserve"));
        const auto twice = co_await records.open(one);
        EXPECT_TRUE(!twice && twice.error().code() == errc::already_exists);
        one.outcome = model::fence_outcome::done;
        one.proof = model::fence_proof{};
        EXPECT_TRUE(co_await records.save(one));
        const auto read = co_await records.read(one.id);
        EXPECT_TRUE(read && *read == one);
        EXPECT_TRUE(co_await records.open(record_of(2, "hv2")));
        const auto all = co_await records.list();
        EXPECT_TRUE(all && *all == (std::vector<std::string>{record_of(2, "hv2").id, one.id}));
        const auto missing = co_await records.read("none");
        EXPECT_TRUE(!missing && missing.error().code() == errc::not_found);
        const auto outside = co_await records.read("../fences/none");
        EXPECT_TRUE(!outside && outside.error().code() == errc::not_found);
    });
}

TYPED_TEST(fence_records_contract, a_long_record_is_whole_and_a_longer_one_refused) {
    this->run([&](fence_records& records) -> awaitable<void> {
        auto one = record_of(1);
        one.remark = std::string(900'000, 'x');
        EXPECT_TRUE(co_await records.open(one));
        const auto read = co_await records.read(one.id);
        EXPECT_TRUE(read && *read == one);
        one.remark = std::string(1'100'000, 'x');
        const auto longer = co_await records.save(one);
        EXPECT_TRUE(!longer && longer.error().code() == errc::too_large);
        one.remark = "short again";
        EXPECT_TRUE(co_await records.save(one));
    });
}

TYPED_TEST(fence_records_contract, what_stands_there_of_others_is_left) {
    this->bench.put("20261127T070012.000Z-hv3.json", "{\"format\": 1, \"id\"");
    this->bench.put("20261127T070013.000Z-hv3.json", to_text(record_of(99)));
    this->bench.put("20261127T070014.000Z-hv3.json", "{\"format\": 7}");
    this->bench.put("notes.txt", "mine");
    this->run([&](fence_records& records) -> awaitable<void> {
        const auto all = co_await records.list();
        EXPECT_TRUE(all && all->size() == 3);
        const auto cut = co_await records.read("20261127T070012.000Z-hv3");
        EXPECT_TRUE(!cut && cut.error().code() == errc::invalid);
        const auto wrong = co_await records.read("20261127T070013.000Z-hv3");
        EXPECT_TRUE(!wrong && wrong.error().code() == errc::invalid);
        const auto later = co_await records.read("20261127T070014.000Z-hv3");
        EXPECT_TRUE(!later && later.error().code() == errc::refused);
        const auto about = co_await records.about("hv3", wall_time{});
        EXPECT_TRUE(about && about->empty());
    });
    EXPECT_TRUE(this->bench.has("notes.txt"));
}

TYPED_TEST(fence_records_contract, a_file_in_place_of_the_folder_is_not_no_records) {
    this->bench.put_file();
    this->run([&](fence_records& records) -> awaitable<void> {
        const auto ready = co_await records.make_ready();
        EXPECT_TRUE(!ready && ready.error().code() == errc::io);
        const auto all = co_await records.list();
        EXPECT_TRUE(!all && all.error().code() == errc::io);
        const auto about = co_await records.about("hv3", wall_time{});
        EXPECT_TRUE(!about && about.error().code() == errc::io);
        EXPECT_FALSE(co_await records.try_write());
        EXPECT_FALSE(co_await records.open(record_of(1)));
    });
}

TYPED_TEST(fence_records_contract, whether_one_could_be_written) {
    this->run([&](fence_records& records) -> awaitable<void> {
        EXPECT_TRUE(co_await records.try_write());
        EXPECT_FALSE(this->bench.has("try"));
        EXPECT_TRUE(this->bench.has("reserve"));
    });
}

TYPED_TEST(fence_records_contract, about_a_node) {
    this->run([&](fence_records& records) -> awaitable<void> {
        for (const int second : {1, 2, 3}) {
            EXPECT_TRUE(co_await records.open(record_of(second)));
        }
        EXPECT_TRUE(co_await records.open(record_of(4, "hv13")));
        const auto all = co_await records.about("hv3", record_of(2).begun.wall);
        EXPECT_TRUE(all && all->size() == 2 && all->front().id == record_of(3).id);
    });
}

TYPED_TEST(fence_records_contract, the_oldest_go) {
    for (int second = 0; second < 503; ++second) {
        this->bench.put(record_of(second).id + ".json", "x");
    }
    this->run([&](fence_records& records) -> awaitable<void> {
        EXPECT_TRUE(co_await records.open(record_of(1000)));
        const auto all = co_await records.list();
        EXPECT_TRUE(all && all->size() == 500);
        EXPECT_TRUE(all && all->front() == record_of(1000).id);
        EXPECT_TRUE(all && all->back() == record_of(4).id);
    });
}

// ---- a real disk that is full, and one that is read-only
// --------------------------------------------------------------
class small_disk : public testing::Test {
protected:
    // A file system of 3 MiB of its own, which ends with this process.
    void SetUp() override {
        const bool is_alone =
            ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
        if (!is_alone || ::mount("none", scratch.path().c_str(), "tmpfs", 0, "size=3m,mode=0700") != 0) {
            GTEST_SKIP() << "takes root";
        }
        is_mounted = true;
    }
    void TearDown() override {
        if (is_mounted) {
            ::umount2(scratch.path().c_str(), MNT_DETACH);
        }
    }
    void run(const std::function<awaitable<void>(fence_records&)>& body) {
        real_world world;
        async::thread_offload pool{world.loop().context()};
        services::linux_host host{pool, world.clock()};
        world.run([&]() -> awaitable<void> {
            fence_records records(host, scratch / "pvc/fences");
            co_await body(records);
        });
    }
    scratch_folder scratch;
    bool is_mounted = false;
};

TEST_F(small_disk, what_was_kept_is_room_for_one_record) {
    run([&](fence_records& records) -> awaitable<void> {
        auto one = record_of(1);
        EXPECT_TRUE(co_await records.open(one));
        scratch.write("much", std::string(4'000'000, 'x'));  // as much as there is room for
        one.remark = std::string(500'000, 'x');
        const auto saved = co_await records.save(one);
        EXPECT_TRUE(saved) << saved.error().text();
        const auto read = co_await records.read(one.id);
        EXPECT_TRUE(read && *read == one);
        // Another fence has none any more.
        const auto next = co_await records.open(record_of(2));
        EXPECT_TRUE(!next && next.error().code() == errc::io);
        std::filesystem::remove(scratch / "much");
        EXPECT_TRUE(co_await records.open(record_of(2)));
    });
}

TEST_F(small_disk, one_that_is_read_only) {
    run([&](fence_records& records) -> awaitable<void> {
        auto one = record_of(1);
        EXPECT_TRUE(co_await records.open(one));
        EXPECT_EQ(::mount("none", scratch.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=3m"), 0);
        const auto saved = co_await records.save(one);
        EXPECT_TRUE(!saved && saved.error().code() == errc::io);
        const auto next = co_await records.open(record_of(2));
        EXPECT_TRUE(!next && next.error().code() == errc::io);
        const auto read = co_await records.read(one.id);
        EXPECT_TRUE(read);
    });
}

// ---- disks that fail: nothing may be fenced then
// ---------------------------------------------------------------------
class fence_records_fault : public fence_records_contract<simulated_disk> {};

TEST_F(fence_records_fault, a_full_disk) {
    bench.host().is_full = true;
    run([&](fence_records& records) -> awaitable<void> {
        const auto opened = co_await records.open(record_of(1));
        EXPECT_TRUE(!opened && opened.error().code() == errc::io);
        bench.host().is_full = false;
        EXPECT_TRUE(co_await records.open(record_of(1)));
        bench.host().is_full = true;
        const auto saved = co_await records.save(record_of(1));
        EXPECT_TRUE(!saved && saved.error().code() == errc::io);
        EXPECT_FALSE(bench.has("reserve"));  // what was kept was given up
        bench.host().is_full = false;
        EXPECT_TRUE(co_await records.save(record_of(1)));
        EXPECT_TRUE(co_await records.open(record_of(2)));
        EXPECT_TRUE(bench.has("reserve"));
    });
}

TEST_F(fence_records_fault, a_folder_that_cannot_be_written) {
    bench.host().broken.emplace(bench.folder(), failure(errc::io, bench.folder(), "Read-only file system"));
    run([&](fence_records& records) -> awaitable<void> {
        const auto opened = co_await records.open(record_of(1));
        EXPECT_TRUE(!opened && opened.error().cause() == "Read-only file system");
        const auto listed = co_await records.list();
        EXPECT_TRUE(listed || listed.error().code() == errc::io);
    });
}

TEST_F(fence_records_fault, a_hanging_disk_is_an_error_in_time_and_its_record_is_not_written_again) {
    run([&](fence_records& records) -> awaitable<void> {
        auto one = record_of(1);
        EXPECT_TRUE(co_await records.open(one));
        bench.host().disk_time = 1h;
        const auto asked = bench.clock().now();
        const auto saved = co_await records.save(one);
        EXPECT_TRUE(!saved && saved.error().code() == errc::timed_out);
        EXPECT_LE(bench.clock().now() - asked, 6s);
        bench.host().disk_time = 1ms;
        // The hanging write may still come, with what is old by now.
        const auto again = co_await records.save(one);
        EXPECT_TRUE(!again && again.error().code() == errc::refused);
        auto next = record_of(2);
        next.follows = one.id;
        EXPECT_TRUE(co_await records.open(next));
        EXPECT_TRUE(co_await records.save(next));
    });
}

TEST_F(fence_records_fault, a_write_that_was_given_up_may_still_come) {
    run([&](fence_records& records) -> awaitable<void> {
        EXPECT_TRUE(co_await records.open(record_of(1)));
        bench.host().disk_time = 2s;
        const auto begun = bench.clock().now();
        const bool cancelled = co_await cancel_when(
            bench.clock(), [&] { return bench.clock().now() - begun > 1s; },
            [&]() -> awaitable<void> {
                const auto saved = co_await records.save(record_of(1));
                ADD_FAILURE() << saved.has_value();
            });
        EXPECT_TRUE(cancelled);
        const auto again = co_await records.save(record_of(1));
        EXPECT_TRUE(!again && again.error().code() == errc::refused);
    });
}

TEST_F(fence_records_fault, what_was_saved_outlives_a_power_cut) {
    auto one = record_of(1);
    run([&](fence_records& records) -> awaitable<void> {
        EXPECT_TRUE(co_await records.open(one));
        one.proof = model::fence_proof{};
        EXPECT_TRUE(co_await records.save(one));
    });
    bench.host().lose_power();
    run([&](fence_records& records) -> awaitable<void> {
        const auto read = co_await records.read(one.id);
        EXPECT_TRUE(read && *read == one);
    });
}

}  // namespace
}  // namespace pvc::contract
