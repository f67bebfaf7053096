// Steps and requests in words, for the report of a difference.
#include "contract/zookeeper/differential_scenario.hpp"

namespace pvc::contract::differential {

namespace {

std::string version_text(std::int32_t version) {
    return version == zookeeper::any_version ? "" : " version " + std::to_string(version);
}

std::string text_of(const zookeeper::operation& one) {
    using kind = zookeeper::operation::kind;
    switch (one.what) {
        case kind::create: return "create " + short_text(one.path) + " = " + short_text(one.data);
        case kind::set: return "set " + short_text(one.path) + " = " + short_text(one.data) + version_text(one.version);
        case kind::remove: return "remove " + short_text(one.path) + version_text(one.version);
        case kind::check: return "check " + short_text(one.path) + version_text(one.version);
    }
    return "unknown";
}

}  // namespace

std::string_view to_text(step_kind what) {
    switch (what) {
        case step_kind::single: return "single";
        case step_kind::pipeline: return "pipeline";
        case step_kind::together: return "together";
        case step_kind::drop: return "drop";
        case step_kind::lost_answers: return "lost answers";
        case step_kind::late_answers: return "late answers";
        case step_kind::no_way: return "no way";
        case step_kind::reopen: return "reopen";
        case step_kind::expire: return "expire";
        case step_kind::watch: return "watch";
        case step_kind::unwatch: return "unwatch";
        case step_kind::look_at_watched: return "look at what is watched";
        case step_kind::contend: return "contend";
        case step_kind::dump: return "dump";
    }
    return "unknown";
}

std::string_view to_text(request::kind what) {
    switch (what) {
        case request::kind::get: return "get";
        case request::kind::exists: return "exists";
        case request::kind::children: return "children";
        case request::kind::create: return "create";
        case request::kind::remove: return "remove";
        case request::kind::sync: return "sync";
        case request::kind::commit: return "commit";
    }
    return "unknown";
}

std::string short_text(const std::string& value) {
    if (value.size() > 48) {
        return std::to_string(value.size()) + " x '" + value.front() + '\'';
    }
    std::string out;
    for (const char c : value) {
        out += c == '\0' ? std::string("\\0") : std::string(1, c);
    }
    return out.empty() ? "''" : out;
}

std::string text_of(const request& what) {
    std::string out(to_text(what.what));
    if (what.what == request::kind::commit) {
        out += " {";
        for (const auto& one : what.operations) {
            out += (out.ends_with('{') ? "" : "; ") + text_of(one);
        }
        return out + '}';
    }
    out += ' ' + short_text(what.path);
    if (what.what == request::kind::create) {
        static constexpr std::string_view modes[] = {"", " ephemeral", " ephemeral sequential"};
        out += " = " + short_text(what.data) + std::string(modes[static_cast<std::size_t>(what.mode)]);
    } else if (what.what == request::kind::remove) {
        out += version_text(what.version);
    }
    return what.watch == zookeeper::watching::yes ? out + " watched" : out;
}

std::string text_of(const step& what) {
    std::string out(to_text(what.what));
    out += ", client " + std::to_string(what.client);
    if (what.what == step_kind::watch) {
        out += ": " + what.path + " kind " + std::to_string(static_cast<int>(what.watch));
    } else if (what.what == step_kind::unwatch) {
        out += ": number " + std::to_string(what.number);
    } else if (what.what == step_kind::contend) {
        out += ": " + what.path + ", " + std::string(model::to_text(what.first)) + " and then " +
               std::string(model::to_text(what.second));
    }
    for (const auto& one : what.requests) {
        out += "\n    " + text_of(one);
    }
    for (const auto& one : what.others) {
        out += "\n    the other: " + text_of(one);
    }
    return out;
}

}  // namespace pvc::contract::differential
