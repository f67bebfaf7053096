// The files that say in nft's words what the kernel was told: `base.nft`, and one for each client network. Loading
// base.nft by hand gives the same table. A task of its own writes them: whatever becomes of the disk, the kernel does
// not wait for it. Specification: networking.md 7.2 (cases 41, 48, 93).
#pragma once

#include "link_work.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "told_remarks.hpp"

#include <map>
#include <memory>
#include <string>

namespace pvc::networks {

class firewall_files {
public:
    // Both outlive it.
    firewall_files(core::node_context& node, told_remarks& remarks);

    // All that there shall be from now on, by the path below the folder ("base.nft", "networks/1001.nft").
    void want(std::map<std::string, std::string> texts);
    // Makes the folders at once; then writes what is not so, and removes files of networks that are gone. What fails is
    // told, and tried again, after 30 s at the longest; what somebody removes comes back as soon. Until cancelled.
    async::awaitable<void> run();

    [[nodiscard]] const std::string& folder() const { return folder_; }

private:
    using all_texts = std::map<std::string, std::string>;

    // True: all is as it shall be.
    async::awaitable<bool> keep(std::shared_ptr<const all_texts> texts);
    async::awaitable<bool> make_folders();
    bool are_own_folders();
    void forget_missing();
    async::awaitable<bool> write(const std::string& name, const std::string& text);
    async::awaitable<bool> remove_others(const all_texts& texts);
    void failed(const failure& why);

    core::node_context& node_;
    told_remarks& remarks_;
    std::string folder_;
    std::shared_ptr<const all_texts> wanted_;  // null: not known yet
    bool has_folders_ = false;
    bool has_no_answer_ = false;                  // the disk hangs: the next file would wait for it as long
    std::map<std::string, std::string> written_;  // by this daemon, or found so
    std::string trouble_;
    retry_pause pause_;
    async::wakeup changed_;
};

}  // namespace pvc::networks
