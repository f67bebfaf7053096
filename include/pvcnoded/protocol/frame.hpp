// Frames on a stream between two processes of ours: a head, which is a JSON object, and a body of any bytes. On the
// wire: the length of the head and that of the body, four bytes each, the most significant one first, then both.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pvc::protocol {

inline constexpr std::size_t frame_head_max = 1024UL * 1024;
inline constexpr std::size_t frame_body_max = 16UL * 1024 * 1024;

struct frame {
    std::string head;
    std::string body;

    friend bool operator==(const frame&, const frame&) = default;
};

// Errors: too_large.
[[nodiscard]] result<std::string> encode(const frame& what);

// Takes frames from bytes that come in pieces of any size. It holds no more than the frame that is coming, and gives
// its room back when a large one was taken.
class frame_reader {
public:
    // Where the next bytes go, never empty; valid until the next call. Not more than the frame that is coming needs, or
    // a small amount when that is not known yet.
    [[nodiscard]] std::span<char> room();
    // So many bytes were put there.
    void filled(std::size_t bytes);
    // The next whole frame; empty: it is not there yet. Errors: too_large (by its lengths: no room was taken for it);
    // the stream cannot be read on.
    [[nodiscard]] result<std::optional<frame>> take();
    // Whether it ended between two frames.
    [[nodiscard]] bool is_between_frames() const;

private:
    std::string buffer_;
    std::size_t used_ = 0;
};

}  // namespace pvc::protocol
