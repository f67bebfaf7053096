#include "pvcnoded/policy/fencing/fence_requests.hpp"

#include "pvcnoded/policy/fencing/attempt.hpp"

#include <algorithm>

namespace pvc::policy {

std::string_view to_text(fence_origin why) {
    switch (why) {
        case fence_origin::silence: return "silent";
        case fence_origin::seen_off: return "seen without power";
        case fence_origin::orphan: return "left dead";
        case fence_origin::interrupted: return "left in its recovery";
        case fence_origin::resumed: return "resumed";
        case fence_origin::proven: return "resumed with a proof";
        case fence_origin::recovering: return "recovery resumed";
        case fence_origin::operators_word: return "confirmed by an operator";
    }
    return {};
}

std::string_view to_text(board_command what) {
    switch (what) {
        case board_command::off: return "off";
        case board_command::status: return "status";
        case board_command::on: return "on";
    }
    return {};
}

std::string_view to_text(fence_proof which) {
    switch (which) {
        case fence_proof::none: return "none";
        case fence_proof::power: return "power";
        case fence_proof::lease: return "lease";
        case fence_proof::storage: return "storage";
        case fence_proof::operators_word: return "operator";
    }
    return {};
}

std::string_view to_text(fence_end how) {
    switch (how) {
        case fence_end::passed: return "passed";
        case fence_end::abandoned: return "abandoned";
        case fence_end::held_back: return "held back";
        case fence_end::unrecordable: return "not recordable";
        case fence_end::failed: return "failed";
        case fence_end::done: return "done";
        case fence_end::handed_on: return "handed on";
        case fence_end::node_back: return "node back";
        case fence_end::gone: return "gone";
    }
    return {};
}

std::string_view to_text(guest_end how) {
    switch (how) {
        case guest_end::recovered: return "recovered";
        case guest_end::unseen: return "not seen to run";
        case guest_end::stopped: return "stopped";
        case guest_end::left_alone: return "left alone";
        case guest_end::parked: return "parked";
        case guest_end::kept: return "kept";
        case guest_end::needs_ceph: return "needs Ceph";
        case guest_end::node_back: return "node back";
        case guest_end::abandoned: return "abandoned";
    }
    return {};
}

namespace {

std::string_view words_of(fence_write what) {
    switch (what) {
        case fence_write::mark: return "write dead";
        case fence_write::fenced: return "write fenced";
        case fence_write::flush: return "write fence-flush";
        case fence_write::role: return "write its role";
        case fence_write::flushed: return "write flushed";
    }
    return {};
}

std::string_view words_of(const fence_entry::any& what) {
    if (std::holds_alternative<fence_entry::begun>(what)) {
        return "begin its record";
    }
    if (std::holds_alternative<fence_entry::opened>(what)) {
        return "record the attempt";
    }
    return std::holds_alternative<fence_entry::proof>(what) ? "record the proof" : "record";
}

struct fence_in_words {
    std::string operator()(const fence_ask::nothing& /*what*/) const { return "nothing"; }
    std::string operator()(const fence_ask::change& /*what*/) const { return "wait"; }
    std::string operator()(const fence_ask::guarded_read& /*what*/) const { return "read"; }
    std::string operator()(const fence_ask::write& what) const { return std::string(words_of(what.what)); }
    std::string operator()(const fence_ask::power& what) const { return "power " + std::string(to_text(what.what)); }
    std::string operator()(const fence_ask::record& what) const { return std::string(words_of(what.entry)); }
    std::string operator()(const fence_ask::recover& what) const {
        return "recover by " + std::string(to_text(what.proof));
    }
};

}  // namespace

std::string to_text(const fence_ask::any& what) {
    return std::visit(fence_in_words(), what);
}

duration fence_lock_limit(duration keepalive) {
    return std::max<duration>(keepalive - std::chrono::seconds(1), std::chrono::seconds(1));
}

std::string_view fence_attempt::stage() const {
    if (where == at::over) {
        return "over";
    }
    if (is_let_go) {
        return "switching it on";
    }
    if (is_fenced || is_proven()) {
        return where == at::recovering ? "recovering its machines" : where == at::leaving ? "left to others" : "proven";
    }
    if (is_failed) {
        return where == at::awaiting_lease ? "failed, waiting for its self-reset" : "failed";
    }
    if (is_opened) {
        return "switching it off";
    }
    return where == at::awaiting_turn ? "waiting for its turn" : where == at::throwing ? "saving throws" : "beginning";
}

}  // namespace pvc::policy
