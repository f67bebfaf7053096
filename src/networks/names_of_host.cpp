#include "pvcnoded/networks/names_of_host.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/ifupdown.hpp"
#include "pvcnoded/policy/networks/ini_links.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::networks {

namespace {

constexpr std::string_view folder_of_ifupdown = "/etc/network";
constexpr std::string_view first_file = "/etc/network/interfaces";
constexpr std::size_t most_files = 4096;
constexpr std::size_t most_folders = 1024;                 // that are listed
constexpr std::size_t most_bytes = 1U << 20U;              // of a file
constexpr std::string_view masked = "not a regular file";  // a link to /dev/null: nothing is to be read here
constexpr std::size_t most_told = 3;                       // parts that could not be read
const std::string kept_folder = "/var/lib/pvc";            // outlives a boot (README ruling 36)
const std::string kept_path = kept_folder + "/names-of-host";
constexpr std::uint32_t kept_mode = 0700;
constexpr std::size_t most_kept = 8U << 20U;

bool is_file_of_networkd(std::string_view name) {
    return policy::is_netdev_file(name) || policy::is_network_file(name);
}

policy::names_in_file names_of_networkd(std::string_view name, std::string_view text) {
    return policy::is_netdev_file(name) ? policy::parse_netdev(text) : policy::parse_network_file(text);
}

policy::names_in_file names_of_manager(std::string_view /*name*/, std::string_view text) {
    return policy::parse_keyfile(text);
}

// Files of its first folder hide those of the same name in the second, where netplan writes, and both those of the
// third, which come with packages ("": none of those is heeded).
struct program_of_host {
    std::string_view of_disk;
    std::string_view of_memory;
    std::string_view of_packages;
    bool (*is_file)(std::string_view name);
    policy::names_in_file (*names_in)(std::string_view name, std::string_view text);
};
constexpr std::array<program_of_host, 2> programs{
    {{"/etc/systemd/network", "/run/systemd/network", "", is_file_of_networkd, names_of_networkd},
     {"/etc/NetworkManager/system-connections", "/run/NetworkManager/system-connections",
      "/usr/lib/NetworkManager/system-connections", policy::is_keyfile, names_of_manager}}};

std::string absolute(const std::string& path) {
    return path.starts_with('/') ? path : std::string(folder_of_ifupdown) + "/" + path;
}

// What is not there names nothing; what cannot be read may name anything.
bool is_unknown(const failure& why) {
    return why.code() != errc::not_found;
}

bool is_pattern(std::string_view part) {
    return part.find_first_of("*?[") != std::string_view::npos;
}

// Goes on after what cannot be read.
class names_reader {
public:
    explicit names_reader(services::host& host) : host_(host), files_{{std::string(first_file), {}}} {}

    async::awaitable<host_names> read() {
        std::array<const program_of_host*, 3> all{nullptr, &programs[0], &programs[1]};
        co_await async::for_each_bounded("files of the host", all.size(), all, [this](const program_of_host* one) {
            return one == nullptr ? read_ifupdown() : read_program(*one);
        });
        auto unread = join(unread_, "; ");
        if (told_.size() > unread_.size()) {
            unread += fmt::format("; and {} more", told_.size() - unread_.size());
        }
        co_return host_names{std::move(names_), std::move(unread), has_hung_};
    }

private:
    struct sourced_file {
        std::string path;
        std::string by;  // "/etc/network/interfaces:3"; "": the first one
    };

    async::awaitable<void> read_ifupdown() {
        for (std::size_t at = 0; at < files_.size() && !is_over_; ++at) {
            const auto file = files_[at];
            if (!read_.insert(file.path).second) {
                continue;  // a file may source itself
            }
            if (read_.size() > most_files) {
                stop_at(fmt::format("more than {} files", most_files), "");
                break;
            }
            co_await read_file(file);
        }
    }

    async::awaitable<void> read_file(sourced_file file) {
        const auto text = co_await host_.read_disk_file(file.path, most_bytes);
        if (!text && text.error().code() == errc::io && !file.by.empty() && (co_await has_files(file.path))) {
            // A folder that a pattern fits.
            co_return co_await add_files_of(file.path, file.by);
        }
        if (!text) {
            co_return note_failed(text.error(), file.by);
        }
        const auto found = policy::parse_ifupdown(*text);
        names_.add(found);
        for (const auto& one : found.sources) {
            const auto by = fmt::format("{}:{}", file.path, one.line);
            for (auto& path : co_await paths_of(one.path, by)) {
                files_.push_back({std::move(path), by});
            }
        }
        for (const auto& one : found.folders) {
            const auto by = fmt::format("{}:{}", file.path, one.line);
            for (const auto& folder : co_await paths_of(one.path, by)) {
                co_await add_files_of(folder, by);
            }
        }
    }

    // In the words of who reads it. What is not there names nothing. A disk that hangs is asked for nothing more.
    void note_failed(const failure& why, const std::string& by) {
        if (is_unknown(why)) {
            has_hung_ = has_hung_ || why.code() == errc::timed_out || why.code() == errc::unavailable;
            is_over_ = is_over_ || has_hung_;
            note_unread(why, by);
        }
    }
    // More than a host has: nothing more is read.
    void stop_at(std::string what, const std::string& by) {
        is_over_ = true;
        note_unread(failure(errc::unavailable, std::move(what)), by);
    }
    void note_unread(const failure& why, const std::string& by) {
        auto text = (by.empty() ? why : failure(why).during(fmt::format("what {} sources", by))).text();
        if (!told_.insert(text).second) {
            return;
        }
        if (unread_.size() < most_told) {
            unread_.push_back(std::move(text));
        }
    }

    async::awaitable<bool> has_files(std::string folder) {
        co_return (co_await host_.list_disk_files(std::move(folder))).has_value();
    }

    // Names of what is in a folder; empty: it is not there, or cannot be read.
    async::awaitable<std::vector<std::string>> list(std::string folder, std::string by) {
        if (is_over_) {
            co_return std::vector<std::string>();
        }
        if (++listed_ > most_folders) {
            stop_at(fmt::format("more than {} folders", most_folders), by);
            co_return std::vector<std::string>();
        }
        auto there = co_await host_.list_disk_files(std::move(folder));
        if (!there) {
            note_failed(there.error(), by);
        }
        co_return there ? *std::move(there) : std::vector<std::string>();
    }

    async::awaitable<void> add_files_of(std::string folder, std::string by) {
        for (const auto& name : co_await list(folder, by)) {
            if (policy::is_ifupdown_name(name)) {
                files_.push_back({fmt::format("{}/{}", folder, name), by});
            }
        }
    }

    // What is there of a pattern, part by part; of a path without one only this, there or not.
    async::awaitable<std::vector<std::string>> paths_of(std::string path, std::string by) {
        std::vector<std::string> found{""};
        if (policy::is_for_shell(path)) {
            note_unread(failure(errc::unavailable, shown(path), "a path for a shell is not followed"), by);
            co_return std::vector<std::string>();
        }
        path = absolute(path);
        for (const auto part : split(std::string_view(path).substr(1), '/')) {
            std::vector<std::string> next;
            for (const auto& folder : found) {
                if (!is_pattern(part)) {
                    next.push_back(fmt::format("{}/{}", folder, part));
                    continue;
                }
                if (is_planted(defect::folder_patterns_unread) || is_over_) {
                    continue;
                }
                for (const auto& name : co_await list(folder.empty() ? "/" : folder, by)) {
                    if (::fnmatch(std::string(part).c_str(), name.c_str(), FNM_PERIOD) == 0) {
                        next.push_back(fmt::format("{}/{}", folder, name));
                    }
                }
                if (next.size() > most_files) {
                    stop_at(fmt::format("more than {} files", most_files), by);
                }
            }
            found = std::move(next);
        }
        co_return found;
    }

    // What a file of a folder before hides names nothing. A slow disk is asked for both of its folders at once.
    async::awaitable<void> read_program(const program_of_host& program) {
        std::array<disk_folder, 2> on_disk{
            {{std::string(program.of_disk), {}}, {std::string(program.of_packages), {}}}};
        co_await async::for_each_bounded("folders of the host", on_disk.size(), on_disk,
                                         [this](disk_folder& one) { return list_into(one); });
        std::set<std::string> there;
        co_await read_folder(program, on_disk[0], there);
        auto names = host_.list_files(std::string(program.of_memory));
        if (!names) {
            note_failed(names.error(), "");
        }
        for (const auto& name : names ? *names : std::vector<std::string>()) {
            if (!is_over_ && program.is_file(name) && there.insert(name).second) {
                add_file(program, name, host_.read_file(fmt::format("{}/{}", program.of_memory, name)));
            }
        }
        co_await read_folder(program, on_disk[1], there);
    }
    struct disk_folder {
        std::string path;
        std::vector<std::string> names;
    };
    async::awaitable<void> list_into(disk_folder& one) {
        if (!one.path.empty()) {
            one.names = co_await list(one.path, "");
        }
    }
    async::awaitable<void> read_folder(const program_of_host& program, const disk_folder& folder,
                                       std::set<std::string>& there) {
        for (const auto& name : folder.names) {
            if (!is_over_ && program.is_file(name) && there.insert(name).second) {
                add_file(program, name,
                         co_await host_.read_disk_file(fmt::format("{}/{}", folder.path, name), most_bytes));
            }
        }
    }
    void add_file(const program_of_host& program, const std::string& name, const result<std::string>& text) {
        if (++files_of_programs_ > most_files) {
            stop_at(fmt::format("more than {} files", most_files), "");
        } else if (text) {
            names_.add(program.names_in(name, *text));
        } else if (text.error().cause() != masked) {
            note_failed(text.error(), "");
        }
    }

    services::host& host_;
    policy::named_links names_;
    std::vector<sourced_file> files_;
    std::set<std::string> read_;
    std::size_t listed_ = 0;
    std::size_t files_of_programs_ = 0;
    bool is_over_ = false;
    bool has_hung_ = false;
    std::vector<std::string> unread_;
    std::set<std::string> told_;  // with those that are too many to be said
};

}  // namespace

async::awaitable<host_names> names_of_host(services::host& host) {
    names_reader reader(host);
    co_return co_await reader.read();
}

std::string unread_words(const host_names& names) {
    return fmt::format(
        "a part of what the network configuration of this host names is not known: {}: until it is, a client network "
        "gets its links here unless what is known names them, and nothing that networks left behind before the start "
        "is removed",
        names.unread);
}

async::awaitable<host_names> kept_names(services::host& host) {
    const auto text = co_await host.read_disk_file(kept_path, most_kept);
    host_names out;
    if (text) {
        out.named = policy::parse_names(*text);
        out.unread = policy::names_text(out.named) == *text
                         ? std::string()
                         : failure(errc::invalid, kept_path, "it is not as it was written").text();
    } else if (is_unknown(text.error())) {
        out.unread = text.error().text();
    }
    co_return out;
}

async::awaitable<result<void>> keep_names(services::host& host, const policy::named_links& names) {
    auto text = policy::names_text(names);
    if (text.size() > most_kept) {
        co_return failure(errc::too_large, kept_path);
    }
    const auto before = co_await host.read_disk_file(kept_path, most_kept);
    if (before ? *before == text : text.empty()) {
        co_return result<void>();
    }
    auto made = co_await host.make_directory(kept_folder, kept_mode, "");
    if (!made) {
        co_return made;
    }
    co_return co_await host.replace_file(kept_path, std::move(text));
}

}  // namespace pvc::networks
