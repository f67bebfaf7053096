#include "contract/zookeeper/differential_scenario.hpp"

#include "pvcnoded/base/random.hpp"

#include <array>
#include <span>
#include <utility>

namespace pvc::contract::differential {

namespace {

using request_kind = request::kind;
using zookeeper::create_mode;
using zookeeper::operation;
using zookeeper::watching;

constexpr std::array<std::string_view, 12> names{"/a",     "/b",     "/c",         "/a/x", "/a/y",  "/b/x",
                                                 "/a/x/1", "/a/x/2", "/a/x/1/far", "/c/n", "/c0/n", "/c1/n"};
// Not the node above them: its siblings and its parent are everybody's.
constexpr std::array<std::string_view, 4> names_below{"/n", "/m", "/n/deep", "/n/deep/er"};

// Draws one thing after another.
class drawer {
public:
    drawer(std::uint64_t seed, bool is_chrooted)
        : random_(random_source(seed).split("differential")), is_chrooted_(is_chrooted) {}

    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
    bool chance(std::uint64_t percent) { return below(100) < percent; }
    template <class T>
    T any_of(std::span<const T> from) {
        return from[below(from.size())];
    }
    std::size_t weighted(std::span<const unsigned> weights) {
        unsigned sum = 0;
        for (const unsigned one : weights) {
            sum += one;
        }
        std::uint64_t at = below(sum);
        std::size_t chosen = 0;
        while (at >= weights[chosen]) {
            at -= weights[chosen++];
        }
        return chosen;
    }

    // A well-formed path; `area` "": anywhere.
    std::string path(const std::string& area) {
        if (!area.empty()) {
            return area + std::string(any_of<std::string_view>(names_below));
        }
        if (chance(12)) {
            return '@' + std::to_string(below(8)) + (chance(25) ? "/below" : "");
        }
        if (chance(3)) {
            return chance(50) ? "/" : "/zookeeper";
        }
        return std::string(any_of<std::string_view>(names));
    }
    std::string malformed_path() {
        static const std::array<std::string, 9> all{
            "", "a", "/a/", "//a", "/a//x", "/a/./x", "/a/..", std::string("/a\0x", 4), "/a/x/",
        };
        return any_of<std::string>(all);
    }
    std::int32_t version() {
        static constexpr std::array<unsigned, 4> weights{50, 25, 15, 10};
        return static_cast<std::int32_t>(weighted(weights)) - 1;
    }
    std::string value() { return chance(20) ? "" : std::to_string(++values_); }
    std::string large_value() {
        static constexpr std::array<std::size_t, 3> sizes{300UL * 1024, zookeeper::value_limit_bytes,
                                                          zookeeper::value_limit_bytes + 1};
        return std::string(any_of<std::size_t>(sizes), static_cast<char>('a' + below(26)));
    }
    create_mode mode() {
        static constexpr std::array<unsigned, 3> weights{60, 18, 22};
        return static_cast<create_mode>(weighted(weights));
    }
    // The root belongs to all runs: a write to it would show in the next one.
    std::string path_to_set(const std::string& area) {
        std::string out = path(area);
        return out == "/zookeeper" || (out == "/" && !is_chrooted_) ? "/a" : out;
    }

    request any(const std::string& area) {
        static constexpr std::array<unsigned, 7> weights{14, 12, 10, 24, 14, 3, 23};
        request out;
        out.what = static_cast<request_kind>(weighted(weights));
        out.path = path(area);
        switch (out.what) {
            case request_kind::get:
            case request_kind::exists:
            case request_kind::children: out.watch = chance(70) ? watching::yes : watching::no; break;
            case request_kind::create:
                out.data = value();
                // With a sequence they would be new names at the root.
                out.mode = out.path == "/" || out.path == "/zookeeper" ? create_mode::persistent : mode();
                break;
            case request_kind::remove: out.version = version(); break;
            case request_kind::sync: break;
            case request_kind::commit:
                out.path.clear();
                out.operations = operations(area);
                break;
        }
        return out;
    }
    std::vector<request> several(const std::string& area, std::size_t least, std::size_t most) {
        std::vector<request> out(least + below(most - least + 1));
        for (auto& one : out) {
            one = any(area);
        }
        return out;
    }
    // In the port's own words: also what it refuses by itself.
    request in_words() {
        request out = any("");
        if (chance(6) && out.what != request_kind::commit) {
            out.path = malformed_path();
        } else if (chance(3) && out.what == request_kind::create) {
            out.data = large_value();
        } else if (out.what == request_kind::commit && chance(10)) {
            out.operations.clear();
        } else if (out.what == request_kind::commit && chance(12)) {
            auto& one = out.operations[below(out.operations.size())];
            if (chance(60)) {
                one.path = malformed_path();
            } else {
                one.data = large_value();
                out.operations.push_back({operation::kind::create, "/b/x", large_value()});
            }
        }
        return out;
    }
    step next();

private:
    std::vector<operation> operations(const std::string& area) {
        using kind = operation::kind;
        std::string one = path_to_set(area);
        one = one == "/" ? "/b" : one;
        switch (below(9)) {
            case 0:  // comes and goes
                return {{kind::create, one, value()}, {kind::set, one, value(), 0}, {kind::remove, one, {}, 1}};
            case 1:  // a parent with its child
                return {{kind::create, one, value()}, {kind::create, one + "/n", value()}};
            case 2:  // in the right order, or not
                return chance(50) ? std::vector<operation>{{kind::remove, one + "/n", {}}, {kind::remove, one, {}}}
                                  : std::vector<operation>{{kind::remove, one, {}}, {kind::remove, one + "/n", {}}};
            case 3:  // goes and comes
                return {{kind::remove, one, {}, version()}, {kind::create, one, value()}};
            case 4: return {{kind::set, one, value()}};
            case 5: return {{kind::set, one, value()}, {kind::check, path_to_set(area), {}, version()}};
            default: break;
        }
        std::vector<operation> out(1 + below(1 + below(6)));
        for (auto& each : out) {
            each.what = static_cast<kind>(below(4));
            each.path = path_to_set(area);
            if (each.what == kind::create || each.what == kind::set) {
                each.data = value();
            }
            if (each.what != kind::create && chance(50)) {
                each.version = version();
            }
        }
        return out;
    }

    random_source random_;
    bool is_chrooted_;
    unsigned values_ = 0;
};

step drawer::next() {
    static constexpr std::array<unsigned, 14> weights{420, 300, 80, 20, 15, 15, 5, 20, 4, 45, 15, 35, 12, 5};
    step out;
    out.what = static_cast<step_kind>(weighted(weights));
    out.client = below(requesters);
    switch (out.what) {
        case step_kind::single:
        case step_kind::late_answers: out.requests = {in_words()}; break;
        case step_kind::pipeline: out.requests = several("", 2, 10); break;
        case step_kind::lost_answers: out.requests = several("", 1, 6); break;
        case step_kind::together:
            out.client = 0;
            out.requests = several("/c0", 1, 8);
            out.others = several("/c1", 1, 8);
            break;
        case step_kind::no_way:
            out.requests = {in_words()};
            out.others = several("", 1, 6);
            break;
        case step_kind::drop:
        case step_kind::reopen: out.client = below(out.what == step_kind::drop ? clients : requesters); break;
        case step_kind::watch:
            out.client = requesters + below(clients - requesters);
            out.path = path("");
            out.watch = static_cast<zookeeper::watch_kind>(below(4));
            break;
        case step_kind::unwatch: out.number = below(16); break;
        case step_kind::contend:
            out.path = std::string(any_of<std::string_view>(names));
            out.first = static_cast<model::lock_kind>(below(3));
            out.second = static_cast<model::lock_kind>(below(3));
            break;
        case step_kind::expire: out.requests = {in_words()}; break;
        case step_kind::look_at_watched:
        case step_kind::dump: break;
    }
    return out;
}

}  // namespace

scenario generate(std::uint64_t seed, std::size_t steps) {
    scenario out;
    out.seed = seed;
    out.is_chrooted = seed % 2 == 0;
    drawer draw(seed, out.is_chrooted);
    for (std::size_t i = 0; i < steps; ++i) {
        out.steps.push_back(draw.next());
    }
    for (const auto last : {step_kind::look_at_watched, step_kind::dump}) {
        out.steps.emplace_back().what = last;
    }
    return out;
}

bool is_reference(const std::string& path) {
    return path.starts_with('@');
}

}  // namespace pvc::contract::differential
