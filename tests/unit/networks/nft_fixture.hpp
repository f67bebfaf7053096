// A daemon beside a simulated nft program, which says what its rules here say, and makes a table without tags.
#pragma once

#include "pvcnoded/base/text.hpp"
#include "unit/networks/firewall_fixture.hpp"

#include <sstream>

namespace pvc::node {

class nft_fixture : public firewall_fixture {
protected:
    // What nft does otherwise than usual with a text. False: nothing.
    using otherwise = std::function<bool(sim::sim_program& ran, const std::string& text, bool is_load)>;
    // nft, which takes every trial, and carries out what it loads: rules without tags.
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
                    ran->effect = [&node, text = loaded.back()] { carry_out(node, text); };
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
        const bool is_whole = text.find("add table inet filter\n") != std::string::npos;
        const auto* const source = !is_load   ? "/dev/stdin"
                                   : is_whole ? "/run/pvc/nft/loaded.nft"
                                              : "/run/pvc/nft/changed.nft";
        ran.error_output = fmt::format("{}:{}:1-4: Error: {}\n", source, line, why);
    }
    // One batch. What is said of other tables, and in words of no line of this daemon's, is passed over.
    static void carry_out(sim_node& node, const std::string& text) {
        std::vector<model::filter_change> batch;
        for (const auto line : split(text, '\n')) {
            std::istringstream words{std::string(line)};
            std::string what, kind, family, table, chain, word;
            words >> what >> kind >> family >> table >> chain;
            if (family != "inet" || table != "filter" || line.starts_with("#")) {
                continue;
            }
            if (kind == "table") {
                batch.emplace_back(what == "add" ? model::filter_change(model::make_table{}) : model::delete_table{});
            } else if (kind == "chain") {
                batch.push_back(change_of_chain(what, chain, line));
            } else if (kind == "rule") {
                std::uint64_t handle = 0;
                std::string says =
                    std::string(trim(std::string_view(line).substr(line.find(chain + " ") + chain.size())));
                if (says.starts_with("handle ")) {
                    words >> word >> handle;
                    says = says.substr(std::min(says.find(' ', 7), says.size() - 1) + 1);
                }
                batch.push_back(what == "delete"
                                    ? model::filter_change(model::delete_rule{chain, handle})
                                    : model::add_rule{chain, {meaning_of(says), ""}, handle, what == "insert"});
            }
        }
        const auto done = node.filter_table.commit(batch, std::nullopt);
        EXPECT_TRUE(done && !*done) << text << (done && *done ? (*done)->cause : "");
    }
    static model::filter_change change_of_chain(const std::string& what, const std::string& chain,
                                                std::string_view line) {
        if (what == "flush") {
            return model::flush_chain{chain};
        }
        if (what == "delete") {
            return model::delete_chain{chain};
        }
        const auto has = [&](std::string_view hook) { return line.find(hook) != std::string_view::npos; };
        return model::make_chain{chain, has("hook forward") ? model::filter_hook::forward
                                        : has("hook input") ? model::filter_hook::input
                                                            : model::filter_hook::none};
    }
    static std::vector<model::filter_expression> meaning_of(const std::string& says) {
        std::vector<model::filter_expression> all{model::log_packet{says, {}}};  // whatever it means
        if (const auto at = says.find(" jump "); at != std::string::npos) {
            all.emplace_back(model::give_verdict{model::filter_verdict::jump, says.substr(at + 6)});
        }
        return all;
    }
    // What the rules of a chain say, as far as nft made them.
    static texts said(const sim_node& node, std::string_view chain) {
        texts all;
        if (const auto* const found = node.filter_table.find(chain)) {
            for (const auto& one : found->rules) {
                const auto* const log = std::get_if<model::log_packet>(&one.is.expressions.front());
                all.push_back(log != nullptr ? log->prefix : name_of(one.is.tag));
            }
        }
        return all;
    }
    // Somebody else makes the table anew.
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
