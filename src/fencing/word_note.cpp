#include "word_note.hpp"

#include "pvcnoded/model/fence_power.hpp"
#include "pvcnoded/model/schema.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace pvc::fencing {

namespace {

std::string power_path(const std::string& node) {
    return model::node_path(node, "/fencepower");
}

// When `on` was ordered since its last heartbeat, as the key tells. Another leader's clock may be behind that of the
// one that stamped the order: it is no younger than the word that named it.
std::optional<model::fence_power_key::order> order_in(const result<zookeeper::read_reply>& key,
                                                      std::int64_t heartbeat_id) {
    const auto found = key && key->stat.mzxid > heartbeat_id ? model::parse_fence_power(key->data) : std::nullopt;
    if (!found) {
        return std::nullopt;
    }
    const std::int64_t written = key->stat.mtime.count();
    if (found->is_on) {
        return model::fence_power_key::order{written, found->coordinator};
    }
    auto before = found->ordered;
    if (before) {
        before->at = std::min(before->at, written);
    }
    return before;
}

// The word that stands there, as its text; empty: none does.
std::string word_in(const result<zookeeper::read_reply>& key, std::int64_t heartbeat_id) {
    const auto found = key && key->stat.mzxid > heartbeat_id ? model::parse_fence_power(key->data) : std::nullopt;
    return found && !found->is_on ? key->data : std::string();
}

}  // namespace

async::awaitable<result<word_note>> note_word(core::session& s, std::string node, time_point until) {
    constexpr int most_tries = 5;  // whoever fences the node writes the key now and then
    const std::string beat = model::node_path(node, model::node_key::keepalive);
    result<word_note> out = failure(errc::timed_out, power_path(node), "it is written again and again");
    for (int tries = 0; tries < most_tries && s.node.clock().now() < until; ++tries) {
        std::vector<zookeeper::read_wish> wishes{{.path = beat, .with_data = false}, {.path = power_path(node)}};
        const auto got = co_await s.zk.read_together(s.limit(), std::move(wishes));
        if (!got[0]) {
            co_return got[0].error();
        }
        if (!got[1] && got[1].error().code() != errc::not_found) {
            co_return got[1].error();
        }
        const auto ordered = order_in(got[1], got[0]->stat.mzxid);
        const std::string text = to_text(model::fence_power_key{false, s.node.self(), ordered});
        zookeeper::transaction what;
        what.check(beat, got[0]->stat.version);
        if (!got[1]) {
            what.create(power_path(node), text);
        } else {
            what.set(power_path(node), text, got[1]->stat.version);
        }
        const auto done = co_await s.zk.commit(s.limit(), std::move(what));
        if (!done) {
            out = done.error();
            if (out.error().code() == errc::session_lost) {
                co_return out;
            }
            continue;
        }
        word_note note{.version = got[1] ? got[1]->stat.version + 1 : 0,
                       .beat_version = got[0]->stat.version,
                       .before = word_in(got[1], got[0]->stat.mzxid),
                       .ordered = {}};
        if (ordered) {
            const auto& stat = *std::ranges::max_element(done->stats, {}, &zookeeper::node_stat::mzxid);
            const auto ago = stat.mtime - std::chrono::milliseconds(ordered->at);
            note.ordered = {.ago = std::max<duration>(ago, duration::zero()), .by = ordered->by};
        }
        co_return note;
    }
    co_return out;
}

// The key stays, so that its version only grows: a fence that has read an older one must not take it for that. A word
// of before holds until the node's next heartbeat; after that it is not written again.
async::awaitable<void> take_note_back(core::session& s, std::string node, word_note what) {
    const std::string path = power_path(node);
    if (!what.before.empty()) {
        zookeeper::transaction earlier;
        earlier.check(model::node_path(node, model::node_key::keepalive), what.beat_version);
        earlier.set(path, what.before, what.version);
        const auto done = co_await s.zk.commit(s.limit(), std::move(earlier));
        if (done || done.error().code() != errc::version_conflict) {
            co_return;  // what stays keeps the node off until it beats, and no longer
        }
    }
    zookeeper::transaction removal;
    removal.set(path, std::string(model::no_fence_power), what.version);
    const auto done = co_await s.zk.commit(s.limit(), std::move(removal));
    ignore(done, "what stays keeps the node off until it beats, and no longer");
}

}  // namespace pvc::fencing
