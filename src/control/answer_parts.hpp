// What several answers are made of.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/control/server.hpp"
#include "pvcnoded/core/explainer.hpp"
#include "pvcnoded/protocol/messages.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace pvc::control {

// Whole milliseconds: an age is read by people.
inline double answer_seconds(duration time) {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) / 1000.0;
}

inline protocol::answer refuse(protocol::problem what, std::string text) {
    protocol::answer said;
    said.error.emplace(protocol::refusal{what, std::move(text)});
    return said;
}

// Facts and lists as they are documented.
[[nodiscard]] protocol::answer explained_answer(const core::explanation& what);

// For a line of the log.
inline std::string name_of(const asker& who) {
    return "user " + std::to_string(who.user) + " (process " + std::to_string(who.pid) + ")";
}

}  // namespace pvc::control
