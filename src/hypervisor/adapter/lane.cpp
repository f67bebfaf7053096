#include "lane.hpp"

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

}  // namespace pvc::hypervisor
