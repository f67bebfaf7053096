#include "pvcnoded/protocol/frame.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pvc::protocol {

namespace {

constexpr std::size_t lengths_bytes = 8;
// What is read when nothing is known of the frame that comes, and kept when nothing comes.
constexpr std::size_t small_room = 16UL * 1024;

void append_length(std::string& out, std::size_t length) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        out += static_cast<char>((length >> shift) & 0xffU);
    }
}

std::size_t length_at(std::string_view bytes, std::size_t offset) {
    std::size_t length = 0;
    for (const char byte : bytes.substr(offset, 4)) {
        length = length << 8U | static_cast<unsigned char>(byte);
    }
    return length;
}

struct frame_lengths {
    std::size_t head = 0;
    std::size_t body = 0;
    [[nodiscard]] bool are_allowed() const { return head <= frame_head_max && body <= frame_body_max; }
    [[nodiscard]] std::size_t all() const { return lengths_bytes + head + body; }
};

std::optional<frame_lengths> lengths_of(std::string_view bytes) {
    if (bytes.size() < lengths_bytes) {
        return std::nullopt;
    }
    return frame_lengths{length_at(bytes, 0), length_at(bytes, 4)};
}

failure too_long(const frame_lengths& lengths) {
    return failure(errc::too_large, "frame",
                   "a head of " + std::to_string(lengths.head) + " bytes and a body of " +
                       std::to_string(lengths.body) + "; " + std::to_string(frame_head_max) + " and " +
                       std::to_string(frame_body_max) + " are the most");
}

}  // namespace

result<std::string> encode(const frame& what) {
    const frame_lengths lengths{what.head.size(), what.body.size()};
    if (!lengths.are_allowed()) {
        return too_long(lengths);
    }
    std::string out;
    out.reserve(lengths.all());
    append_length(out, lengths.head);
    append_length(out, lengths.body);
    out += what.head;
    out += what.body;
    return out;
}

std::span<char> frame_reader::room() {
    std::size_t more = small_room;
    const auto lengths = lengths_of({buffer_.data(), used_});
    if (lengths && lengths->are_allowed() && lengths->all() > used_) {
        // As much again as has come: who announces much and sends little takes little.
        more = std::min(lengths->all() - used_, std::max(small_room, used_));
    }
    if (buffer_.size() < used_ + more) {
        buffer_.reserve(used_ + more);
        buffer_.resize(used_ + more);
    }
    return {buffer_.data() + used_, more};
}

void frame_reader::filled(std::size_t bytes) {
    const auto lengths = lengths_of({buffer_.data(), used_});
    if (lengths && !lengths->are_allowed()) {
        return;  // nothing is read out of it any more, so nothing is kept
    }
    used_ += std::min(bytes, buffer_.size() - used_);
}

result<std::optional<frame>> frame_reader::take() {
    const auto lengths = lengths_of({buffer_.data(), used_});
    if (lengths && !lengths->are_allowed()) {
        return too_long(*lengths);
    }
    if (!lengths || used_ < lengths->all()) {
        return std::optional<frame>();
    }
    frame out;
    out.head = buffer_.substr(lengths_bytes, lengths->head);
    if (used_ == lengths->all() && lengths->body >= small_room) {
        // Nothing comes after it: the buffer becomes the body, which is large.
        buffer_.resize(used_);
        buffer_.erase(0, lengths_bytes + lengths->head);
        out.body = std::exchange(buffer_, {});
        used_ = 0;
    } else {
        // The buffer stays as large as it is: to fill its room with zeros again would cost more than a frame does.
        out.body = buffer_.substr(lengths_bytes + lengths->head, lengths->body);
        used_ -= lengths->all();
        std::char_traits<char>::move(buffer_.data(), buffer_.data() + lengths->all(), used_);
    }
    if (buffer_.capacity() > 2 * small_room && used_ <= small_room) {
        buffer_.resize(used_);
        buffer_.shrink_to_fit();
    }
    return std::optional(std::move(out));
}

bool frame_reader::is_between_frames() const {
    return used_ == 0;
}

}  // namespace pvc::protocol
