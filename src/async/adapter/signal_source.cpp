#include "pvcnoded/async/adapter/signal_source.hpp"

#include <algorithm>
#include <csignal>

namespace pvc::async {

void ignore_broken_pipes() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, nullptr);
}

signal_source::signal_source(boost::asio::io_context& context) : signals_(context.get_executor()) {
    ignore_broken_pipes();
    for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1}) {
        signals_.add(signal);
    }
    listen();
}

void signal_source::listen() {
    // A signal's handler may already be queued when this object goes: it then finds nobody.
    signals_.async_wait([this, weak = std::weak_ptr(pending_)](const error_code& code, int signal) {
        const auto mine = weak.lock();
        if (code || !mine) {
            return;
        }
        if (std::ranges::find(mine->arrived, signal) == mine->arrived.end()) {
            mine->arrived.push_back(signal);
        }
        mine->changed.notify();
        listen();
    });
}

awaitable<int> signal_source::next() {
    while (pending_->arrived.empty()) {
        co_await pending_->changed.wait(wait_note::work("signals"));
    }
    const int signal = pending_->arrived.front();
    pending_->arrived.pop_front();
    co_return signal;
}

}  // namespace pvc::async
