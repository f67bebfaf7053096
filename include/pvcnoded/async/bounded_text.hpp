// A text that grows up to a limit; what exceeds it is dropped and noted. For what a child process prints.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace pvc::async {

class bounded_text {
public:
    explicit bounded_text(std::size_t limit) : limit_(limit) {}

    void add(std::string_view part) {
        const std::size_t room = limit_ - text_.size();
        truncated_ = truncated_ || part.size() > room;
        text_.append(part.substr(0, std::min(part.size(), room)));
    }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::string take() { return std::exchange(text_, {}); }
    [[nodiscard]] bool truncated() const { return truncated_; }

private:
    std::size_t limit_;
    std::string text_;
    bool truncated_ = false;
};

}  // namespace pvc::async
