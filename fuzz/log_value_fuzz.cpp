// A stored log value, a line to add, and the limits (first two bytes): the caps hold, and the newest line survives.
// Covers: src/model/log_value.cpp src/base/utf8.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/log_value.hpp"

#include <string_view>

using namespace pvc::model;
using pvc::valid_utf8;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::size_t max_lines = data[0];
    const std::size_t max_bytes = data[1];
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    PVC_ASSERT(join_lines(split_lines(text)) == text);
    const auto middle = text.size() / 2;
    const auto value = append_lines(text.substr(0, middle), {std::string(text.substr(middle))}, max_lines, max_bytes);
    PVC_ASSERT(value.size() <= max_bytes);
    PVC_ASSERT(split_lines(value).size() <= max_lines);
    PVC_ASSERT(valid_utf8(valid_utf8(text)) == valid_utf8(text));
    PVC_ASSERT(append_lines(value, {}, max_lines, max_bytes) == value);
    return 0;
}
