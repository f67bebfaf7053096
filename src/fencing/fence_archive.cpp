#include "pvcnoded/fencing/fence_archive.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_listed = 50;
constexpr std::size_t most_questions = 16;
constexpr std::size_t shown_answer = 200;
constexpr std::size_t shown_text = 300;

double seconds_between(const model::fence_moment& from, const model::fence_moment& to) {
    return std::chrono::duration<double>(to.boot - from.boot).count();
}

std::string time_of(const model::fence_moment& when) {
    return model::fence_record_id(when.wall, "").substr(0, std::string_view("20261127T070012").size()) + "Z";
}

// One line of what may be of a client, or of a program.
core::explained_value text_if_any(const std::string& text) {
    return text.empty() ? core::explained_value() : core::explained_value(ascii_only(text.substr(0, shown_text)));
}

core::explained_value number_if_any(const std::optional<std::int64_t>& number) {
    return number ? core::explained_value(static_cast<double>(*number)) : core::explained_value();
}

std::size_t recovered_in(const model::fence_record& one) {
    return static_cast<std::size_t>(
        std::ranges::count(one.machines, std::string("recovered"), &model::fence_machine::outcome));
}

core::explained_fields summary_of(const model::fence_record& one) {
    const auto recovered = recovered_in(one);
    return {
        {"id", one.id},
        {"node", one.node},
        {"began", time_of(one.begun)},
        {"took_s", one.ended ? core::explained_value(seconds_between(one.begun, *one.ended)) : core::explained_value()},
        {"way", std::string(to_text(one.way))},
        {"outcome", std::string(to_text(one.outcome))},
        {"proof", one.proof ? core::explained_value(std::string(to_text(one.proof->kind))) : core::explained_value()},
        {"machines", static_cast<double>(one.machines.size())},
        {"recovered", static_cast<double>(recovered)}};
}

// By an id of now. Its fencer's clock ran ahead.
bool is_of_time_to_come(const model::fence_record& one, const std::string& now) {
    return one.id > now;
}

// Than one whose id says that it is younger.
bool is_younger(const model::fence_record& one, const model::fence_record& other, const std::string& now) {
    const bool is_of_same_boot = !one.boot_id.empty() && one.boot_id == other.boot_id;
    return is_of_same_boot ? one.begun.boot > other.begun.boot
                           : is_of_time_to_come(other, now) && !is_of_time_to_come(one, now);
}

// For a list, as an id of the moment at which it began by the clock as it is `now`: of this boot a clock tells that
// nobody sets. Empty, so that it comes last: that is not known.
std::string place_of(const std::string& id, const result<model::fence_record>& one, const std::string& boot_id,
                     const model::fence_moment& now) {
    if (one && one->boot_id == boot_id && one->begun.boot <= now.boot) {
        return model::fence_record_id(now.wall - (now.boot - one->begun.boot), one->node);
    }
    return id > model::fence_record_id(now.wall, {}) ? std::string() : id;
}

// It goes on from another one of this coordinator: a try at what a recovery has left, a word about who was fenced
// before.
bool is_sequel(const model::fence_record& one, const std::vector<std::string>& ids) {
    const bool is_known = !one.follows.empty() && std::ranges::find(ids, one.follows) != ids.end();
    return one.way == model::fence_way::recovering ? is_known || one.follows.empty()
                                                   : one.way == model::fence_way::operator_word && is_known;
}

// With the columns of all others.
core::explained_fields unreadable_row(const std::string& id, const failure& why) {
    auto row = summary_of({});
    for (auto& [name, value] : row) {
        value = name == "id"        ? core::explained_value(id)
                : name == "outcome" ? core::explained_value("cannot be read: " + why.cause())
                                    : core::explained_value();
    }
    return row;
}

// `went_on_in`: a later record; `younger`: one about the node that cannot be read.
core::explanation whole_of(const model::fence_record& one, const std::string& went_on_in,
                           const std::optional<failure>& younger) {
    core::explanation told;
    told.facts = summary_of(one);
    const core::explained_fields more{
        {"coordinator", one.coordinator},
        {"follows", text_if_any(one.follows)},
        {"went_on_in", text_if_any(went_on_in)},
        {"younger_unreadable", younger ? core::explained_value(younger->text()) : core::explained_value()},
        {"remark", text_if_any(one.remark)},
        {"keepalive_id", static_cast<double>(one.keepalive_id)},
        {"mark_id", static_cast<double>(one.mark_id)},
        {"fenced_id", number_if_any(one.fenced_id)},
        {"proof_text", one.proof ? text_if_any(one.proof->text) : core::explained_value()},
        {"proof_although_on", one.proof && one.proof->although_on},
        {"is_left_off", one.is_left_off},
        {"machines_left_out", static_cast<double>(one.machines_left_out)},
        {"is_shortened", one.is_shortened},
        {"powered_on", one.powered_on ? core::explained_value(time_of(*one.powered_on)) : core::explained_value()}};
    told.facts.insert(told.facts.end(), more.begin(), more.end());
    std::vector<core::explained_fields> commands;
    for (const auto& command : one.commands) {
        const std::string& said = command.errors.empty() ? command.output : command.errors;
        commands.push_back({{"at_s", seconds_between(one.begun, command.begun)},
                            {"took_s", seconds_between(command.begun, command.ended)},
                            {"what", command.what},
                            {"times", static_cast<double>(command.times)},
                            {"status", command.status ? core::explained_value(static_cast<double>(*command.status))
                                                      : core::explained_value()},
                            {"read_as", text_if_any(command.read_as)},
                            {"said", shown(trim(std::string_view(said).substr(0, shown_answer)))}});
    }
    std::vector<core::explained_fields> machines;
    for (const auto& machine : one.machines) {
        machines.push_back(
            {{"uuid", machine.id},
             {"name", text_if_any(machine.name)},
             {"target", text_if_any(machine.target)},
             {"outcome", text_if_any(machine.outcome)},
             {"why", machine.steps.empty() ? core::explained_value() : text_if_any(machine.steps.back())},
             {"locks", static_cast<double>(machine.locks.size())},
             {"transaction", number_if_any(machine.transaction)},
             {"has_run", machine.has_run ? core::explained_value(*machine.has_run) : core::explained_value()}});
    }
    told.lists = {{"commands", std::move(commands)}, {"machines", std::move(machines)}};
    return told;
}

}  // namespace

async::awaitable<result<void>> fence_archive::prepare(core::preparation in) {
    began_ = began_ == model::fence_moment() ? model::fence_moment_of(node_.clock()) : began_;
    in.attempt.spawn("fence records", [this] { return serve(); });
    co_return result<void>();
}

async::awaitable<void> fence_archive::end(time_point /*deadline*/) {
    is_serving_ = false;
    for (auto& one : std::exchange(questions_, {})) {
        one.answer->give(failure(errc::unavailable, "fence records", "the daemon stops"));
    }
    co_return;
}

async::awaitable<void> fence_archive::serve() {
    is_serving_ = true;
    const auto ready = co_await records_->make_ready();
    if (!ready) {
        trouble_ = ready.error().text();
        node_.log.warning(message::fence_record_unwritten,
                          "no fence can be recorded, so this node would fence nobody: " + trouble_);
    }
    for (;;) {
        co_await changed_.wait(async::wait_note::work("questions about fences"));
        while (!questions_.empty()) {
            const auto next = std::move(questions_.front());
            questions_.pop_front();
            auto told = next.which.empty() ? co_await list() : co_await show(next.which);
            next.answer->give(std::move(told));
        }
    }
}

void fence_archive::report(std::vector<std::string>& lines) const {
    if (!trouble_.empty()) {
        lines.push_back("fence records: none could be written at the start: " + trouble_);
    }
}

fence_archive::asked fence_archive::ask(std::string which) {
    auto answer = std::make_shared<core::awaited_explanation>();
    if (!is_serving_ || questions_.size() >= most_questions) {
        answer->give(failure(errc::unavailable, "fence records", "too many ask, or the daemon starts or stops"));
        return answer;
    }
    questions_.push_back({std::move(which), answer});
    changed_.notify();
    return answer;
}

std::shared_ptr<core::awaited_explanation> fence_archive::list_fences(time_point /*until*/) {
    return ask({});
}

std::shared_ptr<core::awaited_explanation> fence_archive::show_fence(std::string which, time_point /*until*/) {
    return ask(std::move(which));
}

async::awaitable<result<model::fence_record>> fence_archive::read_one(std::string id) const {
    auto one = co_await records_->read(std::move(id));
    const bool is_of_earlier = one && (one->boot_id != node_.machine.boot_id || one->begun.boot < began_.boot);
    if (is_of_earlier && one->outcome == model::fence_outcome::under_way) {
        one->outcome = model::fence_outcome::abandoned;
        one->remark = "the daemon that began it ended in the middle of it";
    }
    co_return one;
}

async::awaitable<result<core::explanation>> fence_archive::list() const {
    PVC_CO_TRY(const auto ids, co_await records_->list());
    const auto now = model::fence_moment_of(node_.clock());
    const std::string id_of_now = model::fence_record_id(now.wall, {});
    std::multimap<std::string, core::explained_fields, std::greater<>> placed;
    std::size_t past = 0;
    std::size_t to_come = 0;
    for (const auto& id : ids) {
        if (++(id > id_of_now ? to_come : past) > most_listed) {
            continue;
        }
        const auto one = co_await read_one(id);
        if (!one && (one.error().code() == errc::timed_out || one.error().code() == errc::unavailable)) {
            co_return one.error();
        }
        placed.emplace(place_of(id, one, node_.machine.boot_id, now),
                       one ? summary_of(*one) : unreadable_row(id, one.error()));
    }
    std::vector<core::explained_fields> rows;
    for (auto& [place, row] : placed) {
        if (rows.size() < most_listed) {
            rows.push_back(std::move(row));
        }
    }
    core::explanation told;
    told.facts = {{"records", static_cast<double>(ids.size())}, {"is_complete", ids.size() <= most_listed}};
    told.lists = {{"fences", std::move(rows)}};
    co_return told;
}

// The fence itself rather than a later try at what its recovery left, and what can be read rather than what cannot.
async::awaitable<result<core::explanation>> fence_archive::show_youngest(std::string node) const {
    constexpr std::size_t most_read = 50;
    PVC_CO_TRY(const auto ids, co_await records_->list());
    const std::string now = model::fence_record_id(node_.clock().wall_now(), {});
    std::optional<failure> unreadable;
    std::optional<model::fence_record> later_try;
    std::optional<model::fence_record> youngest;
    std::size_t read = 0;
    for (const auto& id : ids) {
        // What follows is older, unless the clock ran ahead then.
        const bool is_found = youngest && !is_of_time_to_come(*youngest, now);
        if (is_found || !model::is_fence_record_about(id, node) || ++read > most_read) {
            continue;
        }
        auto one = co_await read_one(id);
        if (!one && (one.error().code() == errc::timed_out || one.error().code() == errc::unavailable)) {
            co_return one.error();
        }
        if (!one) {
            unreadable = unreadable ? unreadable : one.error();
        } else if (one->node == node && !is_sequel(*one, ids)) {
            if (!youngest || is_younger(*one, *youngest, now)) {
                youngest = *std::move(one);
            }
        } else if (one->node == node && !later_try) {
            later_try = *std::move(one);
        }
    }
    if (youngest) {
        co_return whole_of(*youngest, later_try ? later_try->id : std::string(), unreadable);
    }
    if (later_try) {
        co_return whole_of(*later_try, {}, unreadable);
    }
    if (unreadable) {
        co_return *unreadable;
    }
    co_return failure(errc::not_found, shown(node),
                      "this node has no record of a fence with that id, or of that node; it is with "
                      "the coordinator that fenced it: ask the others");
}

async::awaitable<result<core::explanation>> fence_archive::show(std::string which) const {
    const auto one = co_await read_one(which);
    if (!one && one.error().code() == errc::not_found) {
        co_return co_await show_youngest(which);
    }
    if (!one) {
        co_return one.error();
    }
    co_return whole_of(*one, {}, {});
}

}  // namespace pvc::fencing
