#include "sim/network/sim_network_stack.hpp"

#include <algorithm>
#include <span>

namespace pvc::sim {

namespace {

failure changes_all_the_time() {
    return failure(errc::unavailable, "the network", "it changed again and again while it was read");
}

}  // namespace

class sim_network_stack::watching final : public netlink::network_watch {
public:
    watching(sim_network_stack& stack, async::wakeup& changed) : stack_(stack), changed_(changed) {
        stack_.watches_.push_back(this);
    }
    ~watching() override { std::erase(stack_.watches_, this); }
    void tell() const { changed_.notify(); }

private:
    sim_network_stack& stack_;
    async::wakeup& changed_;
};

sim_network_stack::sim_network_stack(sim_kernel& machine, async::timers& clock)
    : kernel_calls(clock, duration::zero()), machine_(machine), events_(clock) {
    machine_.changed = [this] { something_changed(); };
}

void sim_network_stack::something_changed() {
    if (event_delay == duration(0)) {
        tell();
    } else if (!events_.armed()) {
        events_.arm(clock().now() + event_delay, [this] { tell(); });
    }
}

void sim_network_stack::lose_events() {
    ++lost_;
    tell();
}

std::uint64_t sim_network_stack::settings_told(int link) const {
    lost_ += watches_.empty() ? 1 : 0;
    const auto found = told_settings_.of_link.find(link);
    const auto of_link = found == told_settings_.of_link.end() ? 0 : found->second;
    constexpr int room = 32;
    return (lost_ << room) + std::max(told_settings_.of_all, of_link);
}

void sim_network_stack::tell() {
    if (told_settings_.last != machine_.told_settings().last) {
        told_settings_ = machine_.told_settings();
    }
    if (!cut) {
        for (const auto* one : watches_) {
            one->tell();
        }
    }
}

void sim_network_stack::end_faults() {
    kernel_calls::end_faults();
    are_looks_interrupted = false;
    dump_parts = 1;
    refuses_in.reset();
    event_delay = duration(0);
}

// The kernel goes on at the place where it stopped, wherever the links are by then: with one that went those behind it
// are a place further in front, and one of them is missed.
async::awaitable<void> sim_network_stack::read_rest(model::network_state& seen) {
    constexpr duration between_parts = std::chrono::microseconds(50);
    const auto by_name = [](std::span<const model::network_link> all) {
        std::vector<model::network_link> links(all.begin(), all.end());
        std::ranges::sort(links, {}, &model::network_link::name);
        return links;
    };
    std::vector<model::network_link> told;
    for (int part = 1; part <= dump_parts; ++part) {
        const auto now = by_name(machine_.state().links());
        const std::size_t end =
            part == dump_parts ? now.size()
                               : now.size() * static_cast<std::size_t>(part) / static_cast<std::size_t>(dump_parts);
        for (std::size_t place = told.size(); place < end; ++place) {
            told.push_back(now[place]);
        }
        co_await async::sleep_for(clock(), between_parts, "the next part of a dump");
    }
    const auto& all = machine_.state();
    seen = {std::move(told),
            {all.addresses().begin(), all.addresses().end()},
            {all.routes().begin(), all.routes().end()},
            {all.link_routes().begin(), all.link_routes().end()},
            {all.connected_routes().begin(), all.connected_routes().end()},
            {all.neighbours().begin(), all.neighbours().end()}};
}

async::awaitable<result<model::network_state>> sim_network_stack::look(time_point deadline) {
    constexpr int attempts = 10;
    constexpr duration first_pause = std::chrono::milliseconds(2);
    struct dump {
        model::network_state seen;
        std::uint64_t generation = 0;
    };
    ++looks;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        auto read = std::make_shared<dump>();
        auto looked = co_await pass("the network", deadline, [this, read]() -> result<void> {
            if (const auto told = fault("look")) {
                return *told;
            }
            if (are_looks_interrupted) {
                return changes_all_the_time();
            }
            *read = {machine_.state(), machine_.generation()};
            return {};
        });
        if (!looked) {
            co_return std::move(looked).error();
        }
        if (dump_parts == 1) {
            co_return std::move(read->seen);
        }
        co_await read_rest(read->seen);
        if (machine_.generation() == read->generation) {
            co_return std::move(read->seen);
        }
        ++torn_dumps;
        co_await async::sleep_for(clock(), first_pause * (1 << attempt), "another dump");
    }
    co_return changes_all_the_time();
}

async::awaitable<result<void>> sim_network_stack::apply(model::network_change change, time_point deadline) {
    return carry_out(std::move(change), 0, deadline);
}

async::awaitable<result<void>> sim_network_stack::remove_link(std::string name, int index, time_point deadline) {
    return carry_out(model::delete_link{std::move(name)}, index, deadline);
}

// `index`: only if the link has that; 0: whatever it has.
async::awaitable<result<void>> sim_network_stack::carry_out(model::network_change change, int index,
                                                            time_point deadline) {
    std::string about = to_text(change);
    calls.push_back(about);
    return pass(about, deadline, [this, about, index, change = std::move(change)]() -> result<void> {
        if (const auto told = fault(about)) {
            return *told;
        }
        if (refuses_in && --*refuses_in <= 0) {
            refuses_in.reset();
            return failure(errc::refused, about, "Operation not permitted");
        }
        const auto* link = machine_.link(model::device_of(change));
        if (index != 0 && (link == nullptr || link->index != index)) {
            return {};
        }
        return machine_.apply(change);
    });
}

result<std::string> sim_network_stack::sysctl(const std::string& key) const {
    ++settings_read_;
    if (const auto told = fault("read " + key)) {
        return *told;
    }
    auto value = machine_.sysctls().read(key);
    if (!value) {
        return failure(errc::not_found, key, "No such file or directory");
    }
    return std::move(*value);
}

std::unique_ptr<netlink::network_watch> sim_network_stack::watch(async::wakeup& changed) {
    return std::make_unique<watching>(*this, changed);
}

}  // namespace pvc::sim
