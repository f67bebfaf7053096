#include "pvcnoded/networks/names_of_host.hpp"

#include "pvcnoded/policy/networks/ifupdown.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

namespace pvc::networks {

namespace {

constexpr std::string_view folder_of_ifupdown = "/etc/network";
constexpr std::size_t most_files = 4096;
constexpr std::size_t most_bytes = 1U << 20U;  // of a file

std::string absolute(const std::string& path) {
    return path.starts_with('/') ? path : std::string(folder_of_ifupdown) + "/" + path;
}

// What is not there names nothing; what cannot be read may name anything.
bool is_unknown(const failure& why) {
    return why.code() != errc::not_found;
}

// Files of a folder that are read as well.
struct wanted_files {
    std::string folder;
    std::function<bool(const std::string&)> takes;
};

// What a file sources: those that it names go to `files`, folders to what is returned.
std::vector<wanted_files> sources_of(const policy::ifupdown_file& found, std::vector<std::string>& files) {
    std::vector<wanted_files> folders;
    for (const auto& one : found.sources) {
        const std::string path = absolute(one);
        const auto slash = path.rfind('/');
        std::string pattern = path.substr(slash + 1);
        if (pattern.find_first_of("*?[") == std::string::npos) {
            files.push_back(path);
        } else {
            folders.push_back({path.substr(0, slash), [pattern = std::move(pattern)](const std::string& name) {
                                   return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
                               }});
        }
    }
    for (const auto& one : found.folders) {
        folders.push_back({absolute(one), policy::is_ifupdown_name});
    }
    return folders;
}

}  // namespace

async::awaitable<result<host_names>> names_of_host(services::host& host) {
    host_names names;
    std::vector<std::string> files{std::string(folder_of_ifupdown) + "/interfaces"};
    std::set<std::string> read;
    for (std::size_t at = 0; at < files.size(); ++at) {
        const std::string path = files[at];
        if (!read.insert(path).second) {
            continue;  // a file may source itself
        }
        if (read.size() > most_files) {
            co_return failure(errc::unavailable, fmt::format("more than {} files", most_files));
        }
        const auto text = co_await host.read_disk_file(path, most_bytes);
        if (!text && is_unknown(text.error())) {
            co_return text.error();
        }
        if (!text) {
            continue;
        }
        auto found = policy::parse_ifupdown(*text);
        names.insert(std::make_move_iterator(found.names.begin()), std::make_move_iterator(found.names.end()));
        const auto folders = sources_of(found, files);
        for (const auto& folder : folders) {
            if (folder.folder.find_first_of("*?[") != std::string::npos) {
                co_return failure(errc::unavailable, fmt::format("{} sources folders by a pattern, {}, which is not "
                                                                 "followed",
                                                                 path, folder.folder));
            }
            const auto there = co_await host.list_disk_files(folder.folder);
            if (!there && is_unknown(there.error())) {
                co_return there.error();
            }
            for (const auto& name : there ? *there : std::vector<std::string>()) {
                if (folder.takes(name)) {
                    files.push_back(folder.folder + "/" + name);
                }
            }
        }
    }
    co_return names;
}

}  // namespace pvc::networks
