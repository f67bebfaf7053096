#include "pvcnoded/model/json_text.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

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

bool is_unescaped(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

// Of eight at a time: whether all are plain. A byte is marked by its highest bit, perhaps with one above it that is not
// to be.
bool are_plain(std::uint64_t eight) {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    constexpr std::uint64_t highest = 0x80U * ones;
    const auto less = [](std::uint64_t word, std::uint64_t limit) { return (word - limit * ones) & ~word; };
    const auto same = [&](std::uint64_t word, char c) {
        return less(word ^ (static_cast<unsigned char>(c) * ones), 1);
    };
    const std::uint64_t odd = eight | less(eight, ' ') | same(eight, '"') | same(eight, '\\') | same(eight, '\x7f');
    return (odd & highest) == 0;
}

// How much of the text goes out as it is. Names and numbers do, as a rule, and there are thousands of them in a tick.
std::size_t plain_begin(std::string_view text) {
    std::size_t at = 0;
    for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
        std::memcpy(&eight, text.data() + at, sizeof eight);
        if (!are_plain(eight)) {
            break;
        }
    }
    while (at < text.size() && is_unescaped(text[at])) {
        ++at;
    }
    return at;
}

void append_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const auto plain = text.substr(0, plain_begin(text));
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
    constexpr std::size_t of_a_few_members = 200;
    if (members_.empty()) {
        members_.reserve(of_a_few_members);
    } else {
        members_ += ", ";
    }
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
