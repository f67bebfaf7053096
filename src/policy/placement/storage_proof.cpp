#include "pvcnoded/policy/placement/storage_proof.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/ceph_blocklist.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

constexpr int rounds_max = 3;
// An outage may last longer than Ceph keeps a client away by itself (an hour).
constexpr std::chrono::hours block_time{24};

bool has_client(const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::any_of(all, [&](const std::string& other) { return model::is_same_client(one, other); });
}

}  // namespace

proof_ask::any proving_by_storage::finish(outcome how, std::string why) {
    where = at::over;
    end = how;
    reason = std::move(why);
    return proof_ask::nothing{};
}

proof_ask::any proving_by_storage::list(at which) {
    where = which;
    return proof_ask::clients{volumes};
}

// Why a first look at the clients shows nothing, whoever is kept out then.
std::optional<std::string> proving_by_storage::unproven(const proof_said::clients& said) const {
    bool has_any = false;
    for (const auto& one : said.volumes) {
        if (one.error) {
            return "the clients of " + shown(one.volume) + " are not known: " + *one.error;
        }
        const bool is_known = std::ranges::find(before.volumes, one.volume) != before.volumes.end();
        if (!one.is_missing && one.addresses.empty() && !is_known) {
            return "nobody has " + shown(one.volume) + " open, so that who had it cannot be told";
        }
        has_any = has_any || !one.is_missing;
    }
    return has_any ? std::nullopt : std::optional<std::string>("none of its disks exists");
}

// Whoever is not on the list of this machine's earlier rounds is to be put there.
proof_ask::any proving_by_storage::take(const proof_said::clients& said) {
    if (where == at::listing) {
        if (auto why = unproven(said)) {
            return finish(outcome::refused, *std::move(why));
        }
    }
    to_block.clear();
    const auto note = [this](const std::string& address) {
        if (!has_client(blocked, address) && !has_client(to_block, address)) {
            to_block.push_back(address);
        }
        if (!has_client(clients, address)) {
            clients.push_back(address);
        }
    };
    for (const auto& one : said.volumes) {
        if (one.error) {
            return finish(outcome::refused, "the clients of " + shown(one.volume) + " are not known: " + *one.error);
        }
        std::ranges::for_each(one.addresses, note);
    }
    if (where == at::listing) {
        std::ranges::for_each(before.addresses, note);
    }
    if (!to_block.empty() && where == at::listing_again && ++round > rounds_max) {
        return finish(outcome::refused, "new clients come again and again, " + shown(to_block.front()) + " among them");
    }
    if (to_block.empty() && where == at::listing_again) {
        return finish(outcome::proven);
    }
    return go_on();
}

proof_ask::any proving_by_storage::go_on() {
    if (to_block.empty()) {
        where = at::checking;
        return proof_ask::blocklisted{};
    }
    where = at::asking;
    return proof_ask::still_wanted{};
}

// What was asked for is not yet so: the monitors say which clients they refuse.
proof_ask::any proving_by_storage::check(const proof_said::blocklisted& said) {
    if (said.error) {
        return finish(outcome::refused, "the blocklist of Ceph cannot be read: " + *said.error);
    }
    const auto missing = std::ranges::find_if(
        blocked, [&said](const std::string& address) { return !has_client(said.addresses, address); });
    if (missing == blocked.end()) {
        return list(at::listing_again);
    }
    if (++round > rounds_max) {
        return finish(outcome::refused, shown(*missing) + " does not come to be on the blocklist of Ceph");
    }
    to_block.assign(1, *missing);
    blocked.erase(missing);
    return go_on();
}

proof_ask::any proving_by_storage::resume(const proof_said::any& said) {
    switch (where) {
        case at::begin:
            if (volumes.empty()) {
                return finish(outcome::refused, "it has no disk by which this could be shown");
            }
            return list(at::listing);
        case at::listing:
        case at::listing_again: return take(std::get<proof_said::clients>(said));
        case at::asking: {
            const auto proof = std::get<proof_said::proof>(said).at;
            if (!proof) {
                return finish(outcome::changed);
            }
            where = at::blocking;
            return proof_ask::blocklist{to_block.front(), block_time, *proof, by_command};
        }
        case at::blocking: {
            const auto& done = std::get<proof_said::done>(said);
            if (done.error && done.is_not_understood && !by_command) {
                by_command = true;
                return go_on();  // the same client, on a proof of its own
            }
            if (const auto& wrong = done.error) {
                return finish(outcome::refused,
                              "the client " + shown(to_block.front()) + " could not be blocklisted: " + *wrong);
            }
            blocked.push_back(std::move(to_block.front()));
            to_block.erase(to_block.begin());
            return go_on();
        }
        case at::checking: return check(std::get<proof_said::blocklisted>(said));
        case at::over: break;
    }
    return proof_ask::nothing{};
}

}  // namespace pvc::policy
