// The tree of config.md 1: aliases, merges, duplicates, encoding, limits (case 44).
#include "pvcnoded/config/yaml.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <string>
#include <vector>

namespace pvc::config::test {
namespace {

using lines = std::vector<std::string>;

// Flow notation of a tree: scalars as they are, [a,b], {k:v}.
std::string flow(const yaml_node& node) {
    if (node.kind == yaml_kind::scalar) {
        return node.text;
    }
    std::string out;
    for (const auto& entry : node.entries) {
        out += out.empty() ? "" : ",";
        out += node.kind == yaml_kind::mapping ? entry.key + ":" : "";
        out += flow(*entry.value);
    }
    return node.kind == yaml_kind::mapping ? "{" + out + "}" : "[" + out + "]";
}

struct parsed {
    std::string tree;  // "" if refused
    lines messages;
};

parsed parse(std::string_view text) {
    diagnostics problems("f");
    const auto root = parse_yaml(text, problems);
    parsed out;
    out.tree = root ? flow(*root) : "";
    for (const auto& each : problems.take()) {
        out.messages.push_back(each.message());
    }
    return out;
}

std::string repeated(std::string_view part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) {
        out += part;
    }
    return out;
}

TEST(yaml, trees) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"a: 1\nb: [x, {c: d}]\n", "{a:1,b:[x,{c:d}]}"},
        {"\xef\xbb\xbf"
         "a: 1",
         "{a:1}"},
        {"%YAML 1.1\n---\na: 1\n...\n", "{a:1}"},
        {"a: &x [1, 2]\nb: *x\n", "{a:[1,2],b:[1,2]}"},
        {"a: &x {k: v}\nb:\n  <<: *x\n  l: w\n", "{a:{k:v},b:{l:w,k:v}}"},
        {"a: &x {k: v}\nb:\n  k: own\n  <<: *x\n", "{a:{k:v},b:{k:own}}"},
        {"b:\n  <<: [{k: first, m: 1}, {k: second, n: 2}]\n", "{b:{k:first,m:1,n:2}}"},
        {"b:\n  <<: {k: first}\n  <<: {k: second}\n", "{b:{k:second}}"},
        {"b: {<<: {k: inner, <<: {k: x, z: y}}}\n", "{b:{k:inner,z:y}}"},
        {"b: {'<<': {k: v}}\n", "{b:{<<:{k:v}}}"},
        {"a: &x 1\nb: &x 2\nc: *x\n", "{a:1,b:2,c:2}"},
        {"&k a: 1\nb: {*k : 2}\n", "{a:1,b:{a:2}}"},
        {"a: \"x\\ty\"\nb: |\n  l1\n  l2\n", "{a:x\ty,b:l1\nl2\n}"},
        {"? a\n: b\n", "{a:b}"},
    };
    for (const auto& [text, tree] : table) {
        const auto got = parse(text);
        EXPECT_EQ(got.tree, tree) << text;
        EXPECT_EQ(got.messages, lines{}) << text;
    }
}

TEST(yaml, lines_are_those_of_keys_and_items) {
    diagnostics problems("f");
    const auto root = parse_yaml("\na:\n  b: 1\nc:\n- x\n-\n  y: &z\n    w: 1\nd: *z\n", problems);
    ASSERT_TRUE(root);
    EXPECT_EQ(root->find("a")->line, 2);
    EXPECT_EQ(root->find("a")->value->find("b")->line, 3);
    EXPECT_EQ(root->find("c")->value->entries[0].line, 5);
    EXPECT_EQ(root->find("d")->line, 9);
    EXPECT_EQ(root->find("d")->value->find("w")->line, 8);
    EXPECT_EQ(root->find("e"), nullptr);
}

TEST(yaml, duplicate_keys) {
    const auto got = parse("a:\n  - b: 1\n    b: 2\n    c: 3\n    b: 4\n");
    EXPECT_EQ(got.tree, "{a:[{b:4,c:3}]}");
    EXPECT_EQ(
        got.messages,
        (lines{"warning: f:3: a[0].b: duplicate key; expected it once, got it in lines 2 and 3, the last one wins",
               "warning: f:5: a[0].b: duplicate key; expected it once, got it in lines 3 and 5, the last one wins"}));
}

TEST(yaml, refused) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"", "f:1: no document; expected a mapping with the key pvc, got an empty file"},
        {"# only a comment\n", "f:1: no document; expected a mapping with the key pvc, got an empty file"},
        {"a: 1\n---\nb: 2\n", "f:2: a second document; expected exactly one YAML document"},
        {"a: 1\n...\n---\nb: 2\n", "f:3: a second document; expected exactly one YAML document"},
        {"a: 1\nb: [\n",
         "f:2: not valid YAML: what begins here does not end as it should: did not find expected node content at line "
         "3; "
         "expected a YAML document"},
        {"a: 1\nb: 'x\nc: 2\nd: 3\n",
         "f:2: not valid YAML: what begins here does not end as it should: found unexpected end of stream at line 5; "
         "expected a YAML document"},
        {"a: 1\nb: \"x\nc: 2\nd: \"y\"\ne: 3\n",
         "f:2: not valid YAML: what begins here does not end as it should: did not find expected key at line 4; "
         "expected a YAML document"},
        {"a: 1\nb: 2\n  c: 3\n",
         "f:3: not valid YAML: mapping values are not allowed in this context; expected a YAML document"},
        {"a: 1\nb: \x01\n", "f:2: not valid YAML: control characters are not allowed; expected a YAML document"},
        {std::string("a: 1\nb: \0\n", 10),
         "f:2: not valid YAML: control characters are not allowed; expected a YAML document"},
        {"a: 1\nb: \xff\n", "f:2: not valid UTF-8; expected UTF-8 text"},
        {"\xff\xfe"
         "a",
         "f:1: not valid UTF-8; expected UTF-8 text"},
        {"a: \xc3\xa4\nb: \xc0\xaf\n", "f:2: not valid UTF-8; expected UTF-8 text"},
        {"a: \xed\xa0\x80\n", "f:1: not valid UTF-8; expected UTF-8 text"},
        {"a: \xf4\x90\x80\x80\n", "f:1: not valid UTF-8; expected UTF-8 text"},
        {"a: \xe2\x82", "f:1: not valid UTF-8; expected UTF-8 text"},
        {"a: 1\nb: *x\n",
         "f:2: unknown alias; expected an anchor further up, or quotes around a text that begins with *"},
        {"a: &x\n  b: *x\n", "f:2: alias to a node that contains it; expected a complete node, got *x"},
        {"a: 1\n? [b]\n: c\n", "f:2: a list or map as a key; expected a scalar"},
        {"a:\n  <<: b\n", "f:2: nothing to merge; expected a map or a list of maps after <<"},
        {"a:\n  <<: [{b: c}, d]\n", "f:2: nothing to merge; expected a map or a list of maps after <<"},
        {repeated("%TAG !a! b\n", 101) + "--- a\n",
         "f:101: too many directives; expected at most 100 lines that begin with %"},
        // Of several problems only the first: the warning about a duplicate is not given for a refused file.
        {"a: 1\na: 2\nb: *x\n",
         "f:3: unknown alias; expected an anchor further up, or quotes around a text that begins with *"},
    };
    for (const auto& [text, message] : table) {
        const auto got = parse(text);
        EXPECT_EQ(got.tree, "") << text.substr(0, 100);
        EXPECT_EQ(got.messages, lines{message}) << text.substr(0, 100);
    }
}

TEST(yaml, no_text_at_all) {
    EXPECT_EQ(parse(std::string_view()).messages,
              lines{"f:1: no document; expected a mapping with the key pvc, got an empty file"});
}

TEST(yaml, well_formed_utf8_is_accepted) {
    const auto got = parse("a: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n");
    EXPECT_EQ(got.tree, "{a:\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80}");
}

// Up to a limit, and one beyond it.
TEST(yaml, limits) {
    const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    EXPECT_EQ(parse(nested(32)).messages, lines{});
    EXPECT_EQ(parse(nested(33)).messages, lines{"f:1: too deeply nested; expected at most 32 levels"});

    const std::string many = "too many nodes; expected at most 10000 lists, maps, keys and scalars";
    EXPECT_EQ(parse("[" + repeated("a,", 9999) + "]").messages, lines{});
    EXPECT_EQ(parse("[" + repeated("a,\n", 10000) + "]").messages, lines{"f:10000: " + many});
    // A key counts, and so does what an alias stands for.
    EXPECT_EQ(parse("a: [" + repeated("a,", 9997) + "]").messages, lines{});
    EXPECT_EQ(parse("a: [" + repeated("a,", 9998) + "]").messages, lines{"f:1: " + many});
    EXPECT_EQ(parse("a: &x [1,2,3]\nb: [" + repeated("*x,", 2497) + "]").messages, lines{});
    EXPECT_EQ(parse("a: &x [1,2,3]\nb: [" + repeated("*x,", 2499) + "]").messages, lines{"f:2: " + many});

    const std::string comment = "a: 1\n#" + std::string(max_file_bytes - 6, 'x');
    EXPECT_EQ(parse(comment).messages, lines{});
    EXPECT_EQ(parse(comment + "x").messages, lines{"f:2: file too large; expected at most 1 MiB"});
}

// A long text and many aliases: shared in the tree, but not by everyone who reads it.
TEST(yaml, text_counts_through_aliases) {
    const std::string text = "a: &x " + std::string(1'000'000, 't') + "\nb: [*x, *x, *x";
    EXPECT_EQ(parse(text + "]").messages, lines{});
    EXPECT_EQ(parse(text + ",\n*x]").messages,
              lines{"f:3: too much text; expected at most 4 MiB after expansion of aliases"});
    const std::string key = "a: &x {? " + std::string(1'000'000, 'k') + " : 1}\nb:\n  <<: [*x, *x, *x";
    EXPECT_EQ(parse(key + "]").messages, lines{});
    EXPECT_EQ(parse(key + ",\n   *x]").messages,
              lines{"f:4: too much text; expected at most 4 MiB after expansion of aliases"});
}

TEST(yaml, depth_counts_through_aliases) {
    const std::string deep = "a: &x " + std::string(20, '[') + std::string(20, ']') + "\nb: ";
    EXPECT_EQ(parse(deep + std::string(11, '[') + "*x" + std::string(11, ']')).messages, lines{});
    EXPECT_EQ(parse(deep + std::string(12, '[') + "*x" + std::string(12, ']')).messages,
              lines{"f:2: too deeply nested; expected at most 32 levels"});
}

// Nine levels of nine references each: 9^8 scalars when expanded.
std::string alias_bomb() {
    std::string text = "l0: &l0 [x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 8; ++i) {
        const std::string below = "*l" + std::to_string(i - 1);
        text += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [" + repeated(below + ",", 8) + below + "]\n";
    }
    return text;
}

struct usage {
    double cpu_seconds;  // not elapsed time: the machine may be busy
    long peak_kib;
};

usage used() {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return {seconds(now.ru_utime) + seconds(now.ru_stime), now.ru_maxrss};
}

// Case 44: exactly one located message, within 1 s and 64 MiB.
TEST(config, case_44_limits_are_cheap) {
    const std::string big = "a: 1\n#" + std::string(max_file_bytes - 5, 'x');
    const std::vector<std::pair<std::string, std::string>> table{
        {big, "f:2: file too large; expected at most 1 MiB"},
        {repeated("[\n", 33), "f:33: too deeply nested; expected at most 32 levels"},
        {std::string(max_file_bytes, '['), "f:1: too deeply nested; expected at most 32 levels"},
        {repeated("- ", 500'000), "f:1: too deeply nested; expected at most 32 levels"},
        {alias_bomb(), "f:5: too many nodes; expected at most 10000 lists, maps, keys and scalars"},
        {repeated("- a\n", 10'001), "f:10000: too many nodes; expected at most 10000 lists, maps, keys and scalars"},
        {repeated("%TAG !a! b\n", 90'000), "f:101: too many directives; expected at most 100 lines that begin with %"},
    };
    const auto before = used();
    for (const auto& [text, message] : table) {
        const auto start = used();
        diagnostics problems("f");
        EXPECT_EQ(parse_yaml(text, problems), nullptr);
        EXPECT_LT(used().cpu_seconds - start.cpu_seconds, 1) << message;
        const auto all = problems.take();
        ASSERT_EQ(all.size(), 1U);
        EXPECT_EQ(all[0].message(), message);
    }
    EXPECT_LT(used().peak_kib - before.peak_kib, 64 * 1024);
}

}  // namespace
}  // namespace pvc::config::test
