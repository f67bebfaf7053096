#include "tame.hpp"

#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/ctl/tables.hpp"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

namespace pvc::ctl {

std::string tame(std::string_view text) {
    const std::string without_controls = tame_text(text);
    std::string out;
    out.reserve(without_controls.size());
    for (std::string_view rest = without_controls; !rest.empty();) {
        const auto character = decode_utf8(rest);
        if (is_direction_mark(character.code)) {
            out += '?';
        } else {
            out += rest.substr(0, character.bytes);
        }
        rest.remove_prefix(character.bytes);
    }
    return out;
}

// Below U+0020 they are escaped already. What is escaped here stands in texts only: nothing else of JSON has such
// characters.
std::string json_text(const boost::json::object& what) {
    const std::string plain = boost::json::serialize(what);
    std::string out;
    out.reserve(plain.size() + 1);
    for (std::string_view rest = plain; !rest.empty();) {
        const auto character = decode_utf8(rest);
        if (character.valid && (is_control(character.code) || is_direction_mark(character.code))) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(character.code));
        } else {
            out += rest.substr(0, character.bytes);
        }
        rest.remove_prefix(character.bytes);
    }
    return out + '\n';
}

}  // namespace pvc::ctl
