#include "sample_keys.hpp"

#include "config_test_support.hpp"

#include <algorithm>
#include <array>
#include <regex>

namespace pvc::config::test {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

class sample_reader {
public:
    sample_reader(const std::string& text, std::vector<std::string> known) : known_(std::move(known)) {
        const auto all = lines_of(text);
        for (std::size_t i = 0; i < all.size(); ++i) {
            take(all[i], i);
        }
        close(0, all.size());
    }

    std::vector<sample_key> keys;

private:
    struct open_key {
        std::size_t indent;
        std::size_t index;
        bool is_list = false;  // of mappings
    };

    void take(const std::string& line, std::size_t number) {
        static const std::regex form("( *)(- )?([\\w-]+):( .*)?");
        const auto indent = line.find_first_not_of(' ');
        if (indent == std::string::npos) {
            comment_.clear();
            return;
        }
        if (line[indent] == '#') {
            comment_ += (comment_.empty() ? "" : " ") + line.substr(std::min(indent + 2, line.size()));
            return;
        }
        std::smatch parts;
        if (std::regex_match(line, parts, form)) {
            close(indent, number);
            take_key(parts, number);
        }
        comment_.clear();
    }

    void take_key(const std::smatch& parts, std::size_t number) {
        sample_key key;
        key.begin = parts.str(1) + parts.str(2);
        key.first = number;
        key.comment = comment_;
        const std::string name = parts.str(3);
        if (open_.empty()) {
            key.path = key.place = name;
        } else {
            auto& parent = open_.back();
            parent.is_list = parent.is_list || parts.length(2) > 0;
            const std::string before = keys[parent.index].path + (parent.is_list ? "[]." : ".");
            key.path = before + (is_prefix(before + "<name>.") ? "<name>" : name);
            key.place = keys[parent.index].place + (parent.is_list ? "[0]." : ".") + name;
            if (!std::ranges::binary_search(known_, key.path) && !is_prefix(key.path + ".")) {
                return;  // a part of its parent's value
            }
            keys[parent.index].has_keys = true;
        }
        open_.push_back({key.begin.size(), keys.size()});
        keys.push_back(std::move(key));
    }

    [[nodiscard]] bool is_prefix(const std::string& text) const {
        return std::ranges::any_of(known_, [&](const auto& path) { return path.starts_with(text); });
    }

    void close(std::size_t indent, std::size_t number) {
        while (!open_.empty() && open_.back().indent >= indent) {
            keys[open_.back().index].end = number;
            open_.pop_back();
        }
    }

    std::vector<std::string> known_;
    std::vector<open_key> open_;
    std::string comment_;
};

// Without comments: what is tried often should be read quickly.
std::string replaced(const sample_key& key, const std::string& line) {
    static const auto all = lines_of(sample());
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto begin = std::min(all[i].find_first_not_of(' '), all[i].size());
        if (i == key.first) {
            out += line + "\n";
        } else if ((i < key.first || i >= key.end) && !all[i].substr(begin).starts_with('#')) {
            out += all[i] + "\n";
        }
    }
    return out;
}

// The text of the first message about the key, or about something in it.
std::optional<diagnostic> complaint(const std::string& text, const sample_key& key) {
    for (const auto& one : load(text).diagnostics) {
        if (one.text.starts_with(key.place) && one.text.find_first_of(":.[", key.place.size()) == key.place.size()) {
            return one;
        }
    }
    return std::nullopt;
}

std::string without_networking(std::string text) {
    constexpr std::string_view enabled = "enable_networking: True";
    const auto at = text.find(enabled);
    return at == std::string::npos ? text : text.replace(at, enabled.size(), "enable_networking: False");
}

bool is_missed(const std::string& text, const sample_key& key, severity level) {
    const auto found = complaint(text, key);
    return found && found->level == level && found->text.find(": missing; ") != std::string::npos;
}

}  // namespace

std::string sample() {
    return file_text(std::string(PVC_SOURCE_DIR) + "/conf/pvcnoded.sample.yaml");
}

const std::vector<sample_key>& sample_keys() {
    static const std::vector<sample_key> keys = sample_reader(sample(), load(sample()).known_keys).keys;
    return keys;
}

bool is_only_in_comments(std::string_view path) {
    return path.ends_with(".suicide_interval") || path.starts_with("pvc.system.fencing.intervals") ||
           path == "pvc.cluster.networks.cluster.gateway" || path == "pvc.cluster.networks.storage.gateway";
}

// Another key in its place, so that an item stays one, and a section that had only this key.
std::string sample_without(const sample_key& key) {
    return replaced(key, key.begin + "nothing: 1");
}

std::string sample_with(const sample_key& key, std::string_view value) {
    const auto name = key.place.substr(key.place.rfind('.') + 1);
    return replaced(key, key.begin + name + ": " + std::string(value));
}

std::string presence_of(const sample_key& key) {
    const auto text = sample_without(key);
    if (is_missed(text, key, severity::warning)) {
        return "Expected";
    }
    if (!is_missed(text, key, severity::fatal)) {
        return "Optional";
    }
    return is_missed(without_networking(text), key, severity::fatal) ? "Required" : "Required with enable_networking";
}

std::string expectation_of(const sample_key& key) {
    constexpr std::string_view begin = "; expected ";
    constexpr std::string_view end = ", got";
    std::string out;
    for (const auto* wrong : {"{wrong: kind}", "[]", "[{wrong: kind}]"}) {
        const auto found = complaint(sample_with(key, wrong), key);
        const auto from = found ? found->text.find(begin) : std::string::npos;
        if (from == std::string::npos) {
            continue;
        }
        const auto to = found->text.find(end, from);
        const auto wanted = found->text.substr(from + begin.size(), to - from - begin.size());
        const bool has_limits = wanted.find(" from ") != std::string::npos;
        if (has_limits || out.empty()) {
            out = wanted;
        }
        if (has_limits || (out.find("list") == std::string::npos && out.find("mapping") == std::string::npos)) {
            break;  // what items or members have to be is seen by others of these values
        }
    }
    return out;
}

std::string stated_presence(std::string_view comment) {
    for (const std::string_view word : {"Required with enable_networking", "Required", "Expected", "Optional"}) {
        if (comment.starts_with(word) && comment.substr(word.size()).find_first_of(".;,") == 0) {
            return std::string(word);
        }
    }
    return {};
}

std::optional<std::string> stated_default(std::string_view comment) {
    constexpr std::string_view mark = "; default: ";
    const auto at = comment.find(mark);
    if (stated_presence(comment).empty() || at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string out(comment.substr(at + mark.size()));
    const auto end = out.starts_with('[') ? out.find(']') + 1 : std::min(out.find_first_of(";,"), out.find(". "));
    out = out.substr(0, end);
    if (out.ends_with('.')) {
        out.pop_back();
    }
    return out;
}

TEST(sample_keys, are_read_with_their_comments) {
    const auto& keys = sample_keys();
    const auto count =
        std::ranges::find(keys, "pvc.system.configuration.networking.sriov_device[].vfcount", &sample_key::path);
    ASSERT_NE(count, keys.end());
    EXPECT_EQ(count->place, "pvc.system.configuration.networking.sriov_device[0].vfcount");
    EXPECT_TRUE(count->comment.starts_with("Expected; 0-1024. Number of"));
    EXPECT_EQ(expectation_of(*count), "an integer from 0 to 1024");
    EXPECT_EQ(presence_of(*count), "Expected");
    const auto check = std::ranges::find(keys, "pvc.system.configuration.health.checks.<name>.args", &sample_key::path);
    ASSERT_NE(check, keys.end());
    EXPECT_EQ(check->place, "pvc.system.configuration.health.checks.disk.args");
}

TEST(sample_keys, state_presence_and_default) {
    EXPECT_EQ(stated_presence("Required with enable_networking. All."), "Required with enable_networking");
    EXPECT_EQ(stated_presence("Optional, all of it. More."), "Optional");
    EXPECT_EQ(stated_presence("Optionally."), "");
    EXPECT_EQ(stated_default("Optional; default: [0, 1]; percent. More."), "[0, 1]");
    EXPECT_EQ(stated_default("Optional; default: /etc/ceph/ceph.conf."), "/etc/ceph/ceph.conf");
    EXPECT_EQ(stated_default("Optional; default: 0, unlimited; MiB/s."), "0");
    EXPECT_EQ(stated_default("Optional; default: mem. How; default: x."), "mem");
    EXPECT_EQ(stated_default("Optional. The default: x."), std::nullopt);
}

}  // namespace pvc::config::test
