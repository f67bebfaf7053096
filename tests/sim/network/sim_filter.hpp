// Table `inet filter` of one simulated machine, as its kernel keeps it, and the names of the tables of others. It
// outlives the daemon, and not the machine's power. Its rules are those measured on a real kernel: the suites of the
// port run against both. No packet passes: what rules match is not looked at.
#pragma once

#include "pvcnoded/netlink/packet_filter.hpp"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

struct sim_filter_rule {
    std::uint64_t handle = 0;
    model::filter_rule is;
    friend bool operator==(const sim_filter_rule&, const sim_filter_rule&) = default;
};

struct sim_filter_chain {
    std::string name;
    model::filter_hook hook = model::filter_hook::none;
    std::vector<sim_filter_rule> rules;
    bool has_own_place = false;  // somebody else's hook, priority or policy
};

struct sim_filter_table {
    std::uint64_t last_handle = 0;  // of this table: one that is made anew begins again
    std::uint32_t flags = 0;        // as the model has them
    std::uint64_t number = 0;       // 0: it was made just now
    std::vector<sim_filter_chain> chains;
};

class sim_filter {
public:
    using outcome = result<std::optional<netlink::batch_refusal>>;

    // What the port promises of a batch (netlink/packet_filter.hpp), at once. Errors: version_conflict.
    outcome commit(const std::vector<model::filter_change>& changes, std::optional<std::uint32_t> generation);
    [[nodiscard]] model::filter_state state() const;
    // Whoever wants to be told that a table, a chain or a rule may have changed.
    std::function<void()> changed;

    // Somebody else: all tables go ("nft flush ruleset"), but for one that is owned; another table is made or changed.
    void flush_ruleset();
    // The first rule of a chain says something else, and has its handle still.
    void replace_rule(std::string_view chain, model::filter_rule with);
    // As the host's own service does when it starts: all tables go, and `inet filter` lets nothing in but what it
    // names.
    void load_host_rules();
    [[nodiscard]] bool has_host_rules() const;
    // Somebody gives a chain that is there another policy.
    void take_place(std::string_view chain);
    // So often a batch has taken them away.
    std::uint64_t host_rules_replaced = 0;
    void touch_table(const std::string& name = "ip nat");
    // Somebody makes our table dormant, if it is there. A program makes it, if it is not, and owns it: nobody else may
    // change it. When that program ends, the table is gone: the kernel says so to nobody, and counts no generation.
    void make_dormant();
    void make_owned();
    void own_table();  // that is there
    void end_owner();
    static constexpr std::uint32_t port_of_owner = 4711;
    // The machine goes off, and is on again when somebody looks.
    void lose_power();

    [[nodiscard]] bool has_table() const { return table_.has_value(); }
    [[nodiscard]] std::uint32_t flags() const { return table_ ? table_->flags : 0; }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    [[nodiscard]] std::span<const sim_filter_chain> chains() const {
        return table_ ? std::span<const sim_filter_chain>(table_->chains) : std::span<const sim_filter_chain>();
    }
    // Empty without the chain.
    [[nodiscard]] const sim_filter_chain* find(std::string_view chain) const;
    // "forward (forward): a, b; vxlan7-in: c": chains with the tags of their rules.
    [[nodiscard]] std::string text() const;
    // "ip nat 2": tables of others, and how often each was touched.
    [[nodiscard]] std::string foreign_text() const;

private:
    struct applying;

    void step();

    std::uint32_t generation_ = 1;
    std::uint64_t tables_made_ = 0;
    std::optional<sim_filter_table> table_;
    std::map<std::string, int> foreign_;
};

}  // namespace pvc::sim
