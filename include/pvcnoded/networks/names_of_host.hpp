// The links that the host's own network configuration names: /etc/network/interfaces, with what it sources, and the
// files of systemd-networkd and NetworkManager. Specification: README ruling 79.
#pragma once

#include "pvcnoded/policy/networks/named_links.hpp"
#include "pvcnoded/services/host.hpp"

#include <string>

namespace pvc::networks {

struct host_names {
    policy::named_links named;  // by all that could be read
    // What could not, and may name anything: each part with the file and line that asks for it, and why. "": nothing.
    std::string unread{};
    bool has_hung = false;  // among the reasons: the disk, which was asked for nothing more then

    [[nodiscard]] bool is_whole() const { return unread.empty(); }
};

// What is not there, or cannot be understood, names nothing. Patterns are followed in every part of a path, at most
// 4096 files of 1 MiB and 1024 folders in all; what is more than that, or is for a shell, is not read.
async::awaitable<host_names> names_of_host(services::host& host);

// In the words of a warning.
[[nodiscard]] std::string unread_words(const host_names& names);

// What was named when all could be read last, in this boot or before it: while a part cannot be read it still is.
// `unread`: why that is not known, or not all of it.
async::awaitable<host_names> kept_names(services::host& host);
// For whoever comes next.
async::awaitable<result<void>> keep_names(services::host& host, const policy::named_links& names);

}  // namespace pvc::networks
