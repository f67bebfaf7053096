// The daemon's client, pvcnoded-ceph and a real cluster (tests/lab/ceph.py): one cluster for all tests of the program,
// made with the first one.
#include "contract/ceph/ceph_bench.hpp"
#include "contract/support/child_process.hpp"
#include "pvcnoded/services/adapter/spawned_talker.hpp"

#include <boost/json/parse.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

namespace pvc::contract {

namespace {

namespace fs = std::filesystem;

// What a child printed up to here, as far as it comes in time.
std::string read_line(int from, std::chrono::milliseconds within) {
    const auto end = std::chrono::steady_clock::now() + within;
    std::string line;
    char c = 0;
    while (std::chrono::steady_clock::now() < end) {
        const ssize_t size = ::read(from, &c, 1);
        if (size == 1 && c == '\n') {
            return line;
        }
        if (size == 1) {
            line += c;
        } else if (size == 0) {
            return {};
        } else {
            pollfd seen{from, POLLIN, 0};
            ::poll(&seen, 1, 50);
        }
    }
    return {};
}

// A stopped process goes on until each of its threads has been stopped.
void wait_until_still(pid_t id) {
    const auto end = std::chrono::steady_clock::now() + 5s;
    const auto is_still = [](const fs::directory_entry& thread) {
        std::ifstream file(thread.path() / "stat");
        std::string text;
        std::getline(file, text);
        const auto name_ends = text.rfind(") ");
        return name_ends == std::string::npos || text.substr(name_ends + 2, 1) == "T";
    };
    const auto all_still = [&] {
        std::error_code gone;
        return std::ranges::all_of(fs::directory_iterator("/proc/" + std::to_string(id) + "/task", gone), is_still);
    };
    while (!all_still()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "process " << id << " does not stop";
        std::this_thread::sleep_for(5ms);
    }
}

struct cluster_files {
    std::string config, keyring;
};

class real_cluster {
public:
    static real_cluster& get() {
        if (!the_one()) {
            the_one() = std::make_unique<real_cluster>();
        }
        return *the_one();
    }
    static void end() { the_one().reset(); }

    real_cluster()
        : process_({"/usr/bin/python3", "-B", PVC_SOURCE_DIR "/tests/lab/ceph.py", "serve", folder_ / "cluster",
                    "--auth", "--pool", "vms"},
                   {.output_file = "", .has_input = true}) {
        const auto line = read_line(process_.output(), 60s);
        boost::json::error_code bad;
        const auto said = boost::json::parse(line, bad);
        if (bad || !said.is_object()) {
            return;
        }
        const auto text = [&](const char* name) { return std::string(said.at(name).as_string()); };
        files = {text("config"), text("keyring")};
        wrong_keyring = text("wrong_keyring");
        for (const auto& [name, id] : said.at("pids").as_object()) {
            ids[std::string(name)] = static_cast<pid_t>(id.as_int64());
        }
    }
    ~real_cluster() { process_.end(SIGTERM, 20); }

    [[nodiscard]] bool is_up() const { return !ids.empty(); }
    void signal(const std::string& name, int number) const {
        for (const auto& [each, id] : ids) {
            if (each.starts_with(name)) {
                ::kill(id, number);
                if (number == SIGSTOP) {
                    wait_until_still(id);
                }
            }
        }
    }

    cluster_files files;
    std::string wrong_keyring;
    std::map<std::string, pid_t> ids;

private:
    static std::unique_ptr<real_cluster>& the_one() {
        static std::unique_ptr<real_cluster> one;
        return one;
    }
    scratch_folder folder_;
    child_process process_;
};

// Ended before main() is left, and not by the order of destructors.
class cluster_environment : public testing::Environment {
public:
    void TearDown() override { real_cluster::end(); }
};
[[maybe_unused]] const auto* const environment = testing::AddGlobalTestEnvironment(new cluster_environment);

// tests/contract/ceph/client/rbd_writer.cpp
class real_client final : public image_client {
public:
    real_client(async::timers& clock, const std::string& image)
        : clock_(clock),
          process_({PVC_RBD_WRITER, real_cluster::get().files.config, real_cluster::get().files.keyring, image},
                   {.output_file = "", .has_input = true}) {
        EXPECT_EQ(read_line(process_.output(), 10s), "open") << image;
    }
    void begin_writing() override { EXPECT_EQ(::write(process_.input(), "w", 1), 1); }
    awaitable<bool> is_writing() override {
        drain();
        return comes("wrote");
    }
    awaitable<bool> is_kept_out() override { return comes("refused 108"); }
    void kill() override { process_.end(SIGKILL, 5); }

private:
    void drain() {
        std::array<char, 4096> room{};
        while (::read(process_.output(), room.data(), room.size()) > 0) {
        }
        text_.clear();
    }
    awaitable<bool> comes(std::string line) {
        const time_point end = clock_.now() + 10s;
        while (clock_.now() < end) {
            std::array<char, 4096> room{};
            const ssize_t size = ::read(process_.output(), room.data(), room.size());
            if (size > 0) {
                text_.append(room.data(), static_cast<std::size_t>(size));
            }
            if (text_.find(line + "\n") != std::string::npos) {
                co_return true;
            }
            co_await async::sleep_for(clock_, 10ms, "a client of an image");
        }
        co_return false;
    }

    async::timers& clock_;
    child_process process_;
    std::string text_;
};

std::vector<pid_t> own_helpers() {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
        std::ifstream children(entry.path() / "children");
        for (pid_t id = 0; children >> id;) {
            std::ifstream words("/proc/" + std::to_string(id) + "/cmdline");
            std::string program;
            std::getline(words, program, '\0');
            if (program == PVC_CEPH_HELPER) {
                found.push_back(id);
            }
        }
    }
    return found;
}

class real_ceph final : public ceph_bench {
public:
    real_ceph() {
        const auto& files = real_cluster::get().files;
        talk_through(talker_, {PVC_CEPH_HELPER, files.config, files.keyring});
    }
    ~real_ceph() override { resume_all(); }
    async::timers& clock() override { return world_.clock(); }
    void make_image(const std::string& image) override { run_on_real_ceph("rbd", "create --size 16M " + image); }
    std::unique_ptr<image_client> open(const std::string& image) override {
        return std::make_unique<real_client>(clock(), image);
    }
    void pause(part what) override {
        constexpr std::array names{"mon", "mgr", "osd"};
        real_cluster::get().signal(names[static_cast<std::size_t>(what)], SIGSTOP);
    }
    void resume() override { resume_all(); }
    void use_wrong_key() override { settings_.keyring = real_cluster::get().wrong_keyring; }
    void kill_helper() override { signal_helper(SIGKILL); }
    void freeze_helper() override { signal_helper(SIGSTOP); }

private:
    static void resume_all() { real_cluster::get().signal("", SIGCONT); }
    static void signal_helper(int number) {
        const auto all = own_helpers();
        EXPECT_EQ(all.size(), 1U);
        for (const pid_t one : all) {
            ::kill(one, number);
        }
    }
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }

    real_world world_;
    async::posix_process processes_{world_.loop().context(), world_.clock()};
    services::spawned_talker talker_{world_.loop().context(), world_.clock(), processes_};
};

}  // namespace

std::unique_ptr<ceph_bench> make_real_ceph() {
    if (!fs::exists("/usr/bin/ceph-mon") || !real_cluster::get().is_up()) {
        return nullptr;
    }
    return std::make_unique<real_ceph>();
}

std::string run_on_real_ceph(const std::string& program, const std::string& arguments) {
    const auto& files = real_cluster::get().files;
    const std::string line =
        program + " -c " + files.config + " --keyring " + files.keyring + " " + arguments + " 2>&1";
    FILE* out = ::popen(line.c_str(), "r");
    std::string said;
    std::array<char, 4096> room{};
    while (const std::size_t size = std::fread(room.data(), 1, room.size(), out)) {
        said.append(room.data(), size);
    }
    EXPECT_EQ(::pclose(out), 0) << line << "\n" << said;
    return said;
}

}  // namespace pvc::contract
