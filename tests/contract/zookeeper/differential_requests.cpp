// The player's requests: how they are sent and how their answers are noted.
#include "contract/zookeeper/differential_player.hpp"

namespace pvc::contract::differential {

namespace {

using zookeeper::reply;

// What the port's own words do when they have checked a request: sent at once, answered on the spot. Only so the order
// of answers and events can be seen.
struct sending : zookeeper::client {
    struct taker final : zookeeper::reply_taker {
        explicit taker(std::function<void(const reply&)> what) : done(std::move(what)) {}
        void take(reply answer) override { done(answer); }
        std::function<void(const reply&)> done;
    };
    static void send_by(zookeeper::client& zk, request what, std::function<void(const reply&)> done) {
        (zk.*&sending::send)(what, reply_handler(std::make_shared<taker>(std::move(done))));
    }
};

}  // namespace

std::shared_ptr<player::flight> player::launch(std::size_t client, const std::vector<request>& requests,
                                               bool keeps_names) {
    auto all = std::make_shared<flight>();
    all->waiting = requests.size();
    std::vector<request> sent;
    for (const auto& one : requests) {
        sent.push_back(resolved(one));  // all before the first answer can add a name
    }
    for (auto& one : sent) {
        sending::send_by(zk(client), one, [this, client, one, all, keeps_names](const reply& answer) {
            note_answer(client, one, answer, keeps_names);
            if (--all->waiting == 0) {
                all->landed.notify();
            }
        });
    }
    return all;
}

awaitable<void> player::land(std::size_t client, std::shared_ptr<flight> all) {
    if (all->waiting == 0) {
        co_return;
    }
    const bool landed = co_await all->landed.wait_until(world_.clock(), soon(), "answers");
    require(landed, "client " + std::to_string(client) + ": an answer");
}

awaitable<void> player::say(std::size_t client, const request& what, duration limit) {
    const request sent = resolved(what);
    auto answer = co_await in_words(zk(client), sent, world_.clock().now() + limit);
    note_answer(client, sent, answer, true);
}

awaitable<reply> player::in_words(client& zk, request what, time_point deadline) {
    reply out;
    // Takes the outcome; true if there is more to take.
    const auto succeeded = [&out](const auto& got) {
        if (!got) {
            out.outcome = got.error();
        }
        return static_cast<bool>(got);
    };
    switch (what.what) {
        case request::kind::get:
            if (auto got = co_await zk.get(deadline, what.path, what.watch); succeeded(got)) {
                out.data = got->data;
                out.stat = got->stat;
            }
            break;
        case request::kind::exists:
            if (auto got = co_await zk.exists(deadline, what.path, what.watch); succeeded(got)) {
                out.stat = got->stat;
            }
            break;
        case request::kind::children:
            if (auto got = co_await zk.children(deadline, what.path, what.watch); succeeded(got)) {
                out.names = got->names;
                out.stat = got->stat;
            }
            break;
        case request::kind::create:
            if (auto got = co_await zk.create(deadline, what.path, what.data, what.mode); succeeded(got)) {
                out.data = got->path;
            }
            break;
        case request::kind::remove: succeeded(co_await zk.remove(deadline, what.path, what.version)); break;
        case request::kind::sync: succeeded(co_await zk.sync(deadline, what.path)); break;
        case request::kind::commit: {
            transaction all;
            for (const auto& one : what.operations) {
                switch (one.what) {
                    case zookeeper::operation::kind::create: all.create(one.path, one.data); break;
                    case zookeeper::operation::kind::set: all.set(one.path, one.data, one.version); break;
                    case zookeeper::operation::kind::remove: all.remove(one.path, one.version); break;
                    case zookeeper::operation::kind::check: all.check(one.path, one.version); break;
                }
            }
            if (auto got = co_await zk.commit(deadline, all); succeeded(got)) {
                out.stats = got->stats;
            }
            break;
        }
    }
    co_return out;
}

void player::note_answer(std::size_t client, const request& what, const reply& answer, bool keeps_names) {
    const std::string code(answer.outcome ? "ok" : to_text(answer.outcome.error().code()));
    ++out_.seen[std::string(to_text(what.what)) + ' ' + code];
    out_.steps.back().logs[client].push_back(answer_entry(what, answer));
    const bool is_named = what.what == request::kind::create && what.mode == create_mode::ephemeral_sequential;
    if (keeps_names && is_named && answer.outcome) {
        made_.push_back(answer.data);
    }
}

entry player::answer_entry(const request& what, const reply& answer) const {
    entry out;
    out.text = differential::text_of(what) + " -> ";
    if (!answer.outcome) {
        const auto& error = answer.outcome.error();
        out.text += std::string(to_text(error.code())) + ' ' + short_text(error.subject());
        return out;
    }
    out.text += "ok";
    const auto add_stat = [this, &out, &what](const zookeeper::node_stat& stat) {
        const auto owner = owners_.find(stat.ephemeral_owner);
        out.text += " version " + std::to_string(stat.version) + " children " + std::to_string(stat.child_count);
        if (what.path != "/" || scenario_.is_chrooted) {  // the real root has seen other runs
            out.text += " cversion " + std::to_string(stat.cversion);
        }
        if (stat.ephemeral_owner != 0) {
            out.text += " of " + (owner == owners_.end() ? "nobody known" : owner->second);
        }
        out.zxids.insert(out.zxids.end(), {stat.czxid, stat.mzxid, stat.pzxid});
    };
    switch (what.what) {
        case request::kind::get: out.text += " '" + short_text(answer.data) + '\''; break;
        case request::kind::children:
            for (const auto& name : answer.names) {
                out.text += ' ' + name;
            }
            break;
        case request::kind::create: out.text += ' ' + answer.data; return out;
        case request::kind::commit:
            for (std::size_t i = 0; i < answer.stats.size(); ++i) {
                if (what.operations.at(i).what == zookeeper::operation::kind::set) {
                    add_stat(answer.stats[i]);
                }
            }
            return out;
        case request::kind::remove:
        case request::kind::sync: return out;
        case request::kind::exists: break;
    }
    add_stat(answer.stat);
    return out;
}

request player::resolved(request what) const {
    if (what.what != request::kind::commit) {
        what.path = resolved(what.path);
    }
    for (auto& one : what.operations) {
        one.path = resolved(one.path);
    }
    return what;
}

std::string player::resolved(const std::string& path) const {
    if (is_reference(path)) {
        const auto slash = std::min(path.find('/'), path.size());
        const std::size_t number = std::stoul(path.substr(1, slash - 1));
        return (made_.empty() ? resolved("/a") : made_[number % made_.size()]) + path.substr(slash);
    }
    // Where the tree is not ours alone, everything but the root and what cannot be a path gets the prefix.
    const bool is_everybodys = path == "/" || path == "/zookeeper" || !path.starts_with('/') || path.starts_with("//");
    return scenario_.is_chrooted || is_everybodys ? path : std::string(home) + path;
}

awaitable<void> player::barrier() {
    auto all = std::make_shared<flight>();
    for (const auto& one : sessions_) {
        ++all->waiting;
        request what;
        what.what = request::kind::exists;
        what.path = "/";
        sending::send_by(*one->zk, what, [all](const reply& answer) {
            all->is_broken = all->is_broken || !answer.outcome;
            if (--all->waiting == 0) {
                all->landed.notify();
            }
        });
    }
    const bool landed = co_await all->landed.wait_until(world_.clock(), soon(), "a barrier");
    require(landed, "an answer to everybody");
    // A fresh connection may break once more on a loaded machine; the port's own words ask again on the next one.
    for (std::size_t i = 0; i < clients && all->is_broken; ++i) {
        auto there = co_await zk(i).exists(soon(), "/");
        require(static_cast<bool>(there), "a connection");
    }
}

awaitable<bool> player::eventually(std::function<bool()> condition) {
    const time_point end = soon();
    while (!condition()) {
        if (world_.clock().now() >= end) {
            co_return false;
        }
        co_await async::sleep_for(world_.clock(), 1ms, "a condition of a test");
    }
    co_return true;
}

void player::require(bool is_so, const std::string& what) {
    if (!is_so) {
        out_.problems.push_back("step " + std::to_string(out_.steps.size() - 1) + ": missing: " + what);
    }
}

void player::note(std::size_t client, std::string text, bool is_event) {
    entry fresh;
    fresh.text = std::move(text);
    if (is_event) {
        ++out_.seen[fresh.text.substr(0, fresh.text.find(" /"))];
    }
    fresh.is_event = is_event;
    out_.steps.back().logs[client].push_back(std::move(fresh));
}

}  // namespace pvc::contract::differential
