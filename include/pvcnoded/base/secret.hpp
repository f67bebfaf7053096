// A text that must never be printed. It has no operator<< and no fmt formatter, so a log call with one does not compile
// (README ruling 5, style-examples.md 4.5).
#pragma once

#include <string>
#include <utility>

namespace pvc {

class secret {
public:
    secret() = default;
    explicit secret(std::string text) : text_(std::move(text)) {}

    // For the one who hands it over (a ZooKeeper key, the environment of a child). Never for a message.
    [[nodiscard]] const std::string& reveal() const { return text_; }
    [[nodiscard]] bool empty() const { return text_.empty(); }

    friend bool operator==(const secret&, const secret&) = default;

private:
    std::string text_;
};

}  // namespace pvc
