#include "pvcnoded/policy/networks/filter_copies.hpp"

#include "pvcnoded/model/client_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::policy {

namespace {

constexpr std::string_view blank = " \t\r\n";

// Calls back with each word of the lines that are no comments.
template <class Take>
void for_each_word(std::string_view text, Take take) {
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        line.remove_prefix(std::min(line.size(), line.find_first_not_of(blank)));
        if (line.starts_with('#')) {
            continue;
        }
        while (!line.empty()) {
            const auto word = line.substr(0, line.find_first_of(blank));
            take(word);
            line.remove_prefix(word.size());
            line.remove_prefix(std::min(line.size(), line.find_first_not_of(blank)));
        }
    }
}

// "counter packets 5 bytes 420", "expires 5m3s", "quota 25 mbytes used 7 mbytes".
bool is_before_count(std::string_view word) {
    static constexpr std::array<std::string_view, 4> all{"packets", "bytes", "expires", "used"};
    return std::ranges::find(all, word) != all.end();
}

bool is_chain_of_network(std::string_view name) {
    return std::ranges::any_of(std::array<std::string_view, 2>{"-in", "-out"}, [&](std::string_view end) {
        return name.ends_with(end) && model::vni_of(name.substr(0, name.size() - end.size()), "vxlan").has_value();
    });
}

class mixing {
public:
    void add(std::uint64_t number) {
        for (int byte = 0; byte < 8; ++byte) {
            take(static_cast<unsigned char>(number >> (8 * byte)));
        }
    }
    void add(std::string_view text) {
        add(text.size());
        std::ranges::for_each(text, [this](char one) { take(static_cast<unsigned char>(one)); });
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    // FNV-1a.
    void take(unsigned char one) { value_ = (value_ ^ one) * 0x100000001b3U; }

    std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

std::string name_of_copy(std::size_t number) {
    return number == 0 ? "nftables-before" : fmt::format("nftables-before.{}", number + 1);
}

std::string rules_in_listing(std::string_view text) {
    std::string all;
    bool is_count = false;
    for_each_word(text, [&](std::string_view word) {
        const bool was_count = std::exchange(is_count, is_before_count(word));
        if (!was_count && !is_count) {
            all.append(word).append(" ");
        }
    });
    return all;
}

bool is_listing_of_daemons(std::string_view text) {
    bool is_name = false;
    bool is_any = false;
    for_each_word(text, [&](std::string_view word) {
        is_any = is_any || (std::exchange(is_name, word == "chain") && is_chain_of_network(word));
    });
    return is_any;
}

copy_place place_for(std::string_view listing, std::span<const filter_copy> there) {
    const auto rules = rules_in_listing(listing);
    for (const auto& one : there) {
        if (one.text && rules_in_listing(*one.text) == rules) {
            return {one.name, true};
        }
    }
    for (std::size_t number = 0; number < most_filter_copies; ++number) {
        auto name = name_of_copy(number);
        const auto found = std::ranges::find(there, name, &filter_copy::name);
        if (found == there.end() || (found->text && is_listing_of_daemons(*found->text))) {
            return {std::move(name)};
        }
    }
    return {name_of_copy(most_filter_copies - 1)};
}

std::uint64_t content_of(const model::filter_state& seen) {
    mixing all;
    all.add(seen.flags);
    for (const auto& chain : seen.chains) {
        all.add(chain.name);
        all.add(static_cast<std::uint64_t>(chain.hook));
        all.add(chain.is_base ? 1U : 0U);
        all.add(chain.digest);
        all.add(chain.rules.size());
        for (const auto& rule : chain.rules) {
            all.add(rule.tag);
            all.add(rule.digest);
        }
    }
    return all.value();
}

}  // namespace pvc::policy
