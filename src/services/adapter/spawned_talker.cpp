#include "pvcnoded/services/adapter/spawned_talker.hpp"

#include "adapter/stream_socket.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

namespace pvc::services {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view talker_name = "socket to a program";
constexpr std::size_t last_words_max = 300;

// The end that the program inherits; ours as well until it has ended, so that its end is told by its exit status.
class inherited_end {
public:
    explicit inherited_end(int number) : number_(number) {}
    inherited_end(const inherited_end&) = delete;
    inherited_end& operator=(const inherited_end&) = delete;
    ~inherited_end() { ::close(number_); }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

std::string how_it_ended(const async::process_outcome& outcome) {
    const std::string words = tame_text(trim(outcome.error_output));
    const std::string last = words.size() > last_words_max ? words.substr(words.size() - last_words_max) : words;
    return last.empty() ? outcome.text() : outcome.text() + ": " + last;
}

}  // namespace

async::awaitable<result<std::string>> spawned_talker::run(std::vector<std::string> arguments, conversation talk) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        co_return socket_failure(talker_name, errno);
    }
    const inherited_end theirs(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    socket_connection<stream_connection> ours(context_, clock_, ends[0], talker_name);
    if (!ours.is_watched()) {
        co_return socket_failure(talker_name, ENOMEM);
    }
    async::command what{.arguments = std::move(arguments)};
    what.socket = theirs.number();
    constexpr auto for_ever = std::chrono::hours(24 * 365);
    std::optional<result<async::process_outcome>> outcome;
    co_await async::with_task_group("program", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("process", [&]() -> async::awaitable<void> {
            outcome.emplace(co_await processes_.run(std::move(what), {.time = for_ever, .grace = 0ms}));
            group.cancel();
        });
        co_await talk(ours);
        group.cancel();
    });
    if (!outcome) {
        co_return std::string("killed");
    }
    if (!*outcome) {
        co_return outcome->error();
    }
    co_return how_it_ended(**outcome);
}

}  // namespace pvc::services
