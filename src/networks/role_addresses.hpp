// The addresses that only the primary has: the floating ones of the three networks (phases C and D), the one of the
// metadata service (E), and the gateways of client networks (F), which come and change while the role lasts.
//
// Level-triggered: what is wanted is set by the phases, by the role, and at the start by what is decided about
// leftovers; what is there is listed, and where the two differ policy/role/role_addresses.hpp says what to do. So what
// could not be done is tried again, and a node that is secondary has none of them whatever became of its last
// transition. A phase does its own part at once, without a look. The port keeps the order of calls, so the two may
// meet. Nothing is added but for a node that was named primary less than 2 s ago.
//
// On the bridge of a managed network there are no other addresses than its gateways: what is found there besides is one
// of a network as it was before, and goes as soon as it is known what networks there are.
// Specification: networking.md 5.4, 6; node-lifecycle.md 3.1 (rule 8), 4, 7.3 to 7.5.
#pragma once

#include "bridge_record.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/netlink/addresses.hpp"
#include "pvcnoded/netlink/network_stack.hpp"
#include "pvcnoded/policy/networks/bound_routes.hpp"
#include "pvcnoded/policy/role/leftover_addresses.hpp"
#include "pvcnoded/policy/role/role_addresses.hpp"
#include "told_remarks.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::networks {

class role_addresses final : public core::subject,
                             public core::prepared_subject,
                             public core::session_subject,
                             public core::role_part,
                             public core::reporter {
public:
    // The ports outlive it.
    role_addresses(core::node_context& node, netlink::addresses& port, netlink::network_stack& stack,
                   std::shared_ptr<bridge_record> bridges);
    role_addresses(const role_addresses&) = delete;
    role_addresses& operator=(const role_addresses&) = delete;
    ~role_addresses() override;

    // The gateways of all client networks as they are now (policy/networks/gateway_addresses.hpp).
    void set_gateways(std::vector<policy::role_address> now);
    // The links were looked at: an address that is missing, or is too many, is seen to.
    void on_look(const model::network_state& seen);

    // Some primary shall have it; this node has added it, and keeps it.
    [[nodiscard]] bool knows(const policy::placed_address& where) const;
    [[nodiscard]] bool has(const policy::placed_address& where) const;

    [[nodiscard]] std::string_view name() const override { return "addresses"; }
    // S3, before all that may take long there: what is found is decided on from here on, and the addresses are kept as
    // they should be until the attempt ends.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    // Those of a role that this daemon had go, and with an orderly stop those that were found. An attempt that begins
    // anew leaves what it found to the next one, which decides by the same record.
    async::awaitable<void> end(time_point deadline) override;
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    async::awaitable<void> take_up(policy::role_phase which, core::session& s) override;
    async::awaitable<void> give_up(policy::role_phase which, core::session* s) override;
    void report(std::vector<std::string>& lines) const override;

private:
    class of_session;
    class phase_mark;
    using places = std::vector<policy::placed_address>;

    async::awaitable<void> keep();
    // By what the role and, before it, leftovers say. When to ask again at the latest.
    std::optional<duration> settle_wishes();
    void tell_reason_anew();
    void give_all_up(std::string why);
    void read_note();
    [[nodiscard]] policy::leftover_view leftovers() const;
    // One look at what is there, and what follows of it.
    async::awaitable<void> look(time_point until);
    async::awaitable<places> present(time_point until);
    [[nodiscard]] places found_in(const model::network_state& seen) const;
    [[nodiscard]] policy::address_work work_with(const places& found) const;
    // On the bridge of a managed network, and none of its gateways.
    [[nodiscard]] bool is_stray(const policy::placed_address& where) const;
    [[nodiscard]] bool may_remove_strays() const;
    async::awaitable<void> add_missing(core::session& s);
    struct lost_route {
        policy::placed_address where;
        model::network_route is;
        std::vector<model::network_change> steps;  // that bring it back
    };
    using lost_routes = std::vector<lost_route>;
    // By which the networks of addresses were reached that this daemon has added, and that are there.
    [[nodiscard]] lost_routes routes_lost_in(const model::network_state& seen) const;
    async::awaitable<void> add_lost_routes(lost_routes lost, time_point until);
    // Of others, that hang on addresses of the primary (policy/networks/bound_routes.hpp): after a good look; as it is
    // noted, before an address goes; and those that have waited for theirs.
    void note_routes(const model::network_state& seen, const places& found);
    [[nodiscard]] std::vector<policy::role_address> all_of_primary(const places& found) const;
    void tell_leaving(std::set<std::string> now);
    async::awaitable<std::vector<netlink::staying_route>> let_routes_go(const policy::placed_address& with);
    async::awaitable<void> add_routes_again(time_point until);
    void note_missing(places all);
    void plan_next_look(bool has_failed);
    // A device that carries one of them and has another hardware address is not where neighbours look for it.
    void note_hardware(const model::network_state& seen);
    // A peer gives up as it starts what its last life left there: whoever looks for an address there is told by nobody.
    void announce_all_again();
    async::awaitable<void> announce_unheard(core::session& s);

    // All of them as one errand to the kernel, so that none waits for another.
    async::awaitable<void> add(places wanted, core::session& s);
    // Those whose end is not known yet stay in `open`.
    async::awaitable<result<void>> try_to_add(places& open, core::session& s, time_point until);
    void note_added(const policy::placed_address& where, const result<void>& outcome);
    async::awaitable<void> remove(policy::placed_address where, time_point until);
    async::awaitable<result<std::optional<boot_time>>> ask_who_is_named(core::session& s, time_point until);
    async::awaitable<void> forward_ipv6(time_point until);
    void note_withheld(const model::network_state& seen);
    [[nodiscard]] bool may_hold() const;
    [[nodiscard]] bool is_wanted(const policy::placed_address& where) const;
    [[nodiscard]] bool is_dropped(const policy::placed_address& where) const;
    [[nodiscard]] bool must_go(const policy::placed_address& where) const;
    [[nodiscard]] static bool is_gateway(const policy::placed_address& where);
    [[nodiscard]] places places_of(policy::role_phase which) const;
    [[nodiscard]] time_point action_deadline() const;
    [[nodiscard]] bool may_look() const;
    void failed(const std::string& step, const failure& why);
    void succeeded(const std::string& step);

    core::node_context& node_;
    netlink::addresses& port_;
    netlink::network_stack& stack_;
    std::shared_ptr<bridge_record> bridges_;
    std::vector<policy::role_address> all_;
    policy::address_wish gateway_wish_ = policy::address_wish::as_found;
    bool knows_gateways_ = false;
    std::set<std::string> devices_;   // by the last look
    std::set<std::string> foreign_;   // likewise: called as a bridge of the host, and none, or without a port
    std::set<std::string> withheld_;  // addresses that are not added to those, which was told
    bool is_seen_ = false;            // what there is, likewise
    time_point seen_at_{};            // by the last look that was answered
    struct named {
        const core::session* in = nullptr;
        boot_time asked{};
    };
    named named_;                           // the last read that named this node
    const of_session* session_ = nullptr;   // of the present session
    bool had_role_ = false;                 // this daemon had it, or was on its way: leftovers are no question any more
    bool was_primary_ = false;              // says the record that this daemon found
    std::optional<boot_time> beat_before_;  // likewise, of the last heartbeat
    std::string gone_because_;              // why what is found has to go
    places added_;                          // by this daemon, and not removed since
    places dropped_;                        // by this daemon, on bridges of networks that want them no more
    places missing_;                        // by the last look
    lost_routes lost_;                      // likewise
    policy::standing_routes standing_;      // likewise, by the last one that was answered
    std::vector<model::add_route> back_;    // likewise: routes of others that can be there again
    std::set<std::string> leaving_;         // likewise: what was said of those that will go and not come back
    places unheard_;                        // are here, and to be announced anew
    std::map<std::string, model::hardware_address> hardware_;  // of the devices that may carry them, by a look
    std::map<std::string, std::string> troubles_;              // by step: the failure that was told last
    std::uint64_t failures_ = 0;
    std::uint64_t additions_ = 0;
    std::uint64_t removals_ = 0;
    counted_warnings damages_{node_.log, node_.clock()};
    bool is_clean_ = false;   // none of them was there when the last look ended, and none is wanted
    std::size_t phases_ = 0;  // phases under way
    std::uint64_t last_phase_ = 0;
    bool all_must_go_ = false;  // whatever phases say
    bool must_look_ = true;
    std::optional<time_point> next_look_;
    async::wakeup changed_;
    async::wakeup is_missing_;
};

}  // namespace pvc::networks
