// A change of the table where some of its rules were made by the nft program, and have no tags: only what differs, so
// that all other rules keep their counters; by this daemon itself where it knows the words, else as a text for nft.
// What static files made is never touched: what changes that is a load of all. Pure. Specification:
// networking.md 7.3, 7.4; ruling 35.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"
#include "pvcnoded/policy/networks/filter_plan.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pvc::policy {

// What is known of rules without tags, as nft has just made them.
struct nft_marks {
    std::map<std::uint64_t, model::seen_rule> rules;  // of networks, by handle, with the tags they would have
    // Chains of static files; of those that networks have too the rules of static files, which stand first, and the
    // hook where it is another than they would have (a policy).
    std::vector<model::seen_chain> statics;
    friend bool operator==(const nft_marks&, const nft_marks&) = default;
};

// `made`: behind a load or a change that brought about all of `wanted`, with nobody else between. `static_chains`:
// those that static files make, whoever makes them too. Empty: it is not so.
[[nodiscard]] std::optional<nft_marks> marks_of(const wanted_filter& wanted, const model::filter_state& made,
                                                std::span<const std::string> static_chains);

// Empty: what static files made is not as it was.
[[nodiscard]] std::optional<filter_plan> plan_beside(const wanted_filter& wanted, const model::filter_state& seen,
                                                     const nft_marks& marks);

// Tags of the rules it adds that this daemon has no expressions for.
[[nodiscard]] std::vector<std::string> for_nft(const filter_plan& plan);

// One batch. No rebuild: that is nft_text() with the files.
[[nodiscard]] std::string nft_text(const filter_plan& plan, const wanted_filter& wanted);

}  // namespace pvc::policy
