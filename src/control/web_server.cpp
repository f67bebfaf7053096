#include "pvcnoded/control/web_server.hpp"

#include <array>
#include <exception>
#include <utility>

namespace pvc::control {

using namespace std::chrono_literals;

namespace {

constexpr duration web_accept_pause = 1s;   // no descriptors left: others have to end first
constexpr duration farewell = 1s;           // for whoever still sends what is not wanted
constexpr std::size_t farewell_reads = 16;  // of so many bytes at most:
constexpr std::size_t web_read_bytes = 2048;

http_answer refusal(int status, std::string_view why) {
    http_answer said;
    said.status = status;
    said.body = std::string(why) + "\n";
    return said;
}

std::string place_text(const ip::address& where, std::uint16_t port) {
    const std::string address = where.to_string();
    return (where.is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace

async::awaitable<void> web_server::run(ip::address where, std::uint16_t port) {
    struct closing {
        std::uint16_t& port;
        ~closing() { port = 0; }
    };
    const closing guard{port_};
    bool is_told = false;
    for (;;) {
        auto listening = sockets_.listen(where, port);
        if (listening) {
            const std::unique_ptr<services::tcp_listener> from = *std::move(listening);
            port_ = from->port();
            log_.info("metrics are at http://" + place_text(where, port_) + "/metrics");
            co_await async::with_task_group("connections",
                                            [&](async::task_group& scope) { return accept_all(*from, scope); });
        } else if (!std::exchange(is_told, true)) {
            const failure why = listening.error();
            log_.warning(message::metrics_listen, "no metrics at " + place_text(where, port) + ": " + why.text() +
                                                      ", going on without them and trying again");
        }
        co_await async::sleep_for(clock_, limits_.pause, "another attempt to listen");
    }
}

async::awaitable<void> web_server::accept_all(services::tcp_listener& from, async::task_group& scope) {
    for (;;) {
        auto accepted = co_await from.accept();
        if (!accepted) {
            co_await async::sleep_for(clock_, web_accept_pause, "free descriptors");
            continue;
        }
        const connection with = *std::move(accepted);
        make_room(with->peer());
        const auto place = readers_.insert(readers_.end(), {with->peer(), clock_.now()});
        scope.spawn("reader of metrics", [this, with, place] { return serve(with, place); });
        co_await async::yield();  // whoever connects without end does not keep the others from their turn
    }
}

// A few programs that connect and say nothing must not keep out whoever reads the metrics, from their address or
// another.
void web_server::make_room(const ip::address& from) {
    reader* slowest = nullptr;
    reader* slowest_there = nullptr;
    std::size_t all = 0;
    std::size_t there = 0;
    const auto is_slower = [](const reader& one, const reader* than) {
        return than == nullptr || std::pair(one.is_answered, one.since) < std::pair(than->is_answered, than->since);
    };
    for (reader& one : readers_) {
        if (one.gives_way) {
            continue;
        }
        ++all;
        slowest = is_slower(one, slowest) ? &one : slowest;
        if (one.from == from) {
            ++there;
            slowest_there = is_slower(one, slowest_there) ? &one : slowest_there;
        }
    }
    reader* const out = there >= limits_.of_one_address ? slowest_there
                        : all >= limits_.connections    ? slowest
                                                        : nullptr;
    if (out != nullptr) {
        out->gives_way = true;
        if (out->scope != nullptr) {
            out->scope->cancel();
        }
    }
}

async::awaitable<void> web_server::serve(connection with, std::list<reader>::iterator place) {
    struct leaving {
        web_server& owner;
        std::list<reader>::iterator place;
        ~leaving() { owner.readers_.erase(place); }
    };
    const leaving guard{*this, place};
    co_await async::with_task_group("requests", [&](async::task_group& scope) -> async::awaitable<void> {
        place->scope = &scope;
        if (!place->gives_way) {
            co_await answer_all(with, *place);
        }
        place->scope = nullptr;
    });
}

async::awaitable<void> web_server::answer_all(connection with, reader& place) {
    std::string pending;
    for (bool is_first = true;; is_first = false) {
        const std::string head = co_await next_head(with, pending, is_first);
        if (head.empty()) {
            co_return;
        }
        place.is_answered = true;
        const bool goes_on = co_await answer(with, head);
        place.is_answered = false;
        place.since = clock_.now();
        if (!goes_on) {
            co_return;
        }
        co_await async::yield();  // many requests at once: everybody else first
    }
}

async::awaitable<std::string> web_server::next_head(connection with, std::string& pending, bool is_first) {
    std::array<char, web_read_bytes> room{};
    bool is_begun = !pending.empty();
    time_point until = clock_.now() + (is_first || is_begun ? limits_.request : limits_.idle);
    for (;;) {
        if (const auto end = http_head_size(pending); end <= http_head_bytes_max) {
            std::string head = pending.substr(0, end);
            pending.erase(0, end);
            co_return head;
        }
        if (pending.size() > http_head_bytes_max) {
            co_await refuse(with, 431, "the head of the request is too long");
            co_return std::string();
        }
        const auto size = co_await with->read(room, until);
        if (!size || *size == 0) {
            if (!size && size.error().code() == errc::timed_out && is_begun) {
                co_await refuse(with, 408, "the request did not come in time");
            }
            co_return std::string();
        }
        if (!std::exchange(is_begun, true) && !is_first) {
            until = clock_.now() + limits_.request;
        }
        pending.append(room.data(), *size);
    }
}

// A socket that is closed with bytes unread takes back what was written: they are read first, for a moment.
async::awaitable<void> web_server::refuse(connection with, int status, std::string_view why) {
    const std::string text = http_text(refusal(status, why), http_request::method::get, false);
    with->write_now(text);
    with->end_writing();
    std::array<char, web_read_bytes> room{};
    const time_point until = clock_.now() + farewell;
    for (std::size_t i = 0; i < farewell_reads; ++i) {
        const auto size = co_await with->read(room, until);
        if (!size || *size == 0) {
            co_return;
        }
    }
}

// Whoever asks must not end the daemon by a mistake in what tells of it.
http_answer web_server::answered(std::string_view path) {
    try {
        return answer_(path);
    } catch (const std::exception& why) {
        log_.error(message::metrics_listen, std::string("a page could not be made: ") + why.what());
        return refusal(500, "this page could not be made; the log says why");
    }
}

async::awaitable<bool> web_server::answer(connection with, std::string_view head) {
    const auto asked = parse_http_head(head);
    if (!asked) {
        co_await refuse(with, 400, "this is no request");
        co_return false;
    }
    if (asked->what == http_request::method::other) {
        co_await refuse(with, 405, "only GET and HEAD");
        co_return false;
    }
    if (asked->has_body) {
        co_await refuse(with, 413, "a request has no body here");
        co_return false;
    }
    const std::string text = http_text(answered(asked->path), asked->what, asked->keeps_alive);
    const auto sent = co_await with->write(text, clock_.now() + limits_.write);
    co_return sent.has_value() && asked->keeps_alive;
}

}  // namespace pvc::control
