#include "link_statistics.hpp"

#include "pvcnoded/model/key_names.hpp"
#include "pvcnoded/model/schema.hpp"

#include <algorithm>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration between_samples = 1s;
constexpr duration sample_limit = 900ms;
constexpr duration card_look_limit = 1s;

std::size_t window_of(const core::node_context& node) {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, node.times.keepalive / between_samples));
}

}  // namespace

link_statistics::link_statistics(core::node_context& node, netlink::link_counters& counters)
    : node_(node), counters_(counters), rates_(window_of(node)), remarks_(node.log) {}

std::span<const std::string_view> link_statistics::figure_keys() const {
    static constexpr std::string_view keys[] = {model::node_key::network_stats};
    return keys;
}

bool link_statistics::is_wanted() const {
    const auto table = model::schema::of(node_.schema_version.value());
    return table && table->path("node.network.stats", node_.self()).has_value();
}

async::awaitable<result<void>> link_statistics::prepare(core::preparation in) {
    in.attempt.spawn("network statistics", [this] { return run(); });
    co_return result<void>();
}

void link_statistics::tell(std::string_view about, const std::string& text) {
    std::vector<policy::network_remark> said;
    if (!text.empty()) {
        said.push_back({message::network_statistics, false, text});
    }
    remarks_.tell(std::string(about), std::move(said));
}

async::awaitable<void> link_statistics::look_for_cards(time_point deadline) {
    if (is_looking_) {
        co_return;
    }
    struct looking {
        bool& is_looking;
        ~looking() { is_looking = false; }
    };
    is_looking_ = true;
    const looking guard{is_looking_};
    auto found = co_await counters_.hardware(deadline);
    // A driver that hangs is asked again when it has answered: until then what was seen last stands.
    tell("cards", found ? std::string()
                        : "which network cards there are, and how fast, cannot be read (" + found.error().text() +
                              "): the network statistics go on with those that were seen last");
    if (found) {
        rates_.set_hardware(*found);
    }
}

async::awaitable<void> link_statistics::run() {
    auto& clock = node_.clock();
    async::wakeup changed;
    const async::latest<int>::observer versions(node_.schema_version, changed);
    time_point due = clock.now();
    bool has_looked = false;
    for (;;) {
        if (!is_wanted()) {
            co_await changed.wait(async::wait_note::work("a schema with network statistics"));
            due = clock.now();
            continue;
        }
        if (!std::exchange(has_looked, true)) {
            co_await look_for_cards(clock.now() + card_look_limit);  // the ticks begin later
        }
        auto read = co_await counters_.count(rates_.names(), clock.now() + sample_limit);
        tell("counters",
             read ? std::string() : "the counters of the network cards cannot be read: " + read.error().text());
        if (read) {
            rates_.take(clock.now(), *read);
        }
        due = std::max(due + between_samples, clock.now());  // after a pause not all that were missed
        co_await async::sleep_until(clock, due, "the next sample");
    }
}

async::awaitable<void> link_statistics::collect(core::session& /*s*/, time_point deadline) {
    if (is_wanted()) {
        co_await look_for_cards(std::min(deadline, node_.clock().now() + card_look_limit));
    }
}

void link_statistics::put(core::figure_sheet& sheet) const {
    if (is_wanted()) {
        sheet.add(model::node_key::network_stats, rates_.text(node_.clock().now()));
    }
}

}  // namespace pvc::networks
