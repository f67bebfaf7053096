#include "pvcnoded/model/json_text.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace pvc::model {

namespace {

void append_unit(std::string& out, unsigned unit) {
    static constexpr std::string_view hexadecimal = "0123456789abcdef";
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) {
        out += hexadecimal[(unit >> shift) & 0xfU];
    }
}

void append_escaped(std::string& out, char32_t code) {
    switch (code) {
        case '"': out += "\\\""; return;
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        case '\b': out += "\\b"; return;
        case '\f': out += "\\f"; return;
        default: break;
    }
    if (code >= 0x20 && code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x10000) {
        append_unit(out, static_cast<unsigned>(code));
    } else {
        const auto rest = static_cast<unsigned>(code - 0x10000);
        append_unit(out, 0xd800U + (rest >> 10U));
        append_unit(out, 0xdc00U + (rest & 0x3ffU));
    }
}

void append_separator(std::string& out) {
    if (!out.empty()) {
        out += ", ";
    }
}

bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

void append_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const auto end = std::ranges::find_if_not(text, is_plain);
        const auto plain = text.substr(0, static_cast<std::size_t>(end - text.begin()));
        out += plain;
        text.remove_prefix(plain.size());
        if (text.empty()) {
            break;
        }
        const auto character = decode_utf8(text);
        append_escaped(out, character.code);
        text.remove_prefix(character.bytes);
    }
    out += '"';
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    append_string(out, text);
    return out;
}

std::string json_number(double value) {
    return std::isfinite(value) ? float_text(value) : "null";
}

void json_object::begin(std::string_view name) {
    append_separator(members_);
    append_string(members_, name);
    members_ += ": ";
}

json_object& json_object::add(std::string_view name, std::string_view text) {
    begin(name);
    append_string(members_, text);
    return *this;
}

json_object& json_object::add(std::string_view name, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return add_raw(name, std::string_view(digits.data(), written.ptr));
}

json_object& json_object::add(std::string_view name, double value) {
    return add_raw(name, json_number(value));
}

json_object& json_object::add_raw(std::string_view name, std::string_view json) {
    begin(name);
    members_ += json;
    return *this;
}

json_array& json_array::add_raw(std::string_view json) {
    append_separator(items_);
    items_ += json;
    return *this;
}

}  // namespace pvc::model
