// A simulated machine behind the host port: files, directories, kernel settings, locks, load. It outlives the daemons
// that run on it, as a disk does; a lock ends with its guard.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/services/host.hpp"
#include "sim/sim_disk.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace pvc::sim {

class sim_host final : public services::host {
public:
    static constexpr duration port_limit = std::chrono::seconds(5);
    static constexpr std::size_t file_limit = 64 * 1024;

    struct directory {
        std::uint32_t mode = 0755;
        std::string owner{};
    };
    struct setting {
        std::string key;
        std::string value;
    };

    explicit sim_host(async::timers& clock) : clock_(clock) {
        machine.cpus = 4;
        machine.kernel_release = "6.1.0-13-amd64";
        machine.operating_system = "GNU/Linux";
        machine.machine = "x86_64";
        machine.boot_id = "5f3f2f0c-1111-4222-8333-444455556666";
        machine.pid = 1000;
    }

    // What a test sets and looks at.
    services::machine_facts machine;
    result<std::string> meminfo_text =
        std::string("MemTotal: 16384000 kB\nMemFree: 8192000 kB\nMemAvailable: 12288000 kB\n");
    result<std::string> loadavg_text = std::string("0.10 0.20 0.30 1/200 4711\n");
    sim_disk storage;
    std::map<std::string, std::string>& files = storage.files;
    std::map<std::string, directory> directories{{"/", {}}, {"/run", {}}, {"/var", {}}, {"/var/log", {}}};
    std::vector<setting> settings;                      // every set_sysctl() that was done
    std::map<std::string, failure> broken;              // path or key → what every call on it answers
    std::vector<std::string> missing_settings;          // keys that this kernel does not have
    duration disk_time = std::chrono::milliseconds(1);  // from 5 s on the disk hangs
    bool is_full = false;                               // nothing new can be written
    bool watchdog = true;
    // A killed daemon: nothing that it still does reaches the disk.
    bool cut = false;

    // The power is gone: what was not synced is lost, and the machine's next life is another boot.
    void lose_power() {
        storage.lose_power();
        std::erase_if(directories, [](const auto& one) { return one.first.starts_with("/run/"); });
        machine.boot_id = "boot-" + std::to_string(++boots_);
    }

    [[nodiscard]] services::machine_facts facts() const override { return machine; }
    [[nodiscard]] result<std::string> meminfo() override { return meminfo_text; }
    [[nodiscard]] result<std::string> loadavg() override { return loadavg_text; }

    async::awaitable<result<void>> make_directory(std::string path, std::uint32_t mode, std::string owner) override {
        PVC_CO_TRY([[maybe_unused]] const bool reached, co_await disk(path));
        if (is_full && !directories.contains(path)) {
            co_return failure(errc::io, path, "No space left on device");
        }
        if (files.contains(path)) {
            co_return failure(errc::io, path, "Not a directory");
        }
        for (auto end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
            directories.try_emplace(path.substr(0, end));
        }
        directories.try_emplace(path, directory{mode, std::move(owner)});
        co_return result<void>();
    }
    async::awaitable<result<void>> replace_file(std::string path, std::string text) override {
        // The steps of the real one: a temporary file, synced, then renamed, and the folder synced.
        const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
        const std::string temporary = path + ".new";
        if (!cut && !is_full && directories.contains(folder) && !broken.contains(path)) {
            storage.write(temporary, std::move(text));  // it may be a megabyte
        }
        auto reached = co_await disk(path);
        if (cut) {
            co_return failure(errc::stopped, path);
        }
        if (!directories.contains(folder)) {
            co_return failure(errc::io, path, "No such file or directory");
        }
        if (is_full) {
            co_return failure(errc::io, path, "No space left on device");
        }
        if (!reached) {
            storage.remove(temporary);
            co_return std::move(reached).error();
        }
        storage.rename_and_sync(temporary, path, folder);
        co_return result<void>();
    }
    async::awaitable<result<void>> remove_file(std::string path) override {
        PVC_CO_TRY([[maybe_unused]] const bool reached, co_await disk(path));
        if (cut) {
            co_return failure(errc::stopped, path);
        }
        storage.remove(path);
        co_return result<void>();
    }
    async::awaitable<result<void>> remove_folder(std::string path) override {
        PVC_CO_TRY([[maybe_unused]] const bool reached, co_await disk(path));
        if (files.contains(path)) {
            co_return failure(errc::refused, path, "it is no directory");
        }
        if (!directories.contains(path)) {
            co_return result<void>();
        }
        for (const auto& name : names_in(files, path)) {
            storage.remove(path + '/' + name);
        }
        if (const auto inside = names_in(directories, path); !inside.empty()) {
            co_return failure(errc::refused, path, '"' + inside.front() + "\" in it is no plain file");
        }
        directories.erase(path);
        co_return result<void>();
    }
    async::awaitable<result<void>> can_read(std::string path) override {
        PVC_CO_TRY([[maybe_unused]] const bool reached, co_await disk(path));
        if (files.contains(path)) {
            co_return result<void>();
        }
        const auto below = directories.find(path);
        co_return below == directories.end() ? failure(errc::not_found, path)
                                             : failure(errc::refused, path, "it is no file");
    }
    async::awaitable<result<std::string>> read_disk_file(std::string path, std::size_t most) override {
        PVC_CO_TRY([[maybe_unused]] const bool reached, co_await disk(path));
        const auto found = files.find(path);
        if (found != files.end() && found->second.size() <= most) {
            co_return found->second;
        }
        co_return read_file(path);
    }
    async::awaitable<result<std::vector<std::string>>> list_disk_files(std::string directory) override {
        PVC_CO_TRY([[maybe_unused]] const bool reached, co_await disk(directory));
        if (files.contains(directory)) {
            co_return failure(errc::not_found, directory, "Not a directory");
        }
        std::set<std::string> names;  // also of folders that are there for what is in them
        const std::string below = directory.ends_with('/') ? directory : directory + '/';
        const auto add = [&](const auto& all) {
            for (auto at = all.lower_bound(below); at != all.end() && at->first.starts_with(below); ++at) {
                names.insert(at->first.substr(below.size(), at->first.find('/', below.size()) - below.size()));
            }
        };
        add(files);
        add(directories);
        names.erase("");
        co_return std::vector<std::string>(names.begin(), names.end());
    }
    result<std::vector<std::string>> list_files(std::string directory) override {
        if (const auto fault = broken.find(directory); fault != broken.end()) {
            return fault->second;
        }
        return names_in(files, directory);
    }
    result<std::vector<std::string>> list_folders(std::string directory) override {
        if (const auto fault = broken.find(directory); fault != broken.end()) {
            return fault->second;
        }
        if (!directories.contains(directory)) {
            return failure(errc::not_found, directory);
        }
        return names_in(directories, directory);
    }
    result<std::string> read_file(std::string path) override {
        if (const auto fault = broken.find(path); fault != broken.end()) {
            return fault->second;
        }
        const auto found = files.find(path);
        if (found == files.end()) {
            return failure(errc::not_found, path);
        }
        if (found->second.size() > file_limit) {
            return failure(errc::too_large, path);
        }
        return found->second;
    }
    result<void> set_sysctl(std::string key, std::string value) override {
        if (const auto fault = broken.find(key); fault != broken.end()) {
            return fault->second;
        }
        if (key.empty() || key.find("..") != std::string::npos) {
            return failure(errc::invalid, key);
        }
        if (std::ranges::find(missing_settings, key) != missing_settings.end()) {
            return failure(errc::not_found, key);
        }
        settings.push_back({std::move(key), std::move(value)});
        return {};
    }
    result<std::unique_ptr<services::file_lock>> lock(std::string path) override {
        if (const auto fault = broken.find(path); fault != broken.end()) {
            return fault->second;
        }
        if (const auto held = holders_->find(path); held != holders_->end()) {
            return failure(errc::refused, path, std::to_string(held->second));
        }
        holders_->emplace(path, machine.pid);
        files[path] = std::to_string(machine.pid) + '\n';
        return std::unique_ptr<services::file_lock>(std::make_unique<held_lock>(holders_, path));
    }
    [[nodiscard]] bool has_watchdog() const override { return watchdog; }

private:
    using lock_table = std::map<std::string, int>;
    class held_lock final : public services::file_lock {
    public:
        held_lock(std::shared_ptr<lock_table> table, std::string path)
            : table_(std::move(table)), path_(std::move(path)) {}
        ~held_lock() override { table_->erase(path_); }

    private:
        std::shared_ptr<lock_table> table_;
        std::string path_;
    };

    template <class Value>
    static std::vector<std::string> names_in(const std::map<std::string, Value>& all, const std::string& directory) {
        std::vector<std::string> names;
        for (const auto& [path, is] : all) {
            const auto slash = path.rfind('/');
            if (path.size() > slash + 1 && path.substr(0, slash) == directory) {
                names.push_back(path.substr(slash + 1));
            }
        }
        return names;
    }
    async::awaitable<result<bool>> disk(std::string path) {
        co_await async::sleep_for(clock_, std::min(disk_time, port_limit), "the disk");
        if (cut) {
            co_return failure(errc::stopped, path);
        }
        if (disk_time >= port_limit) {
            co_return failure(errc::timed_out, path);
        }
        if (const auto fault = broken.find(path); fault != broken.end()) {
            co_return fault->second;
        }
        co_return true;
    }

    async::timers& clock_;
    int boots_ = 0;
    std::shared_ptr<lock_table> holders_ = std::make_shared<lock_table>();
};

}  // namespace pvc::sim
