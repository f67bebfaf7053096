#include "pvcnoded/policy/networks/link_rates.hpp"

#include "pvcnoded/model/json_text.hpp"

#include <algorithm>
#include <limits>

namespace pvc::policy {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t bits = 8;
constexpr std::int64_t mega = 1'000'000;

// A counter that was reset counts as one that stood still.
std::int64_t rate(std::uint64_t before, std::uint64_t now, double seconds, std::int64_t times = 1) {
    if (now <= before || seconds <= 0) {
        return 0;
    }
    constexpr double most = 1e18;
    return static_cast<std::int64_t>(
        std::min(most, static_cast<double>(now - before) * static_cast<double>(times) / seconds));
}

}  // namespace

void link_rates::set_hardware(const std::vector<model::hardware_link>& now) {
    std::erase_if(cards_, [&](const auto& one) {
        return std::ranges::find(now, one.first, &model::hardware_link::name) == now.end();
    });
    for (const auto& one : now) {
        const std::int64_t speed =
            std::clamp<std::int64_t>(one.speed.value_or(0), 0, std::numeric_limits<std::int64_t>::max() / mega);
        cards_[one.name].speed = speed * mega;
    }
}

std::vector<std::string> link_rates::names() const {
    std::vector<std::string> all;
    all.reserve(cards_.size());
    for (const auto& [name, one] : cards_) {
        all.push_back(name);
    }
    return all;
}

void link_rates::take(time_point at, const std::vector<model::link_counters>& read) {
    for (auto& [name, one] : cards_) {
        const auto found = std::ranges::find(read, name, &model::link_counters::name);
        const bool is_another =
            found == read.end() || (!one.samples.empty() && one.samples.back().read.index != found->index);
        if (is_another) {
            one.samples.clear();
        }
        if (found != read.end()) {
            one.samples.push_back({at, *found});
        }
        if (one.samples.size() > window_ + 1) {
            one.samples.pop_front();
        }
    }
}

std::string link_rates::text(time_point now) const {
    model::json_object all;
    for (const auto& [name, one] : cards_) {
        if (one.samples.size() <= window_ ||
            now - one.samples.back().at > 1s * static_cast<std::int64_t>(window_ + 1)) {
            continue;
        }
        const auto& [first_at, first] = one.samples.front();
        const auto& [last_at, last] = one.samples.back();
        const double seconds = std::chrono::duration<double>(last_at - first_at).count();
        const std::int64_t rx_bps = rate(first.rx_bytes, last.rx_bytes, seconds, bits);
        const std::int64_t tx_bps = rate(first.tx_bytes, last.tx_bytes, seconds, bits);
        const std::int64_t rx_pps = rate(first.rx_packets, last.rx_packets, seconds);
        const std::int64_t tx_pps = rate(first.tx_packets, last.tx_packets, seconds);
        model::json_object of_card;
        of_card.add("rx_bps", rx_bps).add("rx_pps", rx_pps).add("tx_bps", tx_bps).add("tx_pps", tx_pps);
        of_card.add("total_bps", rx_bps + tx_bps).add("total_pps", rx_pps + tx_pps);
        of_card.add("link_speed", one.speed).add("state", last.state);
        all.add_raw(name, of_card.text());
    }
    return all.text();
}

}  // namespace pvc::policy
