#include "running_list.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr duration publish_limit = 5s;
constexpr duration publish_again = 500ms;
}  // namespace

void running_list::changed() {
    ++version_;
    work_.notify();
}

void running_list::begin(std::string_view stored, const std::vector<uuid>& active) {
    for (const auto word : split_blanks(stored)) {
        const auto id = parse_uuid(word);
        if (id && std::ranges::find(active, *id) != active.end() && !contains(*id)) {
            all_.push_back(*id);
        }
    }
    for (const auto& id : active) {
        if (!contains(id)) {
            all_.push_back(id);
        }
    }
    begun_ = true;
    changed();
}

bool running_list::contains(const uuid& id) const {
    return std::ranges::find(all_, id) != all_.end();
}

void running_list::set(const uuid& id, bool runs) {
    if (contains(id) == runs || (!runs && is_planted(defect::end_not_listed))) {
        return;
    }
    if (runs) {
        all_.push_back(id);
    } else {
        std::erase(all_, id);
    }
    changed();
}

std::string running_list::text() const {
    std::string words;
    words.reserve(all_.size() * 37);
    for (const auto& id : all_) {
        words += (words.empty() ? "" : " ") + to_text(id);
    }
    return words;
}

async::awaitable<void> running_list::publish(core::session& s) {
    published_.set(0);
    for (;;) {
        if (!begun_ || published_.value() == version_) {
            co_await work_.wait(async::wait_note::work("changes of the running list"));
            continue;
        }
        std::uint64_t version = 0;
        const auto now = [this, &version] {
            version = version_;
            return text();
        };
        auto done = co_await s.record.write(model::node_key::running_domains, now, s.limit(publish_limit));
        if (done) {
            published_.set(version);
        } else {
            co_await async::sleep_for(s.node.clock(), publish_again, "another attempt to write the running list");
        }
    }
}

async::awaitable<bool> running_list::settled(async::timers& clock, time_point deadline) {
    const std::uint64_t wanted = version_;
    async::wakeup seen;
    const async::latest<std::uint64_t>::observer watch(published_, seen);
    while (published_.value() < wanted) {
        const bool notified = co_await seen.wait_until(clock, deadline, "the running list to be written");
        if (!notified && published_.value() < wanted) {
            co_return false;
        }
    }
    co_return true;
}

}  // namespace pvc::domains
