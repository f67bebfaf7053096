// A daemon beside a simulated nft program, which says what its rules here say, and makes a table without tags.
#pragma once

#include "unit/networks/firewall_fixture.hpp"

namespace pvc::node {

class nft_fixture : public firewall_fixture {
protected:
    // What nft does otherwise than usual with a text. False: nothing.
    using otherwise = std::function<bool(sim::sim_program& ran, const std::string& text, bool is_load)>;
    // nft, which takes every trial and every load, which then makes a table without tags.
    void install_nft(sim_node& node, otherwise does = {}) {
        node.programs.add([this, &node, does = std::move(does)](const async::command& what) {
            std::optional<sim::sim_program> ran;
            const auto& words = what.arguments;
            if (words.empty() || words[0] != "nft") {
                return ran;
            }
            ran.emplace();
            const bool is_load = words[1] == "-f";
            if (words.back() == "tables") {
                ran->output = tables;
            } else if (!does || !does(*ran, given(node, what), is_load)) {
                if (is_load) {
                    loaded.push_back(given(node, what));
                    ran->effect = [&node] { rebuild(node); };
                }
            }
            return ran;
        });
    }
    // Which does not take a text that holds `bad`.
    static otherwise refuses(std::string bad, std::string why) {
        return
            [bad = std::move(bad), why = std::move(why)](sim::sim_program& ran, const std::string& text, bool is_load) {
                if (text.find(bad) == std::string::npos) {
                    return false;
                }
                refuse(ran, text, bad, why, is_load);
                return true;
            };
    }
    // What it is to read.
    static std::string given(const sim_node& node, const async::command& what) {
        const auto found = node.host.files.find(what.arguments.back());
        return found == node.host.files.end() ? what.input : found->second;
    }
    // It names the line.
    static void refuse(sim::sim_program& ran, const std::string& text, const std::string& bad, std::string_view why,
                       bool is_load) {
        const auto line =
            1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(bad)), '\n');
        ran.how = async::exited{1};
        ran.error_output =
            fmt::format("{}:{}:1-4: Error: {}\n", is_load ? "/run/pvc/nft/loaded.nft" : "/dev/stdin", line, why);
    }
    static void rebuild(sim_node& node) {
        auto changes = anothers_table();
        changes.insert(changes.begin(), {model::make_table{}, model::delete_table{}});
        const auto done = node.filter_table.commit(changes, std::nullopt);
        EXPECT_TRUE(done && !*done);
    }
    std::size_t trials(const sim_node& node) {
        return static_cast<std::size_t>(std::ranges::count(node.programs.lines(), "nft -c -f -"));
    }

    std::string tables = "table inet filter\n";
    texts loaded;
};

}  // namespace pvc::node
