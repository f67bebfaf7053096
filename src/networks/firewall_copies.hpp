// Keeps what the host had in table `inet filter`, before it is replaced: a file for each table that is another one, as
// `nft list table` prints it, at most eight (policy/networks/filter_copies). What cannot be written for good is in the
// dynamic directory until the next boot, and is tried again. Loop thread only.
#pragma once

#include "nft_loader.hpp"
#include "pvcnoded/core/node_context.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pvc::networks {

class firewall_copies {
public:
    // Both outlive it.
    firewall_copies(core::node_context& node, nft_loader& loader) : node_(node), loader_(loader) {}

    struct outcome {
        bool is_kept = false;  // it is in a file that outlives a boot
        bool is_new = false;   // and was not there before
        std::string where{};   // "is kept in /var/lib/pvc/nftables-before", "could not be kept in …: …"
    };
    // What is in the table now.
    async::awaitable<outcome> keep();
    // What could not be written, once it is time.
    async::awaitable<void> keep_again();

private:
    struct written {
        std::string path;
        bool is_new = false;
    };
    async::awaitable<result<written>> write(std::string listing);
    async::awaitable<std::string> write_for_now(std::size_t number);

    core::node_context& node_;
    nft_loader& loader_;
    std::vector<std::string> unkept_;  // that are nowhere that outlives a boot
    std::optional<time_point> again_;
};

}  // namespace pvc::networks
