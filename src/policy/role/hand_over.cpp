#include "pvcnoded/policy/role/hand_over.hpp"

#include <algorithm>

namespace pvc::policy {

std::string_view to_text(role_lock which) {
    return which == role_lock::primary ? "the lock of the role" : "the lock of the phases";
}

namespace {

struct in_words {
    std::string operator()(const role_ask::nothing& /*what*/) const { return "nothing"; }
    std::string operator()(const role_ask::change& /*what*/) const { return "wait"; }
    std::string operator()(const role_ask::write_role& what) const {
        return "write " + std::string(model::to_text(what.to));
    }
    std::string operator()(const role_ask::have_lock& what) const {
        return "take " + std::string(to_text(what.which)) + " to " +
               (what.kind == model::lock_kind::read ? "read" : "write");
    }
    std::string operator()(const role_ask::release& what) const {
        return "release " + std::string(to_text(what.which));
    }
    std::string operator()(const role_ask::clear_sync& /*what*/) const { return "clear the key of the phases"; }
    std::string operator()(const role_ask::take_up& what) const {
        return "take up phase " + std::string(to_text(what.which));
    }
    std::string operator()(const role_ask::give_up& what) const {
        return "give up phase " + std::string(to_text(what.which));
    }
};

}  // namespace

std::string to_text(const role_ask::any& what) {
    return std::visit(in_words(), what);
}

std::int64_t last_on_sync(const hand_over_seen& seen, model::lock_tag tag) {
    std::int64_t last = -1;
    for (const auto& one : seen.on_sync) {
        last = one.tag == tag ? std::max(last, one.sequence) : last;
    }
    return last;
}

bool is_reader_behind(const hand_over_seen& seen) {
    return last_on_sync(seen, model::lock_tag::rlock) > seen.own_on_sync.value_or(-1);
}

}  // namespace pvc::policy
