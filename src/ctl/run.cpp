#include "pvcnoded/ctl/run.hpp"

#include "descriptor.hpp"
#include "output.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/ctl/absence.hpp"
#include "pvcnoded/ctl/client.hpp"
#include "pvcnoded/ctl/program.hpp"
#include "pvcnoded/ctl/tables.hpp"
#include "tame.hpp"

#include <fmt/format.h>
#include <boost/json/array.hpp>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace pvc::ctl {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr int between_questions = 1000;  // milliseconds

int report(const std::string& text, int status) {
    put(stderr, "pvcnodectl: " + text + "\n");
    return status;
}

int report(const no_answer_reason& why) {
    return report(why.text, why.status);
}

int status_of(const protocol::refusal& why) {
    switch (why.what) {
        case protocol::problem::refused: return exit_status::forbidden;
        case protocol::problem::other_version: return exit_status::not_understood;
        case protocol::problem::too_late: return exit_status::no_answer;
        default: return exit_status::refused;
    }
}

int report(const protocol::refusal& why) {
    return report(tame(why.text), status_of(why));
}

bool print(const options& given, std::string_view as, const json::object& what) {
    return put_all(stdout, given.as_json ? json_text(what) : table(as, what, ::isatty(STDOUT_FILENO) == 1));
}

int ask_once(const options& given) {
    const auto answer = ask(given.socket, given.asked);
    if (!answer) {
        const auto why = reason_of(answer.error(), given.socket);
        if (given.asked.name == "status" && why.status == exit_status::no_daemon) {
            print(given, "absent", describe(look_for_traces(given.socket)));
        }
        return report(why);
    }
    if (answer->error) {
        return report(*answer->error);
    }
    return print(given, given.asked.name, answer->result) ? exit_status::good : exit_status::refused;
}

// Until Ctrl-C.
int follow_log(const options& given) {
    std::optional<protocol::refusal> refusal;
    bool is_begun = false;
    bool is_printed = true;
    const auto followed = ask_on(given.socket, given.asked, [&](const protocol::answer& said) {
        refusal = said.error;
        is_begun = true;
        const bool is_coloured = ::isatty(STDOUT_FILENO) == 1;
        is_printed = put_all(stdout, given.as_json ? log_json_lines(said.result) : log_lines(said.result, is_coloured));
        return is_printed;
    });
    if (refusal) {
        return report(*refusal);
    }
    if (!is_printed) {
        return exit_status::refused;
    }
    if (!followed && is_begun && followed.error().code() == errc::io) {
        return report("the daemon hung up: it ended, or this was read too slowly", exit_status::no_daemon);
    }
    return followed ? exit_status::good : report(reason_of(followed.error(), given.socket));
}

struct readiness {
    int status = exit_status::refused;
    json::object result;
};

readiness ask_ready(const options& given) {
    const auto answer = ask(given.socket, given.asked);
    readiness seen;
    if (answer && !answer->error) {
        const json::value* is_ready = answer->result.if_contains("is_ready");
        if (is_ready != nullptr && is_ready->is_bool()) {
            seen.status = is_ready->get_bool() ? exit_status::good : exit_status::refused;
            seen.result = answer->result;
            return seen;
        }
    }
    std::string reason;
    if (answer && !answer->error) {
        reason = "an answer about something else";
        seen.status = exit_status::not_understood;
    } else if (answer) {
        reason = answer->error->text;
        seen.status = status_of(*answer->error);
    } else {
        auto why = reason_of(answer.error(), given.socket);
        seen.status = why.status;
        reason = why.text.substr(0, why.text.find('\n'));
    }
    seen.result = {{"is_ready", false}, {"reasons", json::array{json::value(reason)}}};
    return seen;
}

std::chrono::milliseconds time_left(const descriptor& timer) {
    itimerspec left{};
    ::timerfd_gettime(timer.number(), &left);
    return std::chrono::milliseconds(left.it_value.tv_sec * 1000 + left.it_value.tv_nsec / 1'000'000);
}

// A daemon that is not there, or does not answer, may come yet; who may not ask now may not ask later.
int tell_ready(const options& given) {
    const descriptor over = timer_of(given.wait_limit);
    for (;;) {
        options now = given;
        if (given.waits) {
            now.asked.deadline = std::clamp(time_left(over), 1ms, given.asked.deadline);
        }
        const readiness seen = ask_ready(now);
        pollfd end{over.number(), POLLIN, 0};
        const bool is_final = !given.waits || seen.status == exit_status::good || seen.status == exit_status::forbidden;
        if (is_final || ::poll(&end, 1, between_questions) > 0) {
            print(given, "ready", seen.result);
            return seen.status;
        }
    }
}

// A line from the terminal.
std::string typed_after(const std::string& question) {
    constexpr std::size_t room = 256;
    put(stderr, question);
    std::array<char, room> typed{};
    const ssize_t size = ::read(STDIN_FILENO, typed.data(), typed.size());
    return size > 0 ? std::string(trim({typed.data(), static_cast<std::size_t>(size)})) : std::string();
}

// "y" and "yes" mean yes.
bool is_agreed(const std::string& question) {
    const std::string said = lower(typed_after(question + " [y/N] "));
    return said == "y" || said == "yes";
}

// Asks first, with the name of what would end.
int cancel_task(const options& given) {
    const std::int64_t id = given.asked.parameters.at("id").as_int64();
    if (!given.is_confirmed) {
        if (::isatty(STDIN_FILENO) != 1) {
            return report("tasks cancel asks first; where there is no terminal: --yes", exit_status::usage);
        }
        protocol::request all;
        all.id = 1;
        all.name = "tasks";
        all.deadline = given.asked.deadline;
        const auto tasks = ask(given.socket, all);
        if (!tasks) {
            return report(reason_of(tasks.error(), given.socket));
        }
        if (tasks->error) {
            return report(*tasks->error);
        }
        const std::string name = task_name(tasks->result, id);
        if (name.empty()) {
            return report(fmt::format("there is no task {}", id), exit_status::refused);
        }
        if (!is_agreed(fmt::format("Cancel task {} ({})?", id, name))) {
            return report("nothing was done", exit_status::refused);
        }
    }
    const auto answer = ask(given.socket, given.asked);
    if (!answer) {
        return report(reason_of(answer.error(), given.socket));
    }
    if (answer->error) {
        return report(*answer->error);
    }
    const json::value* ended = answer->result.if_contains("has_ended");
    const json::value* which = answer->result.if_contains("id");
    if (ended == nullptr || !ended->is_bool() || which == nullptr || *which != json::value(id)) {
        return report("an answer about something else", exit_status::not_understood);
    }
    const bool has_ended = ended->get_bool();
    const bool is_printed = print(given, "tasks cancel", answer->result);
    return !is_printed ? exit_status::refused : has_ended ? exit_status::good : exit_status::no_answer;
}

// Asks for the node's name again: a word that is wrong costs disks.
int confirm_fence(const options& given) {
    if (given.is_confirmed) {
        return ask_once(given);
    }
    if (::isatty(STDIN_FILENO) != 1) {
        return report("fence confirm asks for the name again; where there is no terminal: --yes-the-node-is-off NODE",
                      exit_status::usage);
    }
    const std::string which(given.asked.parameters.at("which").as_string());
    const std::string typed = typed_after(
        fmt::format("Your word is the proof that node {} is off: its virtual machines are started on other nodes.\n"
                    "If it runs, or somebody switches it on before they are, they run twice and their disks are lost.\n"
                    "If it is off and stays off, type its name: ",
                    tame(which)));
    if (typed != which) {
        return report("that is not its name; nothing was done", exit_status::refused);
    }
    options now = given;
    now.asked.parameters["is_off"] = which;
    return ask_once(now);
}

json::array lines_of(const std::string& text) {
    json::array all;
    for (const auto line : split(text, '\n')) {
        if (!line.empty()) {
            all.push_back(json::value(valid_utf8(line)));
        }
    }
    return all;
}

// The daemon's own program reads it, so that it finds what the daemon would find.
int check_config(const options& given, const place& here) {
    const json::value* named = given.asked.parameters.if_contains("file");
    const std::string file = named == nullptr ? here.config_file : std::string(named->get_string());
    const auto said = run_program({here.daemon, "--check-config"}, given.asked.deadline, {"PVCD_CONFIG_FILE=" + file});
    if (!said) {
        const failure why = said.error();
        return report("cannot check it: " + why.text(),
                      why.code() == errc::timed_out ? exit_status::no_answer : exit_status::refused);
    }
    json::object settings;
    for (const std::string_view line : split(said->out, '\n')) {
        const auto at = line.find(" = ");
        if (at != std::string_view::npos) {
            settings[line.substr(0, at)] = valid_utf8(line.substr(at + 3));
        }
    }
    const bool is_good = said->status == 0;
    print(given, "config check",
          {{"file", valid_utf8(file)},
           {"is_good", is_good},
           {"remarks", lines_of(said->err)},
           {"settings", std::move(settings)}});
    return is_good ? exit_status::good : exit_status::refused;
}

}  // namespace

no_answer_reason reason_of(const failure& why, const std::string& socket) {
    switch (why.code()) {
        case errc::not_found:
        case errc::unavailable:
            return {fmt::format(
                        "no pvcnoded listens at {} ({})\n"
                        "Does it run? systemctl status pvcnoded. Is its dynamic_directory another one? --socket PATH",
                        socket, why.cause()),
                    exit_status::no_daemon};
        case errc::refused:
            return {fmt::format("{}: {}; root may ask, and the members of configuration.control.group", socket,
                                why.cause()),
                    exit_status::forbidden};
        case errc::timed_out:
            return {fmt::format("{}: no answer in time: the daemon stands still or has very much to do", socket),
                    exit_status::no_answer};
        default: return {why.text(), exit_status::not_understood};
    }
}

int run(const options& given, const place& here) {
    if (given.asked.name == "watch") {
        return watch(given);
    }
    if (given.asked.name == "ready") {
        return tell_ready(given);
    }
    if (given.asked.name == "config check") {
        return check_config(given, here);
    }
    if (given.asked.name == "log follow") {
        return follow_log(given);
    }
    if (given.asked.name == "tasks cancel") {
        return cancel_task(given);
    }
    if (given.asked.name == "fence confirm") {
        return confirm_fence(given);
    }
    return ask_once(given);
}

}  // namespace pvc::ctl
