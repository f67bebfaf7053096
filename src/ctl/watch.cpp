// The live view: what the daemon says, drawn anew every 2 seconds.
#include "descriptor.hpp"
#include "output.hpp"
#include "pvcnoded/ctl/client.hpp"
#include "pvcnoded/ctl/run.hpp"
#include "pvcnoded/ctl/tables.hpp"
#include "tame.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <optional>

namespace pvc::ctl {

namespace {

constexpr int between_screens = 2000;                       // milliseconds
constexpr std::chrono::milliseconds screen_deadline{2000};  // keys and signals wait for it
constexpr std::size_t rows_unknown = 24;
// The other screen, no cursor, lines that are cut off at the edge; and back.
constexpr std::string_view enter_view = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_view = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// The terminal for as long as the view lives: it comes back as it was, however the view ends.
class terminal {
public:
    terminal() : has_keys_(::tcgetattr(STDIN_FILENO, &before_) == 0) { enter(); }
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;
    ~terminal() { leave(); }

    void enter() const {
        if (has_keys_) {
            termios quiet = before_;
            quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            ::tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
        }
        write(enter_view);
    }
    void leave() const {
        write(leave_view);
        if (has_keys_) {
            ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
        }
    }
    static void write(std::string_view text) {
        put_all(stdout, text);  // a terminal that has gone says so by its signal
    }
    [[nodiscard]] bool has_keys() const { return has_keys_; }
    [[nodiscard]] static std::size_t rows() {
        winsize size{};
        return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : rows_unknown;
    }

private:
    termios before_{};
    bool has_keys_;
};

// Signals as something to read, so that nothing is left half drawn.
class signals {
public:
    signals() {
        sigset_t wanted;
        ::sigemptyset(&wanted);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
            ::sigaddset(&wanted, number);
        }
        ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
        from_ = descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    [[nodiscard]] int number() const { return from_.number(); }
    // 0: there is none.
    [[nodiscard]] int next() const {
        signalfd_siginfo got{};
        return ::read(from_.number(), &got, sizeof got) == sizeof got ? static_cast<int>(got.ssi_signo) : 0;
    }

private:
    descriptor from_;
};

struct page_seen {
    std::string text;
    int status = exit_status::good;
};

page_seen look(const options& given, bool is_coloured) {
    protocol::request what = given.asked;
    what.name = "status";
    what.deadline = std::min(what.deadline, screen_deadline);
    const auto status = ask(given.socket, what);
    if (!status) {
        const auto why = reason_of(status.error(), given.socket);
        return {why.text + '\n', why.status};
    }
    if (status->error) {
        const bool is_forbidden = status->error->what == protocol::problem::refused;
        return {tame(status->error->text) + '\n', is_forbidden ? exit_status::forbidden : exit_status::refused};
    }
    what.name = "vm list";
    const auto machines = ask(given.socket, what);
    // A node without virtual machines refuses: then there is nothing to show of them.
    const bool has_machines = machines && !machines->error;
    return {live_page(status->result, has_machines ? machines->result : boost::json::object(), is_coloured)};
}

// False: it is to end.
bool obey(int signal, const terminal& on) {
    switch (signal) {
        case 0:
        case SIGWINCH: return true;
        case SIGTSTP:
            on.leave();
            ::raise(SIGSTOP);
            on.enter();
            return true;
        default: return false;
    }
}

// Until the next screen is due, or at once when the window changed. False: it is to end.
bool pause(const signals& told, const terminal& on) {
    std::array<pollfd, 2> both{{{told.number(), POLLIN, 0}, {on.has_keys() ? STDIN_FILENO : -1, POLLIN, 0}}};
    ::poll(both.data(), both.size(), between_screens);
    if (both[1].revents != 0) {
        char key = 'q';
        const ssize_t size = ::read(STDIN_FILENO, &key, 1);
        if (size <= 0 || key == 'q') {
            return false;
        }
    }
    return obey(told.next(), on);
}

}  // namespace

int watch(const options& given) {
    if (::isatty(STDOUT_FILENO) != 1) {
        const page_seen seen = look(given, false);
        const bool is_good = seen.status == exit_status::good;
        return put_all(is_good ? stdout : stderr, seen.text) || !is_good ? seen.status : exit_status::refused;
    }
    const signals told;
    const terminal on;
    do {
        const page_seen seen = look(given, true);
        terminal::write(screen_of(seen.text, terminal::rows()));
    } while (pause(told, on));
    return exit_status::good;
}

}  // namespace pvc::ctl
