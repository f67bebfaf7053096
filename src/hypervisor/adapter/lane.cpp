#include "lane.hpp"

#include <algorithm>

namespace pvc::hypervisor {

call_result<std::shared_ptr<link>> lane::get() {
    const std::lock_guard one_at_a_time(opening_);
    auto way_out = std::make_shared<breaker>();
    std::shared_ptr<link> dead;  // closed after the mutex is free
    {
        const std::lock_guard lock(mutex_);
        if (given_up_) {
            return call_failure(call_error::unavailable, "the connection was given up");
        }
        if (link_ && link_->is_alive()) {
            return link_;
        }
        dead.swap(link_);
        is_open_ = false;
        way_out_ = way_out;
    }
    dead.reset();
    auto opened = link::open(wishes_, std::make_shared<link_note>(), way_out);
    const std::lock_guard lock(mutex_);
    if (opened) {
        link_ = *opened;
        is_open_ = true;
    }
    return opened;
}

void lane::give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    if (!is_open_ && way_out_) {
        way_out_->cut();
    }
}

void lane::cut() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    if (way_out_) {
        way_out_->cut();
    }
}

void lane::close() {
    std::shared_ptr<link> last;
    const std::lock_guard one_at_a_time(opening_);
    {
        const std::lock_guard lock(mutex_);
        given_up_ = true;
        last.swap(link_);
    }
}

std::shared_ptr<lane> lanes::enter() {
    const std::lock_guard lock(mutex_);
    const auto first = std::ranges::min_element(lanes_, {}, &used_lane::calls);
    if (first != lanes_.end() && first->calls < calls_of_lane) {
        ++first->calls;
        return first->way;
    }
    lanes_.push_back({std::make_shared<lane>(wishes_), 1});
    if (given_up_) {
        lanes_.back().way->give_up();
    }
    return lanes_.back().way;
}

void lanes::leave(const std::shared_ptr<lane>& way) {
    const std::lock_guard lock(mutex_);
    --std::ranges::find(lanes_, way, &used_lane::way)->calls;
}

std::size_t lanes::size() const {
    const std::lock_guard lock(mutex_);
    return lanes_.size();
}

// And no other from now on.
std::vector<std::shared_ptr<lane>> lanes::give_up_all() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    std::vector<std::shared_ptr<lane>> out;
    for (const auto& one : lanes_) {
        out.push_back(one.way);
    }
    return out;
}

void lanes::give_up() {
    for (const auto& one : give_up_all()) {
        one->give_up();
    }
}

void lanes::cut() {
    for (const auto& one : give_up_all()) {
        one->cut();
    }
}

void lanes::close() {
    for (const auto& one : give_up_all()) {
        one->close();
    }
}

}  // namespace pvc::hypervisor
