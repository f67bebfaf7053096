#include "pvcnoded/role/primary_role.hpp"

#include "coordinator.hpp"
#include "owner.hpp"
#include "vacancy.hpp"

namespace pvc::role {

namespace {

// S8: whoever comes first into a cluster without a primary is it. Nothing hangs on it: C3 goes on where this fails.
async::awaitable<void> claim_at_start(core::session& s) {
    auto claimed = co_await claim_vacancy(s, s.limit());
    if (claimed) {
        s.node.log.info("nobody is primary: claimed the role for this node");
        co_return;
    }
    const failure& why = claimed.error();
    if (why.code() == errc::version_conflict || why.code() == errc::already_exists) {
        auto winner = co_await s.zk.get(s.limit(), std::string(model::key_path::primary_node));
        s.node.log.info("the primary role was claimed by " + (winner ? winner->data : std::string("another node")));
    } else if (why.code() != errc::refused) {
        s.node.log.warning(message::start_role_claim, "claiming the primary role: " + why.text());
    }
}

}  // namespace

primary_role::primary_role(core::node_context& node, std::vector<core::role_part*> parts)
    : node_(node), owner_(std::make_unique<owner>(node, std::move(parts))) {}

primary_role::~primary_role() = default;

async::awaitable<result<void>> primary_role::prepare(core::preparation in) {
    if (in.in_session == nullptr) {
        in.attempt.spawn("isolation", [this] { return owner_->run(); });
    } else if (node_.mode == model::daemon_mode::coordinator) {
        co_await claim_at_start(*in.in_session);
    }
    co_return result<void>();
}

async::awaitable<void> primary_role::end(time_point /*deadline*/) {
    return owner_->undo(nullptr);
}

std::unique_ptr<core::session_part> primary_role::begin(core::session& s) {
    return std::make_unique<coordinator>(s, *owner_);
}

void primary_role::report(std::vector<std::string>& lines) const {
    lines.push_back("role: this node is " + std::string(to_text(node_.role.now())) +
                    (owner_->in_transition() ? ", in a transition" : ""));
}

}  // namespace pvc::role
