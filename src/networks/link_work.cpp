#include "link_work.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration step_limit = 5s;
constexpr duration look_limit = 5s;
constexpr duration shortest_pause = 1s;
constexpr duration longest_pause = 30s;

}  // namespace

void retry_pause::failed(time_point now) {
    pause_ = pause_ == duration::zero() ? shortest_pause : std::min(pause_ * 2, longest_pause);
    until_ = now + pause_;
}

void link_work::name_devices(const model::network_state& seen) {
    indexes_.clear();
    for (const auto& link : seen.links()) {
        indexes_.emplace(link.name, link.index);
    }
    auto names = policy::names_to_resolve(*node_.config, seen);
    if (names != names_) {
        names_ = std::move(names);
        named_ = names_.empty() ? std::nullopt : std::optional(policy::with_own_names(*node_.config, names_));
    }
}

// Between a look and a step somebody may have called another link so: that one stays.
async::awaitable<result<void>> link_work::hand_in(model::network_change step, time_point until) {
    const auto* const gone = std::get_if<model::delete_link>(&step);
    const auto was = gone == nullptr ? indexes_.end() : indexes_.find(gone->name);
    if (was != indexes_.end()) {
        return stack_.remove_link(gone->name, was->second, until);
    }
    std::visit(
        [this](const auto& one) {
            using kind = std::remove_cvref_t<decltype(one)>;
            if constexpr (std::is_same_v<kind, model::make_bridge> || std::is_same_v<kind, model::make_vlan> ||
                          std::is_same_v<kind, model::make_vxlan> || std::is_same_v<kind, model::rename_link>) {
                indexes_.erase(one.name);
            }
        },
        step);
    return stack_.apply(std::move(step), until);
}

async::awaitable<result<void>> link_work::apply(model::network_change step) {
    const time_point until = node_.clock().now() + step_limit;
    const bool is_setting = std::holds_alternative<model::set_sysctl>(step);
    auto done = co_await hand_in(step, until);
    if (!done && is_setting && done.error().code() == errc::not_found) {
        node_.log.debug(model::to_text(step) + ": this kernel does not have it");
        co_return result<void>();
    }
    if (done) {
        ++counts_.changes;
        node_.log.debug(model::to_text(step));
    } else {
        ++counts_.failures;
    }
    co_return done;
}

async::awaitable<result<void>> link_work::carry_out(std::vector<model::network_change> steps,
                                                    std::vector<model::network_change>* left) {
    for (auto at = steps.begin(); at != steps.end(); ++at) {
        const auto& step = *at;
        auto done = co_await apply(step);
        if (!done) {
            if (left != nullptr) {
                left->assign(at, steps.end());
            }
            co_return std::move(done).error().during(model::to_text(step));
        }
    }
    co_return result<void>();
}

async::awaitable<result<void>> link_work::carry_out_or_undo(std::vector<model::network_change> steps,
                                                            const model::network_state& before,
                                                            std::vector<std::string>* settings_left) {
    const auto is_setting = [](const model::network_change& one) {
        return std::holds_alternative<model::set_sysctl>(one);
    };
    const bool are_beside = settings_left != nullptr && !std::ranges::all_of(steps, is_setting);
    std::vector<model::network_change> undo;
    for (const auto& step : steps) {
        auto done = co_await apply(step);
        // One without an answer may come true yet; what is asked later is done later. But whoever uses a device by then
        // loses it with what stands on it, and one that is up harms nobody.
        const bool may_be_done =
            done || (done.error().code() == errc::timed_out && !std::holds_alternative<model::set_up>(step));
        if (may_be_done) {
            if (auto back = policy::undo_of(step, before)) {
                undo.push_back(*std::move(back));
            }
        }
        if (done) {
            continue;
        }
        failure why = std::move(done).error().during(model::to_text(step));
        if (are_beside && is_setting(step) && why.code() != errc::timed_out) {
            settings_left->push_back(why.text());
            continue;
        }
        std::ranges::reverse(undo);
        for (const auto& back : undo) {
            auto undone = co_await apply(back);
            if (!undone) {
                node_.log.warning(message::network_not_undone,
                                  std::move(undone).error().during(model::to_text(back)).text());
            }
        }
        co_return why;
    }
    co_return result<void>();
}

async::awaitable<result<model::network_state>> link_work::look() {
    ++counts_.looks;
    const time_point until = node_.clock().now() + look_limit;
    return stack_.look(until);
}

}  // namespace pvc::networks
