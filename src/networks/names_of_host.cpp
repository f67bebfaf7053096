#include "pvcnoded/networks/names_of_host.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::networks {

namespace {

constexpr std::string_view folder_of_ifupdown = "/etc/network";
constexpr std::string_view first_file = "/etc/network/interfaces";
constexpr std::size_t most_files = 4096;
constexpr std::size_t most_folders = 1024;     // that are listed
constexpr std::size_t most_bytes = 1U << 20U;  // of a file

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

class names_reader {
public:
    explicit names_reader(services::host& host) : host_(host), files_{{std::string(first_file), {}}} {}

    async::awaitable<result<policy::named_links>> read() {
        for (std::size_t at = 0; at < files_.size(); ++at) {
            const auto file = files_[at];
            if (!read_.insert(file.path).second) {
                continue;  // a file may source itself
            }
            if (read_.size() > most_files) {
                co_return failure(errc::unavailable, fmt::format("more than {} files", most_files));
            }
            PVC_CO_TRY([[maybe_unused]] const bool is_read, co_await read_file(file));
        }
        co_return std::move(names_);
    }

private:
    struct sourced_file {
        std::string path;
        std::string by;  // "/etc/network/interfaces:3"; "": the first one
    };

    // False: it is not there.
    async::awaitable<result<bool>> read_file(sourced_file file) {
        const auto text = co_await host_.read_disk_file(file.path, most_bytes);
        if (!text && text.error().code() == errc::io && !file.by.empty()) {
            // A folder that a pattern fits.
            const auto listed = co_await add_files_of(file.path, file.by);
            if (listed) {
                co_return true;
            }
        }
        if (!text) {
            co_return is_unknown(text.error()) ? result<bool>(of_source(text.error(), file.by)) : result<bool>(false);
        }
        const auto found = policy::parse_ifupdown(*text);
        names_.add(found);
        for (const auto& one : found.sources) {
            const auto by = fmt::format("{}:{}", file.path, one.line);
            PVC_CO_TRY(auto paths, co_await paths_of(one.path, by));
            for (auto& path : paths) {
                files_.push_back({std::move(path), by});
            }
        }
        for (const auto& one : found.folders) {
            const auto by = fmt::format("{}:{}", file.path, one.line);
            PVC_CO_TRY(const auto folders, co_await paths_of(one.path, by));
            for (const auto& folder : folders) {
                PVC_CO_TRY([[maybe_unused]] const bool is_there, co_await add_files_of(folder, by));
            }
        }
        co_return true;
    }

    // Where and why, in the words of who reads it.
    static failure of_source(const failure& why, const std::string& by) {
        return by.empty() ? why : failure(why).during(fmt::format("what {} sources", by));
    }

    // Names of what is in a folder; empty: it is not there.
    async::awaitable<result<std::vector<std::string>>> list(std::string folder, std::string by) {
        if (++listed_ > most_folders) {
            co_return of_source(failure(errc::unavailable, fmt::format("more than {} folders", most_folders)), by);
        }
        auto there = co_await host_.list_disk_files(std::move(folder));
        if (!there && is_unknown(there.error())) {
            co_return of_source(there.error(), by);
        }
        co_return there ? *std::move(there) : std::vector<std::string>();
    }

    async::awaitable<result<bool>> add_files_of(std::string folder, std::string by) {
        PVC_CO_TRY(const auto names, co_await list(folder, by));
        for (const auto& name : names) {
            if (policy::is_ifupdown_name(name)) {
                files_.push_back({fmt::format("{}/{}", folder, name), by});
            }
        }
        co_return true;
    }

    // What is there of a pattern, part by part; of a path without one only this, there or not.
    async::awaitable<result<std::vector<std::string>>> paths_of(std::string path, std::string by) {
        if (policy::is_for_shell(path)) {
            co_return of_source(failure(errc::unavailable, shown(path), "a path for a shell is not followed"), by);
        }
        path = absolute(path);
        std::vector<std::string> found{""};
        for (const auto part : split(std::string_view(path).substr(1), '/')) {
            std::vector<std::string> next;
            for (const auto& folder : found) {
                if (!is_pattern(part)) {
                    next.push_back(fmt::format("{}/{}", folder, part));
                    continue;
                }
                if (is_planted(defect::folder_patterns_unread)) {
                    continue;
                }
                PVC_CO_TRY(const auto names, co_await list(folder.empty() ? "/" : folder, by));
                for (const auto& name : names) {
                    if (::fnmatch(std::string(part).c_str(), name.c_str(), FNM_PERIOD) == 0) {
                        next.push_back(fmt::format("{}/{}", folder, name));
                    }
                }
                if (next.size() > most_files) {
                    co_return of_source(failure(errc::unavailable, fmt::format("more than {} files", most_files)), by);
                }
            }
            found = std::move(next);
        }
        co_return found;
    }

    services::host& host_;
    policy::named_links names_;
    std::vector<sourced_file> files_;
    std::set<std::string> read_;
    std::size_t listed_ = 0;
};

}  // namespace

async::awaitable<result<policy::named_links>> names_of_host(services::host& host) {
    names_reader reader(host);
    co_return co_await reader.read();
}

}  // namespace pvc::networks
