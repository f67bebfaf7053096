#include "yaml_events.hpp"

#include <yaml.h>
#include <algorithm>
#include <array>

namespace pvc::config {

namespace {
struct utf8_form {
    unsigned char first_low, first_high;    // of the first byte
    unsigned char second_low, second_high;  // of the second
    std::size_t length;
};
// RFC 3629 section 4.
constexpr std::array<utf8_form, 8> utf8_forms{{{0xc2, 0xdf, 0x80, 0xbf, 2},
                                               {0xe0, 0xe0, 0xa0, 0xbf, 3},
                                               {0xe1, 0xec, 0x80, 0xbf, 3},
                                               {0xed, 0xed, 0x80, 0x9f, 3},
                                               {0xee, 0xef, 0x80, 0xbf, 3},
                                               {0xf0, 0xf0, 0x90, 0xbf, 4},
                                               {0xf1, 0xf3, 0x80, 0xbf, 4},
                                               {0xf4, 0xf4, 0x80, 0x8f, 4}}};

// Length of the well-formed character at the start of `text`, which is not empty; 0 if there is none.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) {
        return 1;
    }
    const auto form = std::ranges::find_if(
        utf8_forms, [&](const utf8_form& f) { return byte(0) >= f.first_low && byte(0) <= f.first_high; });
    if (form == utf8_forms.end() || text.size() < form->length || byte(1) < form->second_low ||
        byte(1) > form->second_high) {
        return 0;
    }
    for (std::size_t i = 2; i < form->length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return 0;
        }
    }
    return form->length;
}

std::string string_of(const yaml_char_t* text) {
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}
}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = character_length(text.substr(at));
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return std::nullopt;
}

struct yaml_events::state {
    yaml_parser_t parser{};
    yaml_event_t event{};
    std::string_view input;
    bool ready = false;
    bool failed = false;
};

yaml_events::yaml_events(std::string_view text) : state_(std::make_unique<state>()) {
    state_->input = text.data() == nullptr ? std::string_view("") : text;  // libyaml asserts a pointer
    state_->ready = yaml_parser_initialize(&state_->parser) == 1;
    if (state_->ready) {
        yaml_parser_set_encoding(&state_->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&state_->parser, reinterpret_cast<const unsigned char*>(state_->input.data()),
                                     state_->input.size());
    }
}

yaml_events::~yaml_events() {
    yaml_event_delete(&state_->event);
    if (state_->ready) {
        yaml_parser_delete(&state_->parser);
    }
}

bool yaml_events::next() {
    yaml_event_delete(&state_->event);  // leaves an event of type YAML_NO_EVENT
    state_->failed = !state_->ready || state_->failed || yaml_parser_parse(&state_->parser, &state_->event) == 0;
    return !state_->failed;
}

int yaml_events::line() const {
    if (!state_->failed) {
        return static_cast<int>(state_->event.start_mark.line) + 1;
    }
    if (state_->parser.error == YAML_READER_ERROR) {  // an offset instead of a mark
        const auto before = state_->input.substr(0, state_->parser.problem_offset);
        return static_cast<int>(std::ranges::count(before, '\n')) + 1;
    }
    return static_cast<int>(state_->parser.problem_mark.line) + 1;
}

std::string yaml_events::problem() const {
    return state_->parser.problem == nullptr ? "out of memory" : state_->parser.problem;
}

yaml_event_kind yaml_events::type() const {
    switch (state_->event.type) {
        case YAML_STREAM_START_EVENT: return yaml_event_kind::stream_start;
        case YAML_DOCUMENT_START_EVENT: return yaml_event_kind::document_start;
        case YAML_DOCUMENT_END_EVENT: return yaml_event_kind::document_end;
        case YAML_ALIAS_EVENT: return yaml_event_kind::alias;
        case YAML_SCALAR_EVENT: return yaml_event_kind::scalar;
        case YAML_SEQUENCE_START_EVENT: return yaml_event_kind::sequence_start;
        case YAML_SEQUENCE_END_EVENT: return yaml_event_kind::sequence_end;
        case YAML_MAPPING_START_EVENT: return yaml_event_kind::mapping_start;
        case YAML_MAPPING_END_EVENT: return yaml_event_kind::mapping_end;
        case YAML_NO_EVENT:
        case YAML_STREAM_END_EVENT: break;
    }
    return yaml_event_kind::stream_end;
}

std::string yaml_events::anchor() const {
    switch (state_->event.type) {
        case YAML_ALIAS_EVENT: return string_of(state_->event.data.alias.anchor);
        case YAML_SCALAR_EVENT: return string_of(state_->event.data.scalar.anchor);
        case YAML_SEQUENCE_START_EVENT: return string_of(state_->event.data.sequence_start.anchor);
        case YAML_MAPPING_START_EVENT: return string_of(state_->event.data.mapping_start.anchor);
        default: return {};
    }
}

std::string yaml_events::tag() const {
    switch (state_->event.type) {
        case YAML_SCALAR_EVENT: return string_of(state_->event.data.scalar.tag);
        case YAML_SEQUENCE_START_EVENT: return string_of(state_->event.data.sequence_start.tag);
        case YAML_MAPPING_START_EVENT: return string_of(state_->event.data.mapping_start.tag);
        default: return {};
    }
}

std::string yaml_events::text() const {
    if (state_->event.type != YAML_SCALAR_EVENT) {
        return {};
    }
    const auto& scalar = state_->event.data.scalar;  // may contain NUL
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
}

bool yaml_events::is_plain() const {
    return state_->event.type == YAML_SCALAR_EVENT && state_->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

}  // namespace pvc::config
