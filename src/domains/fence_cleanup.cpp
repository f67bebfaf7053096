// A node that was declared off, and is alive: what others may have started ends here before it says that it runs.
// Specification: node-lifecycle.md 4 (last row), case AC28.
#include "manager.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/policy/membership/keepalive_rules.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration listing_limit = 5s;
constexpr duration destroy_limit = 60s;
constexpr duration look_for_leftovers_again = 500ms;
constexpr duration complain_of_leftovers_every = 30s;

// The value of a key that may be missing.
async::awaitable<result<std::optional<std::string>>> read_key(core::session& s, std::string path) {
    auto read = co_await s.zk.get(s.limit(), std::move(path));
    if (read) {
        co_return std::optional(std::move(read->data));
    }
    if (read.error().code() == errc::not_found) {
        co_return std::optional<std::string>();
    }
    co_return read.error();
}

}  // namespace

// What is to end, of what runs here now. `is_recovered`: a fencer is moving the domains of this node.
async::awaitable<result<std::vector<uuid>>> manager::read_forfeited(core::session& s, bool& is_recovered) {
    PVC_CO_TRY(const auto state, co_await read_key(s, s.own(model::node_key::domain_state)));
    is_recovered = state && model::parse_domain_state(*state) == model::domain_state::fence_flush;
    const auto all = co_await hv.list(node.clock().now() + listing_limit);
    if (!all) {
        co_return failure(errc::unavailable, "libvirt", all.error().text);
    }
    std::vector<uuid> found;
    for (const auto& one : *all) {
        const std::string root = model::domain_path(to_text(one.id));
        PVC_CO_TRY(const auto name, co_await read_key(s, root));
        PVC_CO_TRY(const auto where, co_await read_key(s, root + model::domain_key::node));
        const policy::fenced_guest guest{name.has_value(), where.value_or(""), is_recovered};
        if (policy::is_forfeited(guest, node.self())) {
            found.push_back(one.id);
        }
    }
    co_return found;
}

// A creation that is out may yet bring one.
bool manager::creates_forfeited(bool is_recovered) const {
    return std::ranges::any_of(table.rows(), [is_recovered](const auto& entry) {
        const domain_row& row = entry.second;
        const bool is_creating =
            row.here && (row.here->doing == policy::domain_action::start || row.here->listing.lost_creation);
        return is_creating && (is_recovered || !row.is_owner);
    });
}

async::awaitable<void> manager::clean_up_after_fence(core::session& s, std::function<bool()> goes_on) {
    struct cleaning {
        explicit cleaning(manager& of) : owner(of) {
            owner.is_cleaning_ = true;
            for (const auto& [id, row] : of.table.rows()) {
                if (row.here) {
                    row.here->changed.notify();  // whoever is about to create it, or waits to
                }
            }
        }
        cleaning(const cleaning&) = delete;
        cleaning& operator=(const cleaning&) = delete;
        ~cleaning() {
            owner.is_cleaning_ = false;
            owner.look_at_all();
        }
        manager& owner;
    };
    const cleaning now(*this);
    node.log.error(message::fenced_alive,
                   "this node was declared fenced, and is alive: what others may have taken over ends here before it "
                   "says that it runs");
    time_point complain_at = node.clock().now() + complain_of_leftovers_every;
    while (goes_on()) {
        bool is_recovered = false;
        const auto left = co_await read_forfeited(s, is_recovered);
        if (!goes_on()) {
            co_return;
        }
        // The hold goes by its own look at the domain state: it must have begun before this one ends.
        const bool is_held = !is_recovered || holds_starts_;
        if (left && left->empty() && is_held && !creates_forfeited(is_recovered)) {
            node.log.ok("nothing that others may have taken over runs here");
            co_return;
        }
        if (node.clock().now() >= complain_at) {
            complain_at = node.clock().now() + complain_of_leftovers_every;
            node.log.error(message::fenced_waits, "this node cannot say yet that it runs: " +
                                                      (left ? std::to_string(left->size()) +
                                                                  " virtual machine(s) that others may have taken over "
                                                                  "have not ended"
                                                            : left.error().text()));
        }
        if (left && !left->empty()) {
            co_await async::for_each_bounded(
                "fence clean-up", left->size(), *left, [this](const uuid& id) -> async::awaitable<void> {
                    node.log.warning(message::fenced_destroys,
                                     "destroying it: this node was fenced, and it is no longer this node's",
                                     to_text(id));
                    auto done = co_await hv.destroy(id, node.clock().now() + destroy_limit);
                    ignore(done, "the next listing says whether it is gone");
                });
        }
        co_await async::sleep_for(node.clock(), look_for_leftovers_again, "what was taken over to be gone");
    }
}

}  // namespace pvc::domains
