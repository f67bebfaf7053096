// Work on many things, a bounded number of them at once: each worker takes the next when it has done with one, so that
// a slow one holds up nobody else. A scope like any task group: it is left when all have ended, the first exception and
// a cancellation end them all. Failures are values: work that wants the rest left out says so through what it captures.
// Specification: runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/task_group.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace pvc::async {

// `next` gives the next thing to do, as an optional; empty: there is none (for this worker; another may still be at
// work). `work` is called with each and awaited. Both live until the end. `count`: as many as there are to do at the
// most, so that no more workers are made.
template <class Next, class Work>
awaitable<void> drain_bounded(std::string name, std::size_t at_once, std::size_t count, Next next, Work work) {
    const auto worker = [&]() -> awaitable<void> {
        while (auto one = next()) {
            co_await work(*std::move(one));
        }
    };
    co_await with_task_group(std::move(name), [&](task_group& group) -> awaitable<void> {
        for (std::size_t workers = std::min(at_once, count); workers > 0; --workers) {
            group.spawn("worker", worker);
        }
        co_return;
    });
}

// The same for each of `items`, in their order, by reference. They must not move meanwhile.
template <class Items, class Work>
awaitable<void> for_each_bounded(std::string name, std::size_t at_once, Items& items, Work work) {
    auto at = std::begin(items);
    const auto count = static_cast<std::size_t>(std::distance(at, std::end(items)));
    using item = std::remove_reference_t<decltype(*at)>;
    struct pointed {
        item* one;
        explicit operator bool() const { return one != nullptr; }
        item& operator*() const { return *one; }
    };
    const auto next = [&]() -> pointed { return at == std::end(items) ? pointed{nullptr} : pointed{&*at++}; };
    co_await drain_bounded(std::move(name), at_once, count, next, std::move(work));
}

}  // namespace pvc::async
