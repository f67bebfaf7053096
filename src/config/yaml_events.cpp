#include "yaml_events.hpp"

#include <yaml.h>
#include <algorithm>
#include <vector>

namespace pvc::config {

namespace {
std::string string_of(const yaml_char_t* text) {
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}
}  // namespace

struct yaml_events::state {
    yaml_parser_t parser{};
    yaml_event_t event{};
    std::string_view input;
    bool ready = false;
    bool failed = false;
    // The last quoted text of more than one line: what is missing at its first line is found behind its last.
    std::size_t quoted_from = 0;
    std::size_t quoted_to = 0;
    std::vector<std::size_t> open;  // lines where the collections began that are not closed; 0: without brackets
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
    const auto& event = state_->event;
    if (state_->failed) {
        return false;
    }
    note_collection();
    if (event.type == YAML_SCALAR_EVENT && event.end_mark.line > event.start_mark.line &&
        (event.data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
         event.data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE)) {
        state_->quoted_from = event.start_mark.line + 1;
        state_->quoted_to = event.end_mark.line + 1;
    }
    return true;
}

void yaml_events::note_collection() {
    const auto& event = state_->event;
    const bool is_sequence = event.type == YAML_SEQUENCE_START_EVENT;
    if (is_sequence || event.type == YAML_MAPPING_START_EVENT) {
        const bool is_flow = is_sequence ? event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                                         : event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        state_->open.push_back(is_flow ? event.start_mark.line + 1 : 0);
    } else if ((event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) &&
               !state_->open.empty()) {
        state_->open.pop_back();
    }
}

int yaml_events::line() const {
    if (!state_->failed) {
        return static_cast<int>(state_->event.start_mark.line) + 1;
    }
    if (state_->parser.error == YAML_READER_ERROR) {  // an offset instead of a mark
        const auto before = state_->input.substr(0, state_->parser.problem_offset);
        return static_cast<int>(std::ranges::count(before, '\n')) + 1;
    }
    return static_cast<int>(began_at().value_or(state_->parser.problem_mark.line + 1));
}

std::optional<std::size_t> yaml_events::began_at() const {
    const auto& parser = state_->parser;
    const std::size_t found = parser.problem_mark.line + 1;
    const std::string_view what = parser.context != nullptr ? parser.context : "";
    // Of a mapping or a sequence without brackets its beginning says little: it may be the first line of the file.
    const bool is_scalar = what.find("quoted scalar") != std::string_view::npos;
    if (is_scalar && parser.context_mark.line + 1 < found) {
        return parser.context_mark.line + 1;
    }
    if (!state_->open.empty() && state_->open.back() != 0 && state_->open.back() < found) {
        return state_->open.back();
    }
    if (state_->quoted_to != 0 && (state_->quoted_to == found || state_->quoted_to + 1 == found)) {
        return state_->quoted_from;
    }
    return std::nullopt;
}

std::string yaml_events::problem() const {
    if (state_->parser.problem == nullptr) {
        return "out of memory";
    }
    const bool has_mark = state_->parser.error != YAML_READER_ERROR && began_at().has_value();
    return has_mark ? std::string("what begins here does not end as it should: ") + state_->parser.problem +
                          " at line " + std::to_string(state_->parser.problem_mark.line + 1)
                    : std::string(state_->parser.problem);
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
