#include "sim/world/asker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;
using protocol::problem;

constexpr std::array<std::string_view, 9> requests{"status", "tasks", "vm list",     "vm show",  "explain primary",
                                                   "daemon", "ready", "config show", "log level"};
constexpr std::array<std::string_view, 3> pages{"/metrics", "/healthz", "/v1/report"};
// So long after its request whoever does everything right has his answer, if its daemon could give it.
constexpr duration patience = 2s;
constexpr stream_room wide{64UL * 1024, 4UL << 20U};
constexpr std::uint32_t own_group = 990;
constexpr std::uint32_t somebody = 1000;

stream_room room_of(asker::manner how, random_source& random) {
    const bool is_narrow = how == asker::manner::slow || how == asker::manner::web_bad ||
                           (how == asker::manner::follower && random.below(2) == 0);
    return is_narrow ? stream_room{1 + random.below(2000), 1 + random.below(5000)} : wide;
}

services::socket_peer who_asks(asker::manner how, random_source& random) {
    if (how == asker::manner::stranger) {
        return {somebody, {somebody}, 77};
    }
    return random.below(2) == 0 ? services::socket_peer{0, {0}, 78}
                                : services::socket_peer{somebody, {somebody, own_group}, 79};
}

}  // namespace

asker::asker(manner how, std::unique_ptr<sim_client> way, random_source random, const asked_view& seen)
    : how_(how), way_(std::move(way)), random_(random), life_(seen.life) {
    if (is_web()) {
        prepare_web();
    } else {
        prepare_local();
    }
}

std::unique_ptr<asker> asker::come(manner how, sim_local_sockets& local, const std::string& path, sim_tcp_sockets& tcp,
                                   std::uint16_t port, random_source random, const asked_view& seen) {
    const bool is_web = how == manner::web || how == manner::web_bad;
    const stream_room room = room_of(how, random);
    // Who asks properly has an address of its own: two of one address give way to the next.
    const ip::address_v4 from(how == manner::web ? 0x0a000000U + static_cast<std::uint32_t>(random.below(1U << 24U))
                                                 : 0x7f000001U);
    auto way = is_web ? tcp.connect(ip::address_v4::loopback(), port, room, from)
                      : local.connect(path, who_asks(how, random), room);
    return way ? std::make_unique<asker>(how, std::move(way), random, seen) : nullptr;
}

void asker::ask_one(std::string_view name) {
    protocol::request what;
    what.id = ++last_id_;
    what.name = name;
    if (name == "vm show") {
        what.parameters["vm"] = "vm1";
    }
    due_.push_back({what.id, what.name});
    unsent_ += protocol::encode(what);
}

void asker::prepare_local() {
    const auto one_of_them = [this] { return requests[random_.below(requests.size())]; };
    switch (how_) {
        case manner::several:
            for (std::uint64_t i = 0; i < 5; ++i) {
                ask_one(one_of_them());
            }
            break;
        case manner::halves:
            ask_one(one_of_them());
            ask_one(one_of_them());
            sends_ = 1 + random_.below(60);
            if (random_.below(2) == 0) {
                unsent_.resize(unsent_.size() - 1 - random_.below(unsent_.size() / 2));
            }
            break;
        case manner::garbage:
            for (std::uint64_t i = random_.below(300); i > 0; --i) {
                unsent_ += static_cast<char>(random_.below(256));
            }
            unsent_ += random_.below(2) == 0 ? "\n" : "{}\n";
            break;
        case manner::leaver:
            ask_one(one_of_them());
            turns_left_ = random_.below(3);
            reads_ = random_.below(20);
            break;
        case manner::slow:
            for (std::uint64_t i = 0; i < 3; ++i) {
                ask_one(one_of_them());
            }
            reads_ = 1 + random_.below(200);
            turns_left_ = 400;
            break;
        case manner::follower:
            ask_one("log follow");
            reads_ = random_.below(2) == 0 ? 1 + random_.below(500) : reads_;
            turns_left_ = 50 + random_.below(1000);
            break;
        default: ask_one(one_of_them());
    }
}

void asker::prepare_web() {
    const std::string path(pages[random_.below(pages.size())]);
    if (how_ == manner::web) {
        for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) {
            unsent_ += "GET " + path + " HTTP/1.1\r\nHost: here\r\n\r\n";
            due_.push_back({0, path});
        }
        return;
    }
    static constexpr std::array<std::string_view, 6> bad{"POST {} HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde",
                                                         "GET {} HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc",
                                                         "GET {}/nothing HTTP/1.0\r\n\r\n",
                                                         "GET {} HTTP/1.1\r\nX: ",
                                                         "\x16\x03\x01{}\r\n\r\n",
                                                         "HEAD {} HTTP/1.1\r\n\r\nGET {} HTTP/1.1\r\n\r\n"};
    unsent_ = bad[random_.below(bad.size())];
    for (auto at = unsent_.find("{}"); at != std::string::npos; at = unsent_.find("{}")) {
        unsent_.replace(at, 2, path);
    }
    sends_ = 1 + random_.below(100);
    reads_ = 1 + random_.below(500);
    turns_left_ = 5 + random_.below(100);
}

// It does everything right, so it is answered.
bool asker::is_patient() const {
    return how_ == manner::proper || how_ == manner::several || how_ == manner::web;
}

bool asker::turn(const asked_view& seen, counts& told) {
    const std::size_t sent = way_->send(std::string_view(unsent_).substr(0, sends_));
    unsent_.erase(0, sent);
    if (sent > 0) {
        asked_at_ = seen.now;
    }
    got_ += way_->receive(reads_);
    if (is_web()) {
        take_pages(told);
    } else {
        take_lines(told);
    }
    if (way_->is_over()) {
        end(seen, told);
        return false;
    }
    judge_silence(seen);
    if (how_ == manner::proper && due_.empty() && random_.below(2) == 0) {
        ask_one(requests[random_.below(requests.size())]);
    }
    if (how_ == manner::follower && random_.below(200) == 0) {
        unsent_ = "anything";
    }
    turns_left_ -= turns_left_ > 0 ? 1 : 0;
    return turns_left_ > 0 && !broken_;
}

void asker::take_lines(counts& told) {
    for (auto end = got_.find('\n'); end != std::string::npos && !broken_; end = got_.find('\n')) {
        const std::string line = got_.substr(0, end);
        got_.erase(0, end + 1);
        take_line(line, told);
    }
}

void asker::take_line(std::string_view line, counts& told) {
    const auto got = protocol::parse_answer(line);
    if (!got) {
        broken_ = fmt::format("no answer: {} in \"{}\"", got.error().text(), line.substr(0, 200));
        return;
    }
    if (!got->id) {
        take_refusal(*got, told);
        return;
    }
    if (due_.empty() || due_.front().id != *got->id) {
        broken_ = fmt::format("an answer to {}, which nobody waits for", *got->id);
        return;
    }
    const std::string name = due_.front().name;
    if (!got->more) {
        due_.pop_front();
    }
    if (got->error) {
        const problem what = got->error->what;
        if (what != problem::not_found && what != problem::busy) {
            broken_ = fmt::format("\"{}\" is answered with {}: {}", name, protocol::to_text(what), got->error->text);
        }
        ++told[fmt::format("{} {}", name, protocol::to_text(what))];
        return;
    }
    if (got->more != (name == "log follow")) {
        broken_ = fmt::format("\"{}\" goes on", name);
    }
    const auto* records = got->result.if_contains("records");
    ++told[name + (records != nullptr && !records->as_array().empty() ? " told" : " answered")];
}

// The connection ends after it, and whoever does everything right is not told anything but that there are too many.
void asker::take_refusal(const protocol::answer& got, counts& told) {
    is_refused_ = true;
    const problem what = got.error ? got.error->what : problem::defect;
    const bool is_due = what == problem::busy || what == problem::too_late ||
                        (what == problem::refused && how_ == manner::stranger) ||
                        (what == problem::bad_request && how_ == manner::garbage) ||
                        (what == problem::other_version && how_ == manner::garbage);
    if (!is_due) {
        broken_ = fmt::format("refused with {}: {}", protocol::to_text(what), got.error ? got.error->text : "");
    }
    ++told[fmt::format("refused {}", protocol::to_text(what))];
}

void asker::take_pages(counts& told) {
    while (!broken_ && take_page(told)) {
    }
}

// True: one was taken.
bool asker::take_page(counts& told) {
    if (how_ == manner::web_bad && is_refused_) {
        got_.clear();
        return false;
    }
    constexpr std::string_view head_end = "\r\n\r\n";
    constexpr std::string_view length = "Content-Length: ";
    const auto end = got_.find(head_end);
    if (end == std::string::npos) {
        return false;
    }
    const auto at = got_.find(length);
    std::size_t size = 0;
    if (!got_.starts_with("HTTP/1.1 ") || at > end ||
        std::from_chars(got_.data() + at + length.size(), got_.data() + end, size).ec != std::errc()) {
        broken_ = "no page: " + got_.substr(0, 200);
        return false;
    }
    if (got_.size() < end + head_end.size() + size) {
        return false;
    }
    const std::string status = got_.substr(9, 3);
    const std::string body = got_.substr(end + head_end.size(), size);
    got_.erase(0, end + head_end.size() + size);
    ++told["page " + status];
    if (how_ == manner::web_bad) {
        is_refused_ = true;  // it may have asked for a head alone: what follows is not understood
        return true;
    }
    const std::string path = due_.empty() ? "nothing" : due_.front().name;
    const bool is_busy = status == "503" && body.starts_with("too many");
    const bool is_good = status == "200" || (path == "/healthz" && status == "503");
    if (!is_busy && (due_.empty() || !is_good || body.empty())) {
        broken_ = fmt::format("{} is answered with {}: {}", path, status, body.substr(0, 200));
        return false;
    }
    is_refused_ = is_refused_ || is_busy;
    if (!due_.empty()) {
        due_.pop_front();
    }
    return true;
}

void asker::judge_silence(const asked_view& seen) {
    if (is_patient() && !due_.empty() && unsent_.empty() && seen.is_running && seen.life == life_ && !is_refused_ &&
        seen.now > std::max(asked_at_, seen.stood_still) + patience) {
        broken_ = fmt::format("\"{}\" is not answered, asked at {:.6f} s", due_.front().name,
                              std::chrono::duration<double>(asked_at_ - time_point{}).count());
    }
}

// The other side has hung up.
void asker::end(const asked_view& seen, counts& told) {
    const bool is_same_life = seen.is_running && seen.life == life_;
    ++told[is_same_life ? "hung up on" : "ended with the daemon"];
    if (is_patient() && !due_.empty() && is_same_life && !is_refused_ && seen.stood_still < asked_at_) {
        broken_ = fmt::format("\"{}\" is not answered, the connection is closed", due_.front().name);
    }
}

}  // namespace pvc::sim
