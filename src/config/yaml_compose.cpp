#include "yaml_compose.hpp"

#include "yaml_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace pvc::config {

namespace {

using node_pointer = std::shared_ptr<const yaml_node>;

// Composes the tree from events by recursive descent; max_yaml_depth bounds the recursion. The first problem ends
// everything: each function then returns null and the callers return at once.
class composer {
public:
    composer(std::string_view text, std::string_view file) : events_(text), problems_(std::string(file)) {}

    node_pointer document(diagnostics& problems) {
        auto root = only_document();
        if (failure_) {
            problems.add(severity::fatal, failure_->line, failure_->text);
            return nullptr;
        }
        for (const auto& warning : problems_.take()) {
            problems.add(warning.level, warning.line, warning.text);
        }
        return root;
    }

private:
    struct problem {
        int line;
        std::string text;
    };

    node_pointer fail(int line, std::string text) {
        if (!failure_) {
            failure_ = problem{line, std::move(text)};
        }
        return nullptr;
    }

    bool next() {
        if (events_.next()) {
            return true;
        }
        fail(events_.line(), "not valid YAML: " + events_.problem() + "; expected a YAML document");
        return false;
    }

    node_pointer only_document() {
        if (!next() || !next()) {  // the start of the stream, then of the document
            return nullptr;
        }
        if (events_.type() == yaml_event_kind::stream_end) {
            return fail(1, "no document; expected a mapping with the key pvc, got an empty file");
        }
        if (!next()) {
            return nullptr;
        }
        auto root = node(0);
        if (!root || !next() || !next()) {  // the end of the document, then of the stream
            return nullptr;
        }
        if (events_.type() != yaml_event_kind::stream_end) {
            return fail(events_.line(), "a second document; expected exactly one YAML document");
        }
        return root;
    }

    // The node that begins with the current event; ends at its last event.
    node_pointer node(int depth) {
        switch (events_.type()) {
            case yaml_event_kind::alias: return alias(depth);
            case yaml_event_kind::scalar: return scalar();
            default: return collection(depth);
        }
    }

    // Counted before anything is made or shared, so that a bomb ends after a few events.
    bool count(std::size_t nodes, std::size_t bytes, int line) {
        nodes_ += nodes;
        bytes_ += bytes;
        if (nodes_ > max_yaml_nodes) {
            fail(line,
                 fmt::format("too many nodes; expected at most {} lists, maps, keys and scalars", max_yaml_nodes));
            return false;
        }
        if (bytes_ > max_yaml_text) {
            fail(line, "too much text; expected at most 4 MiB after expansion of aliases");
            return false;
        }
        return true;
    }

    bool check_depth(int levels, int line) {
        if (levels > max_yaml_depth) {
            fail(line, fmt::format("too deeply nested; expected at most {} levels", max_yaml_depth));
            return false;
        }
        return true;
    }

    // An anchor names its node once that is complete; until then null, so that a node cannot hold itself.
    void name(const std::string& anchor, const node_pointer& value) {
        if (!anchor.empty()) {
            anchors_[anchor] = value;
        }
    }

    // Shared, not copied, but counted as if it were copied: who reads the tree may do so.
    node_pointer alias(int depth) {
        const int line = events_.line();
        const auto found = anchors_.find(events_.anchor());
        if (found == anchors_.end()) {
            // The word may be a password that begins with '*': it is not repeated.
            return fail(line,
                        "unknown alias; expected an anchor further up, or quotes around a text that begins with *");
        }
        if (!found->second) {
            return fail(line, fmt::format("alias to a node that contains it; expected a complete node, got *{}",
                                          printable(events_.anchor())));
        }
        if (!check_depth(depth + found->second->height, line) ||
            !count(found->second->nodes, found->second->bytes, line)) {
            return nullptr;
        }
        return found->second;
    }

    node_pointer scalar() {
        auto made = std::make_shared<yaml_node>();
        made->text = events_.text();
        made->bytes = made->text.size();
        if (!count(1, made->bytes, events_.line())) {
            return nullptr;
        }
        made->plain = events_.is_plain();
        made->tag = events_.tag();
        name(events_.anchor(), made);
        return made;
    }

    node_pointer collection(int depth) {
        if (!check_depth(depth + 1, events_.line()) || !count(1, 0, events_.line())) {
            return nullptr;
        }
        auto made = std::make_shared<yaml_node>();
        const bool is_mapping = events_.type() == yaml_event_kind::mapping_start;
        made->kind = is_mapping ? yaml_kind::mapping : yaml_kind::sequence;
        made->tag = events_.tag();
        const std::string anchor = events_.anchor();
        name(anchor, nullptr);
        if (!(is_mapping ? fill_mapping(*made, depth + 1) : fill_sequence(*made, depth + 1))) {
            return nullptr;
        }
        for (const auto& entry : made->entries) {
            made->nodes += entry.value->nodes + (is_mapping ? 1U : 0U);
            made->bytes += entry.value->bytes + entry.key.size();
            made->height = std::max(made->height, entry.value->height);
        }
        ++made->height;
        name(anchor, made);
        return made;
    }

    bool fill_sequence(yaml_node& list, int depth) {
        for (;;) {
            if (!next()) {
                return false;
            }
            if (events_.type() == yaml_event_kind::sequence_end) {
                return true;
            }
            const int line = events_.line();
            path_.push_back(fmt::format("[{}]", list.entries.size()));
            auto value = node(depth);
            path_.pop_back();
            if (!value) {
                return false;
            }
            list.entries.push_back({"", line, std::move(value)});
        }
    }

    bool fill_mapping(yaml_node& map, int depth) {
        std::map<std::string, std::size_t> places;
        std::vector<yaml_entry> merged;
        for (;;) {
            if (!next()) {
                return false;
            }
            if (events_.type() == yaml_event_kind::mapping_end) {
                // What is written in the map itself wins over what is merged into it.
                for (auto& entry : merged) {
                    if (places.try_emplace(entry.key, map.entries.size()).second) {
                        map.entries.push_back(std::move(entry));
                    }
                }
                return true;
            }
            const int line = events_.line();
            const auto key = node(depth);
            if (!key) {
                return false;
            }
            if (key->kind != yaml_kind::scalar) {
                fail(line, "a list or map as a key; expected a scalar");
                return false;
            }
            if (!next()) {
                return false;
            }
            path_.push_back((path_.empty() ? "" : ".") + printable(key->text));
            auto value = node(depth);
            const bool is_merge = key->text == "<<" && key->plain;
            const bool added = value && (is_merge ? merge(merged, value, line) : add(map, places, key, line, value));
            path_.pop_back();
            if (!added) {
                return false;
            }
        }
    }

    bool add(yaml_node& map, std::map<std::string, std::size_t>& places, const node_pointer& key, int line,
             const node_pointer& value) {
        const auto [place, is_new] = places.try_emplace(key->text, map.entries.size());
        if (is_new) {
            map.entries.push_back({key->text, line, value});
            return true;
        }
        auto& earlier = map.entries[place->second];
        std::string path;
        for (const auto& part : path_) {
            path += part;
        }
        problems_.add(severity::warning, line,
                      fmt::format("{}: duplicate key; expected it once, got it in lines {} and {}, the last one wins",
                                  path, earlier.line, line));
        earlier = {key->text, line, value};
        return true;
    }

    // `<<: {...}` or `<<: [{...}, {...}]`. Of several maps in a list the first wins, of several `<<` the last
    // (both as the reference's loader). fill_mapping keeps the first of a name, so what wins goes in front.
    bool merge(std::vector<yaml_entry>& merged, const node_pointer& value, int line) {
        std::vector<yaml_entry> more;
        const auto take = [&](const yaml_node& map) {
            more.insert(more.end(), map.entries.begin(), map.entries.end());
        };
        if (value->kind == yaml_kind::mapping) {
            take(*value);
        } else {
            const auto is_mapping = [](const yaml_entry& item) { return item.value->kind == yaml_kind::mapping; };
            if (value->kind == yaml_kind::scalar || !std::ranges::all_of(value->entries, is_mapping)) {
                fail(line, "nothing to merge; expected a map or a list of maps after <<");
                return false;
            }
            for (const auto& item : value->entries) {
                take(*item.value);
            }
        }
        merged.insert(merged.begin(), more.begin(), more.end());
        return true;
    }

    yaml_events events_;
    diagnostics problems_;  // warnings, handed over only if the document is accepted
    std::optional<problem> failure_;
    std::map<std::string, node_pointer> anchors_;
    std::vector<std::string> path_;
    std::size_t nodes_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace

node_pointer compose(std::string_view text, diagnostics& problems) {
    return composer(text, problems.file()).document(problems);
}

}  // namespace pvc::config
