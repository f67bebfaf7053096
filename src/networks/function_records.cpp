#include "function_records.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/schema.hpp"

#include <algorithm>
#include <utility>

namespace pvc::networks {

namespace {

constexpr std::size_t keys_max = 200;  // of a function, with whatever somebody put there

// What passes by itself, or is seen anew at once, is not said.
bool is_worth_a_word(errc code) {
    switch (code) {
        case errc::not_found:
        case errc::already_exists:
        case errc::not_empty:
        case errc::version_conflict:
        case errc::outcome_unknown:
        case errc::timed_out:
        case errc::suspended:
        case errc::session_lost:
        case errc::stopped: return false;
        default: return true;
    }
}

std::vector<policy::network_remark> unwritten(const std::string& text) {
    std::vector<policy::network_remark> said;
    said.push_back({message::sriov_unwritten, false, text});
    return said;
}

}  // namespace

std::string function_records::root() const {
    return session_.own("/sriov");
}

// ---- keys

async::awaitable<void> function_records::settle(present known) {
    if (!pause_.is_over(session_.node.clock().now())) {
        co_return;
    }
    auto done = co_await settle_all(std::move(known));
    if (done) {
        pause_.succeeded();
    } else {
        pause_.failed(session_.node.clock().now());
    }
    if (done || is_worth_a_word(done.error().code())) {
        cards_.remarks().tell(
            "keys of virtual functions",
            done ? std::vector<policy::network_remark>()
                 : unwritten("keys of virtual functions were not written: " + done.error().text() + ", trying again"));
    }
}

async::awaitable<result<void>> function_records::settle_all(present known) {
    const auto config = session_.node.config;
    for (const auto& card : config->sriov.devices) {
        const auto* const seen = cards_.seen(card.phy);
        if (seen == nullptr) {
            continue;
        }
        const auto functions = *seen;
        if (!written_.contains(card.phy) || std::ranges::find(known.cards, card.phy) == known.cards.end()) {
            auto written = co_await write_card(card);
            if (!written) {
                co_return written;
            }
            written_.insert(card.phy);
        }
        std::vector<policy::network_remark> said;
        for (const auto& function : functions.functions) {
            const auto name = model::to_text(model::function_name{card.phy, function.index});
            if (known.functions.contains(name)) {
                continue;
            }
            auto keys = policy::keys_of_function(root(), card, functions, function);
            if (keys.empty()) {
                said.push_back({message::sriov_value, false,
                                "virtual function " + name + " has no address on the PCI bus, it gets no keys"});
                continue;
            }
            auto created = co_await create_all(std::move(keys));
            if (!created && created.error().code() != errc::already_exists) {
                co_return created;
            }
        }
        cards_.remarks().tell("functions of " + card.phy, std::move(said));
    }
    for (const auto& card : known.cards) {
        if (!policy::is_configured(*config, card)) {
            auto removed = co_await remove(policy::card_path(root(), card));
            if (!removed) {
                co_return removed;
            }
        }
    }
    for (const auto& [name, card] : known.functions) {
        if (policy::is_obsolete(*config, name, card)) {
            auto removed = co_await remove(policy::function_path(root(), name));
            if (!removed) {
                co_return removed;
            }
        }
    }
    co_return result<void>();
}

async::awaitable<result<void>> function_records::write_card(config::sriov_device card) {
    const auto* const seen = cards_.seen(card.phy);
    if (seen == nullptr) {
        co_return result<void>();
    }
    const auto keys = policy::keys_of_card(root(), card, *seen);
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& key : keys) {
        wishes.push_back({key.path});
    }
    const auto stored = co_await session_.zk.read_together(session_.limit(), std::move(wishes));
    zookeeper::transaction write;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (stored[i] && stored[i]->data != keys[i].value) {
            write.set(keys[i].path, keys[i].value, stored[i]->stat.version);
        } else if (!stored[i] && stored[i].error().code() == errc::not_found) {
            write.create(keys[i].path, keys[i].value);
        } else if (!stored[i]) {
            co_return stored[i].error();
        }
    }
    if (write.empty()) {
        co_return result<void>();
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(write));
    co_return done ? result<void>() : done.error();
}

async::awaitable<result<void>> function_records::create_all(std::vector<model::key_value> keys) {
    zookeeper::transaction write;
    const std::string about = keys.front().path;
    for (auto& key : keys) {
        write.create(std::move(key.path), std::move(key.value));
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(write));
    if (done) {
        session_.node.log.info(about + " is registered");
    }
    co_return done ? result<void>() : done.error();
}

// Parents first.
async::awaitable<result<std::vector<std::string>>> function_records::paths_below(std::string path) {
    std::vector<std::string> all{std::move(path)};
    for (std::size_t at = 0; at < all.size(); ++at) {
        const std::string parent = all[at];
        auto below = co_await session_.zk.children(session_.limit(), parent);
        if (!below) {
            co_return below.error();
        }
        for (const auto& name : below->names) {
            all.push_back(model::child_path(parent, name));
        }
        if (all.size() > keys_max) {
            co_return failure(errc::too_large, all.front(), "too many keys below it");
        }
    }
    co_return all;
}

async::awaitable<result<void>> function_records::remove(std::string path) {
    auto all = co_await paths_below(path);
    if (!all) {
        co_return all.error().code() == errc::not_found ? result<void>() : all.error();
    }
    zookeeper::transaction write;
    for (auto one = all->rbegin(); one != all->rend(); ++one) {
        write.remove(*one, zookeeper::any_version);
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(write));
    if (done) {
        session_.node.log.info(path + " is removed: its network card is not configured any more");
    }
    co_return done || done.error().code() == errc::not_found ? result<void>() : done.error();
}

// ---- who uses a function

async::awaitable<result<void>> function_records::prove_absent(std::string used_by) {
    const auto id = parse_any_uuid(used_by);
    if (!id) {
        co_return result<void>();  // nobody can be called so
    }
    const std::string path = model::domain_path(to_text(*id));
    auto synced = co_await session_.zk.sync(session_.limit(), path);
    if (!synced) {
        co_return synced.error();
    }
    auto there = co_await session_.zk.exists(session_.limit(), path);
    if (there) {
        co_return failure(errc::already_exists, path);
    }
    co_return there.error().code() == errc::not_found ? result<void>() : there.error();
}

async::awaitable<bool> function_records::change_user(policy::function_change what) {
    const std::string about = "user of " + what.function;
    const std::string text = "virtual function " + what.function +
                             (what.taker ? " was not given to the virtual machine that has it" : " was not set free");
    auto done = co_await change_user_now(std::move(what));
    if (done || is_worth_a_word(done.error().code())) {
        cards_.remarks().tell(about, done ? std::vector<policy::network_remark>()
                                          : unwritten(text + ": " + done.error().text() + ", trying again"));
    }
    co_return done.has_value();
}

async::awaitable<result<void>> function_records::guard(zookeeper::transaction& write,
                                                       policy::function_change::guard machine, bool with_xml) {
    const std::string path = model::domain_path(to_text(machine.id));
    std::vector<zookeeper::read_wish> wishes;
    for (const auto* key : {model::domain_key::node, model::domain_key::state, model::domain_key::xml}) {
        wishes.push_back({path + key});
    }
    if (!with_xml) {
        wishes.pop_back();
    }
    const auto stored = co_await session_.zk.read_together(session_.limit(), wishes);
    for (std::size_t i = 0; i < stored.size(); ++i) {
        if (!stored[i]) {
            co_return stored[i].error();
        }
        write.check(wishes[i].path, stored[i]->stat.version);
    }
    const bool is_same = std::max(stored[0]->stat.mzxid, stored[1]->stat.mzxid) == machine.written &&
                         (!with_xml || stored[2]->stat.mzxid == machine.xml_written);
    co_return is_same ? result<void>() : failure(errc::version_conflict, path, "somebody wrote it");
}

async::awaitable<result<void>> function_records::change_user_now(policy::function_change what) {
    zookeeper::transaction write;
    if (what.user) {
        if (auto same = co_await guard(write, *what.user, false); !same) {
            co_return same.error();
        }
    } else if (what.was_used) {
        if (auto absent = co_await prove_absent(what.used_by); !absent) {
            co_return absent.error();
        }
        write.check(std::string(model::key_path::domains), zookeeper::any_version);
    }
    if (what.taker) {
        if (auto same = co_await guard(write, *what.taker, true); !same) {
            co_return same.error();
        }
    }
    const std::string path = policy::function_path(root(), what.function);
    std::vector<zookeeper::read_wish> wishes;
    for (const auto* key : {"/used", "/used_by", "/mac", "/phy_mac"}) {
        wishes.push_back({path + key});
    }
    const auto stored = co_await session_.zk.read_together(session_.limit(), std::move(wishes));
    std::int64_t written = 0;
    for (std::size_t i = 0; i < stored.size(); ++i) {
        if (!stored[i] && stored[i].error().code() != errc::not_found) {
            co_return stored[i].error();
        }
        const bool is_of_clients = i != 3;  // all but phy_mac
        if (stored[i] && is_of_clients) {
            written = std::max(written, stored[i]->stat.mzxid);
        }
    }
    const auto& used = stored[0];
    const auto& user = stored[1];
    const auto& mac = stored[2];
    const auto& own_mac = stored[3];
    const bool is_used = used && used->data == model::boolean_text(true);
    if (!used || is_used != what.was_used || (what.taker && !user) || (user ? user->data : "") != what.used_by ||
        written != what.written) {
        co_return failure(errc::version_conflict, path, "somebody wrote it");
    }
    const std::string id = what.taker ? to_text(what.taker->id) : "";
    write.set(path + "/used", std::string(model::boolean_text(what.taker.has_value())), used->stat.version);
    if (user) {
        write.set(path + "/used_by", id, user->stat.version);
    }
    if (mac && what.taker && !what.mac.empty()) {
        write.set(path + "/mac", what.mac, mac->stat.version);
    } else if (mac && !what.taker && own_mac && !own_mac->data.empty()) {
        write.set(path + "/mac", own_mac->data, mac->stat.version);
        write.check(path + "/phy_mac", own_mac->stat.version);
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(write));
    if (!done) {
        co_return done.error();
    }
    const std::string about = "virtual function " + what.function;
    const std::string before = "the virtual machine `" + shown(what.used_by) + "`, which used it,";
    if (what.taker) {
        session_.node.log.info(about + " is used by the virtual machine " + id +
                               ", which has it by its XML and runs here: its keys say so from now on");
    } else {
        session_.node.log.info(about + " is free again: " + before +
                               (what.user ? " belongs to another node now" : " is no more"));
    }
    co_return result<void>();
}

}  // namespace pvc::networks
