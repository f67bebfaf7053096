// The nft program, in a network namespace of its own: whether it takes a text, and what it would tell the kernel.
#pragma once

#include <string>
#include <vector>

namespace pvc::contract {

struct nft_answer {
    bool is_accepted = false;
    std::string output;  // what it printed, errors too
};

// `--check` and what it would send, in its words. `text` may be several lines.
[[nodiscard]] nft_answer nft_check(const std::string& text);
// Loads the text and lists the table.
[[nodiscard]] nft_answer nft_load_and_list(const std::string& text);
[[nodiscard]] bool has_nft();

}  // namespace pvc::contract
