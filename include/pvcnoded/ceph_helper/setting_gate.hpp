// A setting of a handle that what is opened takes with it: who wants the value that it has goes in beside others, who
// wants another one waits until they are out, and whoever comes later waits behind him. Any thread.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

namespace pvc::ceph_helper {

class setting_gate {
public:
    enum class outcome : std::uint8_t { in, late };

    // `change` makes the setting what is wanted, if it is not so yet; nobody is inside then. Its error is given back,
    // and nobody is let in.
    struct entry {
        outcome how = outcome::late;
        int error = 0;
    };
    [[nodiscard]] entry enter(std::uint32_t value, time_point until, const std::function<int()>& change);
    void leave();

private:
    std::mutex mutex_;
    std::condition_variable left_;
    std::optional<std::uint32_t> value_;
    std::size_t inside_ = 0;
    std::size_t want_another_ = 0;
};

}  // namespace pvc::ceph_helper
