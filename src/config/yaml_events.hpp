// libyaml's event interface without C types: the only user of yaml.h is the .cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::config {

enum class yaml_event_kind : std::uint8_t {
    stream_start,
    stream_end,
    document_start,
    document_end,
    alias,
    scalar,
    sequence_start,
    sequence_end,
    mapping_start,
    mapping_end,
};

class yaml_events {
public:
    // `text` is UTF-8 without a mark and outlives this object.
    explicit yaml_events(std::string_view text);
    ~yaml_events();
    yaml_events(const yaml_events&) = delete;
    yaml_events& operator=(const yaml_events&) = delete;

    // Moves on to the next event; false at the first problem, which stays.
    [[nodiscard]] bool next();

    // From 1, of the event's start; of a problem where the construct began that it is in, if that says more.
    [[nodiscard]] int line() const;
    [[nodiscard]] std::string problem() const;  // libyaml's words; they never quote the text

    [[nodiscard]] yaml_event_kind type() const;
    [[nodiscard]] std::string anchor() const;  // also the name in an alias; "" if none
    [[nodiscard]] std::string tag() const;     // "" if none
    [[nodiscard]] std::string text() const;    // of a scalar
    [[nodiscard]] bool is_plain() const;       // a scalar that is neither quoted nor a block

private:
    // The line of the quote or bracket that the problem is about; empty: the problem's own line says it.
    [[nodiscard]] std::optional<std::size_t> began_at() const;
    void note_collection();
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace pvc::config
