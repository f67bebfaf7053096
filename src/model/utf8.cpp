#include "utf8.hpp"

namespace pvc::model {

utf8_character decode_utf8(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80U) {
        return {first, 1, true};
    }
    std::size_t length = 0;
    char32_t code = 0;
    char32_t lowest = 0;
    if ((first & 0xe0U) == 0xc0U) {
        length = 2;
        code = first & 0x1fU;
        lowest = 0x80;
    } else if ((first & 0xf0U) == 0xe0U) {
        length = 3;
        code = first & 0x0fU;
        lowest = 0x800;
    } else if ((first & 0xf8U) == 0xf0U) {
        length = 4;
        code = first & 0x07U;
        lowest = 0x10000;
    } else {
        return {};
    }
    if (text.size() < length) {
        return {};
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) {
            return {};
        }
        code = (code << 6U) | (byte(i) & 0x3fU);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < lowest || surrogate || code > 0x10ffff) {
        return {};
    }
    return {code, length, true};
}

}  // namespace pvc::model
