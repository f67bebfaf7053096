#include "sim/network/sim_network_stack.hpp"

#include <algorithm>

namespace pvc::sim {

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

void sim_network_stack::tell() {
    if (!cut) {
        for (const auto* one : watches_) {
            one->tell();
        }
    }
}

void sim_network_stack::end_faults() {
    kernel_calls::end_faults();
    are_looks_interrupted = false;
    refuses_in.reset();
    event_delay = duration(0);
}

async::awaitable<result<model::network_state>> sim_network_stack::look(time_point deadline) {
    ++looks;
    auto seen = std::make_shared<model::network_state>();
    auto looked = co_await pass("the network", deadline, [this, seen]() -> result<void> {
        if (const auto told = fault("look")) {
            return *told;
        }
        if (are_looks_interrupted) {
            return failure(errc::unavailable, "the network", "it changed again and again while it was read");
        }
        *seen = machine_.state();
        return {};
    });
    if (!looked) {
        co_return std::move(looked).error();
    }
    co_return std::move(*seen);
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
