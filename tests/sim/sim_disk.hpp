// The disk of a simulated machine: what was written is seen at once (the page cache), and lost with the power unless it
// was synced. `/run` is memory: it is lost in any case.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace pvc::sim {

class sim_disk {
public:
    // What a reader sees now. A test that puts a file here directly has put it on the disk.
    std::map<std::string, std::string> files;

    void write(const std::string& path, std::string text) {
        remember(path);
        files[path] = std::move(text);
    }
    void remove(const std::string& path) {
        remember(path);
        files.erase(path);
    }
    // The content is on the disk; so is the name, as for a file that is synced through its descriptor.
    void sync(const std::string& path) { unsynced_.erase(path); }
    // The new name is on the disk only after sync_folder().
    void rename(const std::string& from, const std::string& to) {
        remember(from);
        remember(to);
        files[to] = std::move(files[from]);
        files.erase(from);
    }
    // Both at once: nobody can lose the power in between.
    void rename_and_sync(const std::string& from, const std::string& to, const std::string& folder) {
        files[to] = std::move(files[from]);
        files.erase(from);
        sync_folder(folder);
    }
    void sync_folder(const std::string& folder) {
        std::erase_if(unsynced_, [&folder](const auto& one) {
            const std::string& path = one.first;
            return path.size() > folder.size() && path[folder.size()] == '/' && path.starts_with(folder) &&
                   path.find('/', folder.size() + 1) == std::string::npos;
        });
    }
    void lose_power() {
        for (auto& [path, before] : unsynced_) {
            if (before) {
                files[path] = std::move(*before);
            } else {
                files.erase(path);
            }
        }
        unsynced_.clear();
        std::erase_if(files, [](const auto& one) { return one.first.starts_with("/run/"); });
    }
    [[nodiscard]] bool is_synced(const std::string& path) const { return !unsynced_.contains(path); }
    [[nodiscard]] std::size_t unsynced() const { return unsynced_.size(); }

private:
    void remember(const std::string& path) {
        if (unsynced_.contains(path)) {
            return;
        }
        const auto now = files.find(path);
        unsynced_.try_emplace(path, now == files.end() ? std::nullopt : std::optional(now->second));
    }

    std::map<std::string, std::optional<std::string>> unsynced_;  // what the disk holds instead
};

}  // namespace pvc::sim
