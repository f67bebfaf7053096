#include "sim/foreign/foreign_lock.hpp"

#include <algorithm>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {
constexpr duration queue_again = 100ms;
}

std::string time_uuid_text(random_source& random) {
    std::string text = make_guid(random);
    text[12] = '1';
    for (const std::size_t at : {8U, 13U, 18U, 23U}) {
        text.insert(at, 1, '-');
    }
    return text;
}

foreign_lock::foreign_lock(foreign_session& session, random_source& random, std::string path, model::lock_kind kind)
    : session_(session),
      path_(std::move(path)),
      kind_(kind),
      prefix_(model::lock_child_prefix(make_guid(random), kind)),
      data_(time_uuid_text(random)) {}

foreign_lock::~foreign_lock() {
    session_.forget(wake_);
}

foreign_lock::standing foreign_lock::look(const std::vector<std::string>& children) const {
    standing now;
    std::vector<model::lock_child> contenders;
    for (const auto& name : children) {
        now.is_listed = now.is_listed || name == own_;
        auto child = model::parse_lock_child(name);
        if (child && model::waits_for(kind_, child->tag)) {
            contenders.push_back(*std::move(child));
        }
    }
    std::ranges::sort(contenders, {}, &model::lock_child::sequence);
    // The library stops at its own child; a reader's own is not among the contenders, so it never stops.
    for (const auto& one : contenders) {
        if (one.name == own_) {
            break;
        }
        now.predecessor = one.name;
    }
    return now;
}

async::awaitable<void> foreign_lock::queue() {
    // The parent's existence is looked at first.
    co_await session_.read(path_);
    while (own_.empty()) {
        auto created = co_await session_.create_child(path_ + "/" + prefix_, data_);
        if (created) {
            own_ = created->substr(path_.size() + 1);
            co_return;
        }
        if (created.error().code() == errc::not_found) {
            const bool is_there = co_await session_.write(path_, "");
            if (is_there) {
                continue;
            }
        }
        // The outcome may be unknown: the child is looked for by its prefix.
        co_await async::sleep_for(session_.clock(), queue_again, "another attempt to queue for a lock");
        const auto children = co_await session_.children(path_);
        const auto found =
            std::ranges::find_if(children, [this](const std::string& name) { return name.starts_with(prefix_); });
        own_ = found == children.end() ? std::string() : *found;
    }
}

async::awaitable<bool> foreign_lock::wait(std::optional<time_point> until) {
    if (!until) {
        co_await wake_.wait(async::wait_note::work("the predecessor of a lock"));
        co_return true;
    }
    co_return co_await wake_.wait_until(session_.clock(), *until, "the predecessor of a lock");
}

async::awaitable<bool> foreign_lock::acquire(std::optional<duration> limit, duration wake) {
    std::optional<time_point> until;
    if (limit) {
        until = session_.clock().now() + *limit;
    }
    const async::latest<std::uint64_t>::observer observer(session_.links(), wake_);
    for (;;) {
        if (own_.empty()) {
            co_await queue();
        }
        const auto children = co_await session_.children(path_);
        const standing now = look(children);
        if (!now.is_listed) {
            own_.clear();  // the session was lost: once more from the start
            continue;
        }
        if (now.predecessor.empty()) {
            co_return true;
        }
        const bool is_there = co_await session_.wake_at_event(path_ + "/" + now.predecessor, wake_);
        if (!is_there) {
            continue;
        }
        const bool woken = co_await wait(until);
        session_.forget(wake_);
        if (!woken) {
            co_await release();
            co_return false;
        }
        if (wake > duration(0)) {
            co_await async::sleep_for(session_.clock(), wake, "the thread that waits for a lock");
        }
    }
}

async::awaitable<void> foreign_lock::release() {
    if (!own_.empty()) {
        co_await session_.remove(path_ + "/" + own_);
        own_.clear();
    }
}

}  // namespace pvc::sim
