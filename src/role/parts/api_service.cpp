#include "api_service.hpp"

namespace pvc::role {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view api_unit = "pvcapid.service";
constexpr duration again_after = 30s;
// A node without the unit, or without systemd, is not asked for ever.
constexpr duration disabling_limit = 2min;
constexpr std::string_view another_systemctl = "an earlier systemctl for pvcapid.service";

}  // namespace

// When it is tried next; empty: there is nothing to do.
std::optional<time_point> api_service::next_try() const {
    if (!is_wanted_ || is_so_ || (!*is_wanted_ && tries_ > 0 && again_at_ > wanted_since_ + disabling_limit)) {
        return std::nullopt;
    }
    return again_at_;
}

void api_service::tell(bool was_wanted, const failure& why) const {
    if (tries_ > 1) {
        return;
    }
    node_.log.warning(message::role_api, std::string("cannot ") + (was_wanted ? "enable" : "disable") +
                                             " the API service: " + why.text() + "; tried again every 30 s" +
                                             (was_wanted ? " while this node is primary" : " for two minutes"));
}

async::awaitable<void> api_service::try_once() {
    const bool wanted = is_wanted_.value();
    again_at_ = node_.clock().now() + again_after;
    auto& manager = node_.port.services;
    auto request = wanted ? manager.enable_now(std::string(api_unit)) : manager.disable_now(std::string(api_unit));
    const auto done = co_await std::move(request);
    if (is_wanted_ != wanted) {
        co_return;  // given up meanwhile: that is still to be done
    }
    ++tries_;
    again_at_ = node_.clock().now() + again_after;
    is_so_ = done.has_value();
    if (done) {
        node_.log.info(std::string(wanted ? "enabled " : "disabled ") + std::string(api_unit));
    } else {
        tell(wanted, done.error());
    }
    tried_.notify_all();
}

async::awaitable<void> api_service::take_up() {
    const auto turn = co_await turn_.lock(another_systemctl);
    is_wanted_ = true;
    is_so_ = false;
    tries_ = 0;
    co_await try_once();
    changed_.notify();
}

void api_service::give_up() {
    if (is_wanted_ == false) {
        return;
    }
    is_wanted_ = false;
    is_so_ = false;
    tries_ = 0;
    wanted_since_ = again_at_ = node_.clock().now();
    changed_.notify();
}

async::awaitable<void> api_service::run() {
    for (;;) {
        const auto next = next_try();
        if (!next) {
            co_await changed_.wait(async::wait_note::work("the primary role"));
        } else if (*next > node_.clock().now()) {
            co_await changed_.wait_until(node_.clock(), *next, "another systemctl for pvcapid.service");
        } else {
            const auto turn = co_await turn_.lock(another_systemctl);
            const auto still = next_try();
            if (still && *still <= node_.clock().now()) {
                co_await try_once();
            }
        }
    }
}

async::awaitable<void> api_service::wait_disabled(time_point deadline) {
    const auto is_tried = [this] { return is_wanted_ != false || is_so_ || tries_ > 0; };
    co_await tried_.wait_until(is_tried, node_.clock(), deadline, "pvcapid.service to be disabled");
}

std::string api_service::text() const {
    if (!is_wanted_) {
        return {};
    }
    return std::string(api_unit) + (is_so_ ? " is " : " is not yet ") + (*is_wanted_ ? "enabled" : "disabled");
}

}  // namespace pvc::role
