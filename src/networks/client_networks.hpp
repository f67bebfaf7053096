// The links of all client networks: one level-triggered row a network. What is wanted is what ZooKeeper said last, also
// while it cannot be asked; what is there is looked at; where the two differ, policy/networks says what to do. A row
// that fails or is refused is said, and holds up no other.
// Specification: networking.md 5.2 to 5.4.
#pragma once

#include "bridge_record.hpp"
#include "link_work.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"
#include "told_remarks.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pvc::networks {

// Under which remarks about gateways are told, each beginning with its network.
constexpr std::string_view gateways_remarks = "gateways";
// And those about others that this network lies in.
[[nodiscard]] std::string overlap_remarks(std::uint32_t vni);

// One that has not changed is the same object as before.
using stored_networks = std::map<std::uint32_t, std::shared_ptr<const model::parsed_network>>;

// What was read of the settings of a bridge, and what it was by then.
struct read_settings {
    time_point when;
    std::uint64_t told = 0;  // network_stack::settings_told
    std::shared_ptr<const model::parsed_network> of{};
    bool was_right = false;
    model::network_link bridge{};
    std::vector<model::link_address> addresses{};  // they go where somebody switches IPv6 off
    // As policy::network_memory has them.
    bool is_ipv6_off = false;
    bool is_forwarding_off = false;
    bool is_forwarding_v6_off = false;
    std::vector<policy::changed_setting> changed{};

    [[nodiscard]] bool is_of_same(const read_settings& other) const {
        return told == other.told && of == other.of && was_right == other.was_right && bridge == other.bridge &&
               addresses == other.addresses;
    }
};
// So long it holds at the most, and then there is a look for it.
constexpr duration settings_every = std::chrono::seconds(60);

struct network_row {
    std::shared_ptr<const model::parsed_network> stored;  // as want() told it last
    std::optional<model::client_network> wanted;      // empty: what is stored cannot be used, or the network is no more
    std::optional<model::client_network> usable;      // what was wanted when what is stored could be used, if ever
    std::optional<model::client_network> standing{};  // what was wanted when all of it was there last
    std::optional<model::client_network> as_managed{};  // a bridged one, as it may have been before
    bool is_gone = false;
    policy::network_memory memory;
    std::optional<policy::network_plan> plan;    // of the last look
    std::optional<read_settings> settings{};     // with the last look, where all was right
    std::optional<time_point> waits_for_note{};  // since when, for a link that is being put on record
    retry_pause pause;
    std::vector<model::network_change> done{};  // with the last look: what is asked for once more changes nothing
    std::string trouble;                        // why the last try failed
    std::optional<model::network_type> type;    // that it had last
    bool has_links = false;                     // some may have been made, or were found
    std::uint64_t wish = 0;                     // which one of want() it is, since when; 0: it was begun with
    time_point wished{};
};

// How much of what the host's own configuration names.
enum class names_known : std::uint8_t { in_part, until_disk_answers, all };

class client_networks {
public:
    // All outlive it.
    client_networks(core::node_context& node, link_work& work, told_remarks& remarks, counted_warnings& damages,
                    bridge_record& bridges)
        : node_(node), work_(work), remarks_(remarks), damages_(damages), bridges_(bridges) {}

    // What ZooKeeper has: all names that are numbers of networks, with what is stored where that can be used. `remarks`
    // of the parser, by network.
    void want(const stored_networks& all);
    // What the host's own configuration names, as it was when so many wishes had come (wanted_count() of then). Until
    // all of it could be read once, nothing that was left behind is removed. A network whose links are there and on no
    // record waits until it was looked at after its wish, 3 s at the most: a link may have come together with what
    // names it. So does one whose links are not there and would be made (0.2 s at the most, where all could be read the
    // last time): the host's own may be down. A disk that hangs costs each 0.2 s.
    void set_named(policy::named_links names, names_known how, std::uint64_t wishes);
    // A network was refused since this was asked last: what stands in its way may be named since, and goes at times.
    [[nodiscard]] bool take_names_wanted() { return std::exchange(wants_names_, false); }
    // Something has been wanted since the start: what is not wanted may be removed.
    [[nodiscard]] bool is_told() const { return is_told_; }

    // Makes what is as it shall be. True: something was changed.
    async::awaitable<bool> settle(const model::network_state& seen);
    // Everything that was wanted when settle() began was looked at, and done as far as that was possible.
    [[nodiscard]] std::uint64_t settled() const { return settled_; }
    [[nodiscard]] std::uint64_t wanted_count() const { return wants_; }

    [[nodiscard]] const std::map<std::uint32_t, network_row>& rows() const { return rows_; }
    // Those that are not refused, and as they were those whose keys cannot be used any more: what they want of the
    // primary may be given to them. Says who of them gets no gateway, and who overlaps another.
    std::vector<model::client_network> tell_gateways();
    // What this host reaches by itself, at the last look: networks whose gateways would change that get none.
    [[nodiscard]] const std::vector<policy::host_reach>& reach() const { return reach_; }
    // Whose links are filtered: also those whose keys became unusable, as their links and machines are there; and those
    // that are gone or refused and have left a bridge behind, or have machines in one of that name, whosever it is; by
    // the rules of a network without addresses where nothing better is known.
    [[nodiscard]] std::vector<model::client_network> filtered() const;
    // Managed ones with a bridge that is theirs, or has machines in it, and that nobody keeps right.
    [[nodiscard]] std::set<std::uint32_t> left_behind() const;
    // Numbers of those whose links are, or stand in the way of, somebody else's.
    [[nodiscard]] std::set<std::uint32_t> refused() const;
    // Numbers of those that go on as the type that they had, until the links of the other one are there.
    [[nodiscard]] std::set<std::uint32_t> changing() const;
    // Networks with an empty MTU key: what the primary writes into it.
    [[nodiscard]] std::map<std::uint32_t, int> mtus_to_write() const;
    [[nodiscard]] std::optional<time_point> next_try() const;

private:
    // Null: the network came and went meanwhile.
    network_row* find(std::uint32_t vni);
    [[nodiscard]] bool waits_for_names(std::uint32_t vni, const network_row& row,
                                       const model::network_state& seen) const;
    void note_settings(network_row& row, const model::network_state& seen) const;
    [[nodiscard]] std::vector<policy::changed_setting> changed_settings(const model::client_network& network) const;
    [[nodiscard]] bool is_ipv6_off(const model::client_network& network) const;
    [[nodiscard]] bool is_forwarding_off(const model::client_network& network) const;
    [[nodiscard]] bool is_forwarding_v6_off(const model::client_network& network) const;
    [[nodiscard]] bool is_kept_right(std::uint32_t vni) const;
    [[nodiscard]] bool is_filtered_for_machines(std::uint32_t vni, const policy::machine_bridge& bridge) const;
    [[nodiscard]] std::string why_not_yet(const policy::network_plan& plan, const model::network_state& seen) const;
    async::awaitable<bool> settle_row(std::uint32_t vni, const model::network_state& seen);
    async::awaitable<bool> remove_row(std::uint32_t vni, const model::network_state& seen);
    void tell_overlaps(std::span<const model::client_network> all);
    // As what it is there, for its gateways; null: it has none of the primary.
    [[nodiscard]] const model::client_network* served(std::uint32_t vni, const network_row& row) const;
    [[nodiscard]] static std::vector<policy::network_remark> remarks_on_keys(std::uint32_t vni, const network_row& row,
                                                                             const model::parsed_network& parsed);
    void add_consequences(std::uint32_t vni, const network_row& row, std::vector<policy::network_remark>& said) const;
    void add_strange_addresses(std::uint32_t vni, const network_row& row, const model::network_state& seen,
                               std::vector<policy::network_remark>& said) const;
    bool waits_for_note(network_row& row, const std::string& not_noted) const;
    // What the bridge of a network that is gone is known by.
    [[nodiscard]] int own_bridge_of(std::uint32_t vni, const model::network_state& seen) const;
    void record_links(const model::network_state& seen);
    void note_reach(const model::network_state& seen);
    // Bases that are about to be made are on record before they are.
    async::awaitable<void> announce_bases(const model::network_state& seen);
    void tell_foreign(const model::network_state& seen);
    async::awaitable<bool> sweep(const model::network_state& seen);
    async::awaitable<result<void>> carry_out(std::uint32_t vni, std::vector<model::network_change> steps);

    core::node_context& node_;
    link_work& work_;
    told_remarks& remarks_;
    counted_warnings& damages_;
    bridge_record& bridges_;
    std::map<std::uint32_t, network_row> rows_;
    std::set<std::uint32_t> overlapping_;  // that was told
    std::vector<policy::host_reach> reach_;
    policy::whose_links whose_;
    std::map<std::uint32_t, policy::machine_bridge> with_machines_;  // by the last look
    bool are_names_known_ = false;                                   // they were whole once
    names_known names_known_ = names_known::in_part;                 // by the last look at them
    bool wants_names_ = false;
    bool has_renamed_ = false;    // with this look
    std::uint64_t names_of_ = 0;  // wishes that had come before names were read last
    bool is_told_ = false;
    bool is_swept_ = false;
    retry_pause sweep_pause_;
    std::uint64_t wants_ = 0;
    std::uint64_t settled_ = 0;
};

}  // namespace pvc::networks
