#include "pvcnoded/fencing/fence_ledger.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/fencing/attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::fencing {

model::fence_way way_of(policy::fence_origin why) {
    using policy::fence_origin;
    switch (why) {
        case fence_origin::silence: return model::fence_way::silence;
        case fence_origin::seen_off: return model::fence_way::seen_off;
        case fence_origin::orphan: return model::fence_way::left_dead;
        case fence_origin::interrupted: return model::fence_way::left_fenced;
        case fence_origin::resumed: return model::fence_way::resumed;
        case fence_origin::proven: return model::fence_way::proven;
        case fence_origin::recovering: return model::fence_way::recovering;
        case fence_origin::operators_word: return model::fence_way::operator_word;
    }
    return model::fence_way::silence;
}

model::fence_outcome outcome_of(policy::fence_end how) {
    using policy::fence_end;
    switch (how) {
        case fence_end::passed: return model::fence_outcome::passed;
        case fence_end::abandoned: return model::fence_outcome::abandoned;
        case fence_end::held_back: return model::fence_outcome::held_back;
        case fence_end::unrecordable: return model::fence_outcome::unrecordable;
        case fence_end::failed: return model::fence_outcome::failed;
        case fence_end::done: return model::fence_outcome::done;
        case fence_end::handed_on: return model::fence_outcome::handed_on;
        case fence_end::node_back: return model::fence_outcome::node_back;
        case fence_end::gone: return model::fence_outcome::gone;
    }
    return model::fence_outcome::abandoned;
}

model::fence_proof_kind kind_of(policy::fence_proof which) {
    switch (which) {
        case policy::fence_proof::lease: return model::fence_proof_kind::lease;
        case policy::fence_proof::storage: return model::fence_proof_kind::storage;
        case policy::fence_proof::operators_word: return model::fence_proof_kind::operator_word;
        case policy::fence_proof::power:
        case policy::fence_proof::none: break;
    }
    return model::fence_proof_kind::power;
}

policy::fence_proof proof_of(model::fence_proof_kind kind) {
    switch (kind) {
        case model::fence_proof_kind::power: return policy::fence_proof::power;
        case model::fence_proof_kind::lease: return policy::fence_proof::lease;
        case model::fence_proof_kind::operator_word: return policy::fence_proof::operators_word;
        case model::fence_proof_kind::storage: return policy::fence_proof::storage;
    }
    return policy::fence_proof::none;
}

namespace {

constexpr duration on_disk_within = policy::fence_limits::record;
constexpr duration again_after = std::chrono::seconds(5);
constexpr std::size_t most_strangers = 100;  // that are noted one by one

std::string command_words(policy::board_command what) {
    return "chassis power " + std::string(to_text(what));
}

// For a line of the log.
std::string line_of(std::string_view text) {
    constexpr std::size_t most = 200;
    return ascii_only(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

constexpr std::string_view unsent = "it was not sent";

// What was made of an answer.
std::string reading_of(const policy::fence_entry::command& what) {
    if (!what.is_begun) {
        return std::string(unsent);
    }
    if (!what.status) {
        return "it did not end by itself";
    }
    if (what.what != policy::board_command::status) {
        return *what.status == 0 ? "accepted" : "not accepted";
    }
    const auto read = policy::read_power(what.status, what.output, what.errors);
    return read.why.empty() ? std::string(to_text(read.power)) : read.why;
}

}  // namespace

std::string fence_ledger::last_of_board() const {
    const auto& all = record_.commands;
    const auto look = std::ranges::find(all.rbegin(), all.rend(), command_words(policy::board_command::status),
                                        &model::fence_command::what);
    if (all.empty()) {
        return {};
    }
    const model::fence_command& last = look == all.rend() ? all.back() : *look;
    if (last.read_as == unsent && !last.errors.empty()) {
        return line_of(last.errors);
    }
    return last.read_as == to_text(policy::board_power::on) || last.read_as == to_text(policy::board_power::off)
               ? fmt::format("its board says `{}`", last.read_as)
               : line_of(last.read_as);
}

struct fence_ledger::entry_writer {
    fence_ledger& ledger;
    model::fence_record& record;
    model::fence_moment now;

    void operator()(const policy::fence_entry::begun& what) const {
        record.node = what.node;
        record.way = way_of(what.why);
        record.keepalive_id = what.heartbeat_id;
    }
    void operator()(const policy::fence_entry::opened& what) const {
        record.node = what.node;
        record.way = way_of(what.why);
        record.keepalive_id = what.heartbeat_id;
        record.mark_id = what.mark_id;
    }
    void operator()(const policy::fence_entry::command& what) const {
        const bool has_begun = ledger.begun_ != model::fence_moment();
        const model::fence_moment begun = has_begun ? std::exchange(ledger.begun_, {}) : now;
        const bool is_look = what.what == policy::board_command::status && what.is_begun;
        if (is_look && std::ranges::find(record.commands, command_words(policy::board_command::on),
                                         &model::fence_command::what) != record.commands.end()) {
            const bool is_on =
                policy::read_power(what.status, what.output, what.errors).power == policy::board_power::on;
            record.powered_on = is_on && !record.powered_on ? now : record.powered_on;
        }
        model::add_fence_command(record,
                                 {.what = command_words(what.what),
                                  .begun = begun,
                                  .ended = now,
                                  .status = what.status,
                                  .output = what.output,
                                  .errors = what.errors,
                                  .read_as = reading_of(what)},
                                 ledger.password_.reveal());
    }
    void operator()(const policy::fence_entry::proof& what) const {
        record.proof = model::fence_proof{.kind = kind_of(what.which),
                                          .at = now,
                                          .text = what.words,
                                          .keepalive_id = what.heartbeat_id,
                                          .mark_id = what.mark_id,
                                          .although_on = ledger.although_on_};
    }
    void operator()(const policy::fence_entry::wrote& what) const {
        if (what.what == "fenced") {
            record.fenced_id = what.zxid;
        }
        record.writes.push_back({std::string(what.what), what.zxid, now});
    }
    void operator()(const policy::fence_entry::guest& what) const {
        const std::string id = to_text(what.id);
        auto found = std::ranges::find(record.machines, id, &model::fence_machine::id);
        if (found == record.machines.end()) {
            const bool is_stranger = what.end == policy::guest_end::left_alone;
            ledger.strangers_ += is_stranger ? 1 : 0;
            if (is_stranger && ledger.strangers_ > most_strangers) {
                ++record.machines_left_out;
                return;
            }
            record.machines.emplace_back().id = id;
            found = std::prev(record.machines.end());
        }
        if (!what.step.empty()) {
            found->steps.push_back(what.step);
        }
        for (const auto& lock : what.locks) {
            found->locks.push_back(
                fmt::format("{}: {} of {} at {}: {}", lock.volume, lock.lock, lock.client, lock.address, lock.outcome));
        }
        const auto add_new = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
            std::ranges::copy_if(from, std::back_inserter(to),
                                 [&to](const auto& one) { return std::ranges::find(to, one) == to.end(); });
        };
        add_new(found->clients, what.clients);
        add_new(found->volumes, what.volumes);
        if (!what.target.empty()) {
            found->target = what.target;
        }
        if (what.zxid != 0) {
            found->transaction = what.zxid;
        }
        if (what.end) {
            found->outcome = std::string(to_text(*what.end));
        }
        if (what.ran) {
            found->has_run = what.ran;
        }
    }
    void operator()(const policy::fence_entry::outcome& what) const {
        record.outcome = outcome_of(what.end);
        record.remark = what.words;
        record.is_left_off = what.is_left_off;
        record.ended = now;
    }
};

fence_ledger::fence_ledger(core::node_context& node, fence_records& records, async::wakeup& writer, std::string id,
                           std::string about)
    : node_(node), records_(records), writer_(writer) {
    record_.id = std::move(id);
    record_.coordinator = node.self();
    record_.node = std::move(about);
    record_.boot_id = node.machine.boot_id;
    record_.begun = model::fence_moment_of(node.clock());
}

void fence_ledger::name_machine(const uuid& id, std::string name) {
    const std::string text = to_text(id);
    auto found = std::ranges::find(record_.machines, text, &model::fence_machine::id);
    if (found == record_.machines.end()) {
        record_.machines.emplace_back().id = text;
        found = std::prev(record_.machines.end());
    }
    if (found->name == name) {
        return;
    }
    found->name = std::move(name);
    ++noted_;
    writer_.notify();
}

void fence_ledger::note(const policy::fence_entry::any& entry) {
    std::visit(entry_writer{*this, record_, model::fence_moment_of(node_.clock())}, entry);
    ++noted_;
    writer_.notify();
}

async::awaitable<bool> fence_ledger::record(policy::fence_entry::any entry) {
    struct waiting {
        explicit waiting(std::size_t& of) : count(of) { ++count; }
        waiting(const waiting&) = delete;
        waiting& operator=(const waiting&) = delete;
        ~waiting() { --count; }
        std::size_t& count;
    };
    const waiting here(waiting_);
    note(entry);
    const std::uint64_t wanted = noted_;
    const std::uint64_t failed_before = failures_;
    const time_point deadline = node_.clock().now() + on_disk_within;
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer follow(tries_, changed);
    while (!is_broken_ && failures_ == failed_before && written_ < wanted) {
        const bool is_notified = co_await changed.wait_until(node_.clock(), deadline, "the record of a fence");
        if (!is_notified && written_ < wanted) {
            trouble_ = "the disk did not take it within 5 s";
            co_return false;
        }
    }
    co_return written_ >= wanted;
}

std::optional<time_point> fence_ledger::due() const {
    if (is_broken_ || written_ == noted_ || (!is_opened_ && waiting_ == 0)) {
        return std::nullopt;
    }
    return waiting_ > 0 ? time_point::min() : not_before_;
}

async::awaitable<result<void>> fence_ledger::put() {
    co_return is_opened_ ? co_await records_.save(record_) : co_await records_.open(record_);
}

async::awaitable<void> fence_ledger::write() {
    std::uint64_t now = noted_;
    auto done = co_await put();
    if (!done && done.error().code() == errc::too_large && model::shorten_fence_record(record_)) {
        if (!std::exchange(is_full_told_, true)) {
            node_.log.warning(message::fence_record_unwritten,
                              "the record of the fence of node " + record_.node +
                                  " is full: details of its machines are left out, its proof and outcome are not");
        }
        now = noted_;
        done = co_await put();
    }
    if (done) {
        is_opened_ = true;
        written_ = now;
    } else {
        trouble_ = done.error().text();
        ++failures_;
        // What may still come to the disk by an earlier call is written no more.
        is_broken_ = done.error().code() != errc::io || !is_opened_;
        not_before_ = node_.clock().now() + again_after;
    }
    tries_.set(tries_.value() + 1);
}

// ---- all of them ----------------------------------------------------------------------------------------------------

std::shared_ptr<fence_ledger> fence_ledgers::begin(const std::string& about) {
    // Two of one node within a millisecond do not happen; two of a clock that was set back may, and one is refused.
    std::string id = model::fence_record_id(node_.clock().wall_now(), about);
    auto made = std::make_shared<fence_ledger>(node_, *records_, changed_, std::move(id), about);
    // Those that were given up before anything was to be written of them.
    std::erase_if(all_, [](const auto& one) { return one.use_count() == 1 && !one->due(); });
    all_.push_back(made);
    return made;
}

async::awaitable<void> fence_ledgers::run() {
    for (;;) {
        std::erase_if(all_, [](const auto& one) { return one.use_count() == 1 && !one->due(); });
        time_point next = time_point::max();
        std::shared_ptr<fence_ledger> first;
        for (const auto& one : all_) {
            const auto due = one->due();
            if (due && *due < next) {
                next = *due;
                first = one;
            }
        }
        if (first && next <= node_.clock().now()) {
            co_await first->write();
        } else if (first) {
            co_await changed_.wait_until(node_.clock(), next, "another attempt to write the record of a fence");
        } else {
            co_await changed_.wait(async::wait_note::work("what is noted about fences"));
        }
    }
}

async::awaitable<void> fence_ledgers::flush() {
    const auto now = all_;
    for (const auto& one : now) {
        if (one->due()) {
            co_await one->write();
        }
        if (one->due()) {
            node_.log.warning(message::fence_record_unwritten,
                              "what became of node " + one->now().node + " could not be recorded: " + one->trouble());
        }
    }
}

}  // namespace pvc::fencing
