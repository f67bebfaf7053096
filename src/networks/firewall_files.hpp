// The files that say in nft's words what the kernel was told: `base.nft`, and one for each client network. Loading
// base.nft by hand gives the same table. Specification: networking.md 7.2 (cases 41, 48, 93).
#pragma once

#include "pvcnoded/core/node_context.hpp"
#include "told_remarks.hpp"

#include <map>
#include <string>

namespace pvc::networks {

class firewall_files {
public:
    // Both outlive it.
    firewall_files(core::node_context& node, told_remarks& remarks);

    // `texts`: by the path below the folder ("base.nft", "networks/1001.nft"), all that there shall be. Writes those
    // that are not so and, if that is all of them, removes files of networks that are gone. What fails is told, and
    // tried again with the next call. True: all is as it shall be.
    async::awaitable<bool> keep(std::map<std::string, std::string> texts, bool is_all);

    [[nodiscard]] const std::string& folder() const { return folder_; }

private:
    async::awaitable<bool> make_folders();
    async::awaitable<bool> write(const std::string& name, const std::string& text);
    async::awaitable<bool> remove_others(const std::map<std::string, std::string>& texts);
    void failed(const failure& why);

    core::node_context& node_;
    told_remarks& remarks_;
    std::string folder_;
    bool has_folders_ = false;
    std::map<std::string, std::string> written_;  // by this daemon, or found so
    std::string trouble_;
};

}  // namespace pvc::networks
