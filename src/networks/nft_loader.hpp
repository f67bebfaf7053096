// What this daemon cannot load by itself, through the nft program: files that the administrator put into `nft/static`,
// and ACLs with words that only nft knows. The program runs with a deadline and holds nobody up. Each ACL is first
// tried alone, by a dry run; then all of it is loaded as one text, which is one batch of the kernel's too.
// Specification: networking.md 7.2, 7.4 (case 53); README ruling 35.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::networks {

class nft_loader {
public:
    // Both outlive it. `folder`: where `static` is.
    nft_loader(core::node_context& node, async::process_runner& processes, std::string folder);

    // Reads `static` again, if the last time is long enough ago. True: it is not as it was.
    bool look_at_files();
    [[nodiscard]] time_point next_look() const { return next_look_; }
    [[nodiscard]] bool has_files() const { return !files_.empty(); }
    // It has files, and nft has not refused them.
    [[nodiscard]] bool can_load_files() const { return has_files() && knowledge_.unusable.empty(); }
    [[nodiscard]] const policy::nft_knowledge& knowledge() const { return knowledge_; }
    // Another text or another wish: what was refused as a whole is tried again.
    void forget_refusal();

    // Asks nft about each of them.
    async::awaitable<void> judge(std::vector<policy::unjudged_acl> all);
    // All of it in one batch. False: it is not done, and more is known: one ACL less of those that nft took alone, or
    // why nft can load nothing (`unusable`).
    async::awaitable<bool> load(const policy::wanted_filter& wanted);
    // Tables of static files that were there before: their rules come again with each load.
    [[nodiscard]] const std::vector<std::string>& shared_tables() const { return shared_tables_; }
    // What loads by this changes with it.
    [[nodiscard]] std::string signature() const;
    // Tables that static files made go, once there are no such files.
    async::awaitable<void> remove_tables();

private:
    struct file {
        std::string name;
        std::string text;
        friend bool operator==(const file&, const file&) = default;
    };
    // What it printed, and what it said if it refused. Errors: not_found (there is no nft), io, timed_out.
    struct answer {
        bool is_taken = false;
        std::string output;
        std::string said;
    };
    async::awaitable<result<answer>> run(std::vector<std::string> arguments, std::string input);
    void cannot_ask(std::string why);
    // Those of the record that are there, and of this boot's static files those that nobody else had made before.
    async::awaitable<result<std::vector<std::string>>> own_tables();
    [[nodiscard]] std::vector<std::string> recorded() const;
    async::awaitable<void> record(const std::vector<std::string>& tables);

    core::node_context& node_;
    async::process_runner& processes_;
    std::string folder_;
    std::vector<file> files_;
    policy::nft_knowledge knowledge_;
    std::vector<std::string> shared_tables_;
    time_point next_look_{};
    std::optional<time_point> ask_again_;  // what is unusable now may not be then
};

}  // namespace pvc::networks
