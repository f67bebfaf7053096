// docs/man/pvcnoded.yaml.5: its list of keys is made of the sample file, whose words are held to what the loader does.
#include "config_test_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "sample_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

namespace pvc::config::test {
namespace {

constexpr std::string_view page_name = "docs/man/pvcnoded.yaml.5";
constexpr std::string_view keys_begin = ".\\\" The keys, from conf/pvcnoded.sample.yaml:\n";
constexpr std::string_view keys_end = ".\\\" The end of the keys.\n";

std::string page() {
    return file_text(std::string(PVC_SOURCE_DIR) + "/" + std::string(page_name));
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
    const auto from = text.find(begin);
    const auto to = text.find(end, from);
    EXPECT_TRUE(from != std::string::npos && to != std::string::npos) << begin;
    return to == std::string::npos ? "" : text.substr(from + begin.size(), to - from - begin.size());
}

// For the language of manual pages: plain hyphens, and what stands in backquotes in bold.
std::string escaped(std::string_view text) {
    std::string out;
    bool is_bold = false;
    for (const char c : text) {
        if (c == '`') {
            is_bold = !is_bold;
            out += is_bold ? "\\fB" : "\\fR";
        } else {
            out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
        }
    }
    return out;
}

// In lines of at most 78 characters, none of which begins as a request.
std::string wrapped(std::string_view text) {
    constexpr std::size_t width = 78;
    std::string out;
    std::string line;
    for (const auto word : split_blanks(text)) {
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            out += line + "\n";
            line.clear();
        }
        if (line.empty()) {
            line = word.starts_with('.') || word.starts_with('\'') ? "\\&" : "";
            line += word;
        } else {
            line += " " + std::string(word);
        }
    }
    return line.empty() ? out : out + line + "\n";
}

// A key without a comment of its own gets what the loader says of it.
std::string words_of(const sample_key& key) {
    if (!stated_presence(key.comment).empty() || key.comment.starts_with("One of the next two")) {
        return key.comment;
    }
    const auto facts = fmt::format("{}: {}.", presence_of(key), expectation_of(key));
    return key.comment.empty() ? facts : facts + " " + key.comment;
}

std::string parent_of(const std::string& path) {
    return path.substr(0, path.rfind('.'));
}

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('.') + 1);
}

// A heading for each section, the keys that have values below it; sections in a section come after its keys.
std::string rendered_keys() {
    std::string out;
    std::set<std::string> had;
    for (const auto& section : sample_keys()) {
        if (!section.has_keys) {
            continue;
        }
        std::string body = section.path == "pvc" ? "" : wrapped(escaped(section.comment));
        bool is_list = false;
        for (const auto& key : sample_keys()) {
            const auto parent = parent_of(key.path);
            is_list = is_list || parent == section.path + "[]";
            const bool is_here = parent == section.path || parent == section.path + "[]";
            if (is_here && !key.has_keys && had.insert(key.path).second) {
                body += fmt::format(".TP\n.B {}\n{}", escaped(name_of(key.path)), wrapped(escaped(words_of(key))));
            }
        }
        if (!body.empty()) {
            out += fmt::format(".SS {}{}\n{}", escaped(section.path), is_list ? "[]" : "", body);
        }
    }
    return out;
}

// Every path that headings and keys of the page stand for.
std::set<std::string> paths_of_page() {
    std::set<std::string> out;
    std::string section;
    const auto text = between(page(), keys_begin, keys_end);
    for (const auto line : split(text, '\n')) {
        std::string name(line.substr(std::min<std::size_t>(4, line.size())));
        std::erase(name, '\\');
        if (line.starts_with(".SS ")) {
            section = name;
            for (std::string path = name; path.find('.') != std::string::npos; path = parent_of(path)) {
                out.insert(path.ends_with("[]") ? path.substr(0, path.size() - 2) : path);
            }
        } else if (line.starts_with(".B ")) {
            name = line.substr(3);
            std::erase(name, '\\');
            out.insert(section + "." + name);
        }
    }
    return out;
}

TEST(manual_page, shows_the_keys_of_the_sample) {
    const auto text = page();
    const auto wanted = rendered_keys();
    if (between(text, keys_begin, keys_end) == wanted) {
        return;
    }
    const auto right = ::testing::TempDir() + "pvcnoded.yaml.5";
    std::ofstream(right) << text.substr(0, text.find(keys_begin) + keys_begin.size()) << wanted
                         << text.substr(text.find(keys_end));
    ADD_FAILURE() << page_name << " does not show what conf/pvcnoded.sample.yaml says; look at it, and: cp " << right
                  << " " << page_name;
}

TEST(manual_page, names_every_key_that_the_loader_knows_and_no_other) {
    const auto named = paths_of_page();
    const auto known = load(sample()).known_keys;
    const auto text = page();
    for (const auto& path : known) {
        if (is_only_in_comments(path)) {
            EXPECT_NE(text.find(name_of(path)), std::string::npos) << path;
        } else {
            EXPECT_TRUE(path == "pvc" || named.contains(path)) << "not in the page: " << path;
        }
    }
    EXPECT_GT(named.size(), 100U);
    for (const auto& path : named) {
        EXPECT_TRUE(path.ends_with("<name>") || std::ranges::binary_search(known, path)) << "unknown: " << path;
    }
}

// What stands in the sample, and so in the page, is what the loader does: presence, range and words.
TEST(manual_page, states_what_the_loader_accepts) {
    static const std::regex range("([0-9]+)-([0-9]+)");
    static const std::regex limits("from ([0-9]+) to ([0-9]+)");
    int ranges = 0;
    int presences = 0;
    for (const auto& key : sample_keys()) {
        const auto stated = stated_presence(key.comment);
        if (!stated.empty()) {
            ++presences;
            EXPECT_EQ(stated, presence_of(key)) << key.path;
        }
        const auto wanted = expectation_of(key);
        std::smatch said;
        std::smatch limit;
        const bool has_limits = !key.has_keys && std::regex_search(wanted, limit, limits);
        if (has_limits && (!stated.empty() || std::regex_search(key.comment, said, range))) {
            ++ranges;
            EXPECT_TRUE(std::regex_search(key.comment, said, range)) << key.path << " is " << wanted;
            EXPECT_EQ(said.str(), limit.str(1) + "-" + limit.str(2)) << key.path;
        }
        if (!key.has_keys && wanted.starts_with("one of ")) {
            for (const auto word : split(std::string_view(wanted).substr(7), ',')) {
                EXPECT_NE(key.comment.find(trim(word)), std::string::npos) << key.path << " may be " << word;
            }
        }
    }
    EXPECT_GT(ranges, 20);
    EXPECT_GT(presences, 50);
}

// The value as it would be written; nothing for what no value says.
std::optional<std::string> written(const std::string& stated, const std::string& wanted) {
    if (stated == "the short host name") {
        return "pvchv1";
    }
    if (stated == "<node>-lom") {
        return "pvchv1-lom";
    }
    if (stated == "the word null") {
        return "\"null\"";
    }
    if (stated == "none" || stated == "empty") {
        const bool is_mapping = wanted.find("integer") != std::string::npos;
        const bool is_text = wanted.find("string") != std::string::npos && wanted.find("list") == std::string::npos;
        return is_text ? std::nullopt : std::optional<std::string>(is_mapping ? "{}" : "[]");
    }
    return stated == "the check's own" ? std::nullopt : std::optional(stated);
}

// To leave a key out is to write the default that the sample states.
TEST(manual_page, states_the_defaults_of_the_loader) {
    int compared = 0;
    for (const auto& key : sample_keys()) {
        const auto stated = stated_default(key.comment);
        const auto presence = stated_presence(key.comment);
        if (!key.has_keys && (presence == "Expected" || presence == "Optional")) {
            EXPECT_TRUE(stated || key.comment.find("without it") != std::string::npos) << key.path;
        }
        const auto value = stated ? written(*stated, expectation_of(key)) : std::nullopt;
        if (!value) {
            continue;
        }
        ++compared;
        const auto explicit_one = load(sample_with(key, *value));
        for (const auto& one : explicit_one.diagnostics) {
            EXPECT_FALSE(one.level == severity::fatal) << one.message();
        }
        EXPECT_EQ(settings(load(sample_without(key))), settings(explicit_one)) << key.path << ": " << *value;
    }
    EXPECT_GT(compared, 35);
}

TEST(manual_page, has_an_example_that_loads) {
    std::string example = between(page(), ".EX\n", ".EE\n");
    std::erase(example, '\\');
    EXPECT_EQ(messages(load(example)), lines{});
}

}  // namespace
}  // namespace pvc::config::test
