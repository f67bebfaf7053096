#include "bridge_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t record_bytes_max = 60'000;  // what is longer than 64 KiB cannot be read
constexpr duration note_again = 5s;

}  // namespace

std::string bridge_record::path_of(std::size_t part) const {
    return node_.config->directories.dynamic + "/" + policy::record_name(part);
}

// Told once for as long as it stays the same.
void bridge_record::tell(std::string text) {
    if (text != std::exchange(told_, text) && !text.empty()) {
        node_.log.info(text);
    }
}

void bridge_record::read() {
    for (parts_ = 0; parts_ < policy::record_files_max; ++parts_) {
        const auto path = path_of(parts_);
        const auto text = node_.port.host.read_file(path);
        if (!text && text.error().code() == errc::not_found) {
            break;
        }
        const auto ignored = text ? policy::add_record(known_, bases_, *text, node_.machine.boot_id, &ports_, &further_)
                                  : text.error().text();
        if (!ignored.empty()) {
            is_whole_ = false;
            is_incomplete_ = true;
            tell(text ? fmt::format("{}: {}, ignored", path, ignored) : ignored + ", ignored");
        }
    }
    written_ = known_;
    written_bases_ = bases_;
    written_ports_ = ports_;
    written_further_ = further_;
}

void bridge_record::note_unknown(const model::network_state& seen) {
    if (std::exchange(is_incomplete_, false)) {
        update(known_, policy::with_unknown_bases(bases_, seen));
    }
}

void bridge_record::set_named(const policy::named_links& names, bool is_whole) {
    if (!whose_ && !is_whole) {
        return;  // each bridge may be named
    }
    if (!whose_) {
        whose_ = policy::whose_links{bases_};
    }
    whose_->named = names.names;
}

void bridge_record::update(policy::own_bridges now, policy::own_bases bases) {
    if (now != known_ || bases != bases_ || !is_whole_) {
        known_ = std::move(now);
        bases_ = std::move(bases);
        if (whose_) {
            whose_->bases = bases_;
        }
        changed_.notify();
    }
}

void bridge_record::update_ports(policy::host_ports ports) {
    if (ports != ports_) {
        ports_ = std::move(ports);
        changed_.notify();
    }
}

void bridge_record::update_made(std::set<std::string> made) {
    if (made != further_.made) {
        further_.made = std::move(made);
        changed_.notify();
    }
}

void bridge_record::update_routes(policy::bound_routes routes) {
    if (routes != further_.routes) {
        further_.routes = std::move(routes);
        changed_.notify();
    }
}

bool bridge_record::has_written(const std::string& base) const {
    const auto now = bases_.find(base);
    const auto written = written_bases_.find(base);
    return is_whole_ && now != bases_.end() && written != written_bases_.end() && now->second == written->second;
}

async::awaitable<void> bridge_record::noted_by(time_point until) {
    const auto is_so = [this] { return is_noted(); };
    ignore(co_await written_now_.wait_until(is_so, node_.clock(), until, "the record of client networks' links"),
           "who waits asks");
}

async::awaitable<void> bridge_record::routes_noted_by(time_point until) {
    const auto is_so = [this] { return has_written_routes() || is_noted(); };
    ignore(co_await written_now_.wait_until(is_so, node_.clock(), until, "the record of routes"),
           "the kernel may be asked without it");
}

async::awaitable<void> bridge_record::run() {
    for (;;) {
        if (!is_written() && !is_incomplete_) {
            const auto now = known_;
            const auto bases = bases_;
            const auto ports = ports_;
            const auto further = further_;
            auto texts = policy::record_texts(now, bases, node_.machine.boot_id, record_bytes_max, ports, further);
            is_whole_ = false;
            auto done = co_await write(std::move(texts));
            has_failed_ = !done;
            written_now_.notify_all();
            if (!done && on_noted) {
                on_noted();
            }
            if (!done) {
                tell("which links of client networks are this daemon's own was not noted: " + done.error().text() +
                     ", trying again");
                co_await async::sleep_for(node_.clock(), note_again,
                                          "another try to note the links of client networks");
                continue;
            }
            tell({});
            is_whole_ = true;
            written_ = now;
            written_bases_ = bases;
            written_ports_ = ports;
            written_further_ = further;
            written_now_.notify_all();
            if (on_noted && is_noted()) {  // else more has come meanwhile
                on_noted();
            }
            continue;
        }
        co_await changed_.wait(async::wait_note::work("a change of the bridges of client networks"));
    }
}

async::awaitable<result<void>> bridge_record::write(std::vector<std::string> texts) {
    for (std::size_t part = 0; part < texts.size(); ++part) {
        auto done = co_await node_.port.host.replace_file(path_of(part), std::move(texts[part]));
        if (!done) {
            co_return done;
        }
        parts_ = std::max(parts_, part + 1);
    }
    for (; parts_ > texts.size(); --parts_) {
        auto done = co_await node_.port.host.remove_file(path_of(parts_ - 1));
        if (!done) {
            co_return done;
        }
    }
    co_return result<void>();
}

}  // namespace pvc::networks
