// Benches of the console files port. What a suite may ask of one: files(), path(name), and changes of the files as the
// hypervisor and the rotation of logs make them. Names are below one folder that exists; "sub/…" is in one that does
// not exist before make_folder().
#pragma once

#include "contract/process_bench.hpp"
#include "pvcnoded/services/adapter/inotify_console_files.hpp"
#include "sim/hypervisor/sim_console_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <optional>
#include <utility>

namespace pvc::contract {

class real_console : public real_world {
public:
    services::console_files& files() { return *files_; }
    services::inotify_console_files& adapter() { return *files_; }
    void drop_adapter() { files_.reset(); }
    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    const scratch_folder& folder() const { return folder_; }

    void write(const std::string& name, const std::string& text) const { put(name, text, O_TRUNC); }
    void append(const std::string& name, const std::string& text) const { put(name, text, O_APPEND); }
    void truncate(const std::string& name) const { EXPECT_EQ(::truncate(path(name).c_str(), 0), 0); }
    void rename(const std::string& from, const std::string& to) const { std::filesystem::rename(path(from), path(to)); }
    void remove(const std::string& name) const { std::filesystem::remove(path(name)); }
    void make_folder(const std::string& name) const { std::filesystem::create_directory(path(name)); }
    void remove_folder(const std::string& name) const { std::filesystem::remove_all(path(name)); }

private:
    void put(const std::string& name, const std::string& text, int how) const {
        const int file = ::open(path(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
        EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        ::close(file);
    }

    scratch_folder folder_;
    async::thread_offload pool_{loop().context()};
    std::optional<services::inotify_console_files> files_{std::in_place, loop().context(), pool_, clock()};
};

class sim_console : public sim_world {
public:
    services::console_files& files() { return files_; }
    [[nodiscard]] static std::string path(const std::string& name) { return "/console/" + name; }

    void write(const std::string& name, const std::string& text) {
        files_.truncate(path(name));
        files_.append(path(name), text);
    }
    void append(const std::string& name, const std::string& text) { files_.append(path(name), text); }
    void truncate(const std::string& name) { files_.truncate(path(name)); }
    void rename(const std::string& from, const std::string& to) {
        write(to, files_.content(path(from)).value_or(""));
        files_.remove(path(from));
    }
    void remove(const std::string& name) { files_.remove(path(name)); }
    void make_folder(const std::string& /*name*/) {}
    void remove_folder(const std::string& /*name*/) {}

private:
    sim::sim_console_files files_{clock()};
};

// A change is made when nothing is left to be told of the one before, so that only its own news can tell of it.
template <class Bench>
class console_suite : public testing::Test {
protected:
    services::console_files& files() { return bench.files(); }

    awaitable<std::string> end_of(std::string name, std::size_t lines = 1000, std::size_t bytes = 1UL << 20U) {
        auto text = co_await files().read_end(bench.path(name), lines, bytes, bench.clock().now() + 60s);
        EXPECT_TRUE(text) << (text ? "" : text.error().text());
        co_return text ? *text : "?";
    }
    // Late news of an earlier change are no matter but for the strictness of what follows.
    awaitable<void> quiet(async::wakeup& changed) {
        while (co_await changed.wait_until(bench.clock(), bench.clock().now() + 120ms, "silence")) {
        }
    }
    // Waits to be told, then reads, until the file is as expected.
    awaitable<void> expect_told_of(std::string name, std::string expected, async::wakeup& changed) {
        const auto deadline = bench.clock().now() + 20s;
        std::string text = "?";
        bool told = true;
        while (told && text != expected) {
            told = co_await changed.wait_until(bench.clock(), deadline, "a change of the file");
            text = co_await end_of(name);
        }
        EXPECT_TRUE(told) << "not told that " << name << " is now " << expected;
        EXPECT_EQ(text, expected);
        co_await quiet(changed);
    }

    Bench bench;
};

}  // namespace pvc::contract
