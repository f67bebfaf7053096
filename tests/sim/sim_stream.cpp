#include "sim/sim_stream.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace pvc::sim {

namespace {

// Bytes in one direction.
struct half {
    std::size_t room = 0;
    std::string bytes{};
    bool is_done = false;  // nothing more is written
    bool is_reader_gone = false;
    async::wakeup readable{};
    async::wakeup writable{};
};

class stream_end final : public services::stream_connection {
public:
    stream_end(async::timers& clock, std::shared_ptr<half> in, std::shared_ptr<half> out)
        : clock_(clock), in_(std::move(in)), out_(std::move(out)) {}
    ~stream_end() override {
        finish();
        in_->is_reader_gone = true;
        in_->writable.notify();
    }

    async::awaitable<result<std::size_t>> read(std::span<char> into, time_point deadline) override {
        const auto from = in_;
        while (from->bytes.empty()) {
            if (from->is_done) {
                co_return std::size_t{0};
            }
            const bool is_ready = co_await from->readable.wait_until(clock_, deadline, "the other end of a stream");
            if (!is_ready && from->bytes.empty()) {
                co_return failure(errc::timed_out, "stream");
            }
        }
        const std::size_t size = std::min(into.size(), from->bytes.size());
        std::ranges::copy_n(from->bytes.begin(), static_cast<std::ptrdiff_t>(size), into.begin());
        from->bytes.erase(0, size);
        from->writable.notify();
        co_return size;
    }
    async::awaitable<result<void>> write(std::string_view text, time_point deadline) override {
        const auto to = out_;
        for (;;) {
            if (to->is_reader_gone) {
                co_return failure(errc::io, "stream", "broken pipe");
            }
            text.remove_prefix(put(text));
            if (text.empty()) {
                co_return result<void>();
            }
            const bool is_ready = co_await to->writable.wait_until(clock_, deadline, "room in a stream");
            if (!is_ready) {
                co_return failure(errc::timed_out, "stream");
            }
        }
    }
    void write_now(std::string_view text) override { static_cast<void>(put(text)); }
    void end_writing() override { finish(); }

private:
    std::size_t put(std::string_view text) {
        const std::size_t size = out_->is_reader_gone ? 0 : std::min(text.size(), out_->room - out_->bytes.size());
        out_->bytes.append(text.substr(0, size));
        out_->readable.notify();
        return size;
    }
    void finish() {
        out_->is_done = true;
        out_->readable.notify();
    }

    async::timers& clock_;
    std::shared_ptr<half> in_;
    std::shared_ptr<half> out_;
};

}  // namespace

stream_ends make_stream(async::timers& clock, std::size_t room) {
    const auto there = std::make_shared<half>();
    const auto back = std::make_shared<half>();
    there->room = back->room = room;
    return {std::make_unique<stream_end>(clock, back, there), std::make_unique<stream_end>(clock, there, back)};
}

}  // namespace pvc::sim
