// Text for a file of the C library, without exceptions: who prints looks at what became of it.
#pragma once

#include <cstdio>
#include <string_view>

namespace pvc::ctl {

// False: it did not arrive (the disk is full, the reader has gone).
inline bool put(std::FILE* to, std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), to) == text.size();
}
inline bool put_all(std::FILE* to, std::string_view text) {
    const bool is_put = put(to, text);
    return std::fflush(to) == 0 && is_put;
}

}  // namespace pvc::ctl
