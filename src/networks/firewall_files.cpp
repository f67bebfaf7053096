#include "firewall_files.hpp"

#include "own_folders.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pvc::networks {

namespace {

constexpr std::string_view of_networks = "networks/";
constexpr std::uint32_t folder_mode = 0755;
constexpr duration between_file_checks = std::chrono::seconds(30);

}  // namespace

firewall_files::firewall_files(core::node_context& node, told_remarks& remarks)
    : node_(node), remarks_(remarks), folder_(node.config->directories.dynamic + "/nft") {}

void firewall_files::want(std::map<std::string, std::string> texts) {
    wanted_ = std::make_shared<const all_texts>(std::move(texts));
    pause_.succeeded();  // what failed were others
    changed_.notify();
}

async::awaitable<void> firewall_files::run() {
    for (;;) {
        if (pause_.is_over(node_.clock().now())) {
            const auto texts = wanted_;
            const bool is_kept = co_await keep(texts);
            if (is_kept) {
                pause_.succeeded();
            } else if (texts == wanted_) {
                pause_.failed(node_.clock().now());
            }
        }
        const time_point next = pause_.until().value_or(node_.clock().now() + between_file_checks);
        co_await changed_.wait_until(node_.clock(), next, "other rules, another try, or a look at the files");
    }
}

void firewall_files::failed(const failure& why) {
    has_no_answer_ = has_no_answer_ || why.code() == errc::timed_out;
    has_folders_ = false;  // somebody may have removed them, with all that was in them
    written_.clear();
    if (trouble_.empty()) {
        trouble_ = "the files of the firewall could not be written: " + why.text();
    }
}

async::awaitable<bool> firewall_files::make_folders() {
    for (const auto* below : {"", "/networks", "/static"}) {
        auto made = co_await node_.port.host.make_directory(folder_ + below, folder_mode, "");
        if (!made) {
            failed(made.error());
            co_return false;
        }
    }
    has_folders_ = true;
    co_return true;
}

// A link in their place leads to what is somebody else's: there nothing is written, and nothing that is too much
// removed.
bool firewall_files::are_own_folders() {
    for (const auto& [parent, name] :
         {std::pair(node_.config->directories.dynamic, "nft"), std::pair(folder_, "networks")}) {
        if (auto may_be = may_be_folder(node_.port.host, parent, name); !may_be) {
            failed(may_be.error());
            return false;
        }
    }
    return true;
}

// What somebody removed is written again.
void firewall_files::forget_missing() {
    std::set<std::string, std::less<>> there;
    for (const std::string_view below : {"", "/networks"}) {
        const auto names = node_.port.host.list_files(folder_ + std::string(below));
        if (!names) {
            written_.clear();
            has_folders_ = false;
            return;
        }
        for (const auto& name : *names) {
            there.insert(below.empty() ? name : std::string(of_networks) + name);
        }
    }
    std::erase_if(written_, [&there](const auto& one) { return !there.contains(one.first); });
}

async::awaitable<bool> firewall_files::write(const std::string& name, const std::string& text) {
    const auto known = written_.find(name);
    if (known != written_.end() && known->second == text) {
        co_return true;
    }
    const std::string path = folder_ + "/" + name;
    const auto there = node_.port.host.read_file(path);
    if (!there || *there != text) {
        auto done = co_await node_.port.host.replace_file(path, text);
        if (!done) {
            written_.erase(name);
            failed(done.error());
            co_return false;
        }
    }
    written_[name] = text;
    co_return true;
}

// Whoever loads base.nft by hand would get their rules.
async::awaitable<bool> firewall_files::remove_others(const all_texts& texts) {
    const auto there = node_.port.host.list_files(folder_ + "/networks");
    if (!there) {
        failed(there.error());
        co_return false;
    }
    bool are_gone = true;
    for (const auto& one : *there) {
        const std::string name = std::string(of_networks) + one;
        if (texts.contains(name) || !one.ends_with(".nft")) {
            continue;
        }
        written_.erase(name);
        auto done = co_await node_.port.host.remove_file(folder_ + "/" + name);
        if (!done) {
            failed(done.error());
            are_gone = false;
        }
        if (has_no_answer_) {
            break;
        }
    }
    co_return are_gone;
}

async::awaitable<bool> firewall_files::keep(std::shared_ptr<const all_texts> texts) {
    trouble_.clear();
    has_no_answer_ = false;
    bool is_done = are_own_folders();
    if (is_done) {
        forget_missing();
    }
    if (is_done && !has_folders_) {
        is_done = co_await make_folders();
    }
    if (is_done && texts) {
        is_done = co_await remove_others(*texts);
        for (const auto& [name, text] : *texts) {
            if (has_no_answer_ || texts != wanted_) {
                is_done = false;
                break;
            }
            const bool is_written = co_await write(name, text);
            is_done = is_done && is_written;
        }
    }
    std::vector<policy::network_remark> said;
    if (!trouble_.empty()) {
        said.push_back({message::network_firewall_files, false, trouble_ + ", trying again"});
    }
    remarks_.tell("files of the firewall", std::move(said));
    co_return is_done;
}

}  // namespace pvc::networks
