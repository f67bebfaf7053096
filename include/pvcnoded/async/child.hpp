// A child of a task group with a result: for whoever waits for it and for something else at the same time.
//
//   async::child<T> call(group, "call", [&] { return port.do_it(); }, changed);
//   while (!call.has_ended()) { ... co_await changed.wait(...) ... }
//   use(call.value());
//
// An exception of the body is the group's, as of any child. Loop thread only. Specification: runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/task_group.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace pvc::async {

template <class T>
class child {
public:
    // Begins with the next turn of the loop. `changed` is notified when the value is there; it must outlive the group.
    child(task_group& group, std::string name, std::function<awaitable<T>()> body, wakeup& changed) {
        group.spawn(std::move(name), [into = value_, body = std::move(body), &changed]() -> awaitable<void> {
            T value = co_await body();
            into->emplace(std::move(value));
            changed.notify();
        });
    }

    [[nodiscard]] bool has_ended() const { return value_->has_value(); }
    [[nodiscard]] T& value() { return **value_; }

private:
    std::shared_ptr<std::optional<T>> value_ = std::make_shared<std::optional<T>>();
};

}  // namespace pvc::async
