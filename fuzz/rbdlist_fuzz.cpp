// Volumes and their locks. First line: rbdlist; second: own addresses, separated by blanks; then one lock a line, as
// "volume id address". Every volume once; all locks are to be broken or none; whose an address is, is judged alike
// here. Covers: src/policy/placement/rbd_lock_policy.cpp src/model/domain_xml.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/address.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/policy/placement/rbd_lock_policy.hpp"

#include <set>

using namespace pvc::policy;

static void check_volumes(std::string_view rbdlist) {
    pvc::model::domain_xml stored;
    for (const auto& [target, source, is_rbd] :
         {std::tuple("sda", "vms/a", true), {"sdb", "vms/b", false}, {"sdc", "", false}, {"sdd", "vms/a", true}}) {
        stored.disks.push_back({target, source, is_rbd, false, {}});
    }
    const auto volumes = pvc::model::rbd_volumes(rbdlist, stored);
    PVC_ASSERT(std::set(volumes.begin(), volumes.end()).size() == volumes.size());
    PVC_ASSERT(std::ranges::count(volumes, "vms/a") == 1);
    for (const auto& volume : volumes) {
        PVC_ASSERT(!volume.empty() && pvc::trim(volume) == volume && volume.find(',') == std::string::npos);
        PVC_ASSERT(volume == "vms/a" || rbdlist.find(volume) != std::string_view::npos);
    }
    PVC_ASSERT(pvc::model::rbd_volumes(pvc::join(volumes, ","), stored) == volumes);
}

static void check_address(std::string_view text) {
    if (const auto address = parse_lock_address(text)) {
        const auto name = address->is_v6() ? '[' + address->to_string() + ']' : address->to_string();
        PVC_ASSERT(parse_own_address(address->to_string()) == address);
        PVC_ASSERT(parse_lock_address("v2:" + name + ":0/1") == address);
        PVC_ASSERT(!parse_lock_address(name) && !parse_lock_address(std::string(text) + ' '));
        PVC_ASSERT(!parse_lock_address('x' + std::string(text)));
    }
    const auto host = parse_own_address(text);
    PVC_ASSERT(!host || parse_own_address(host->to_string()) == host);
    if (text.find(':') == std::string_view::npos) {
        const auto ipv4 = pvc::parse_address_v4(pvc::trim(text.substr(0, text.find('/'))));
        PVC_ASSERT(ipv4.has_value() == host.has_value());
        PVC_ASSERT(!ipv4 || ipv4->to_string() == host->to_string());
    }
}

static bool is_among(const held_lock& lock, const std::vector<std::string>& own) {
    const auto address = parse_lock_address(lock.address);
    const auto text = address ? address->to_string() : "";
    if (text.empty() || text.starts_with("127.") || text.starts_with("0.") || text == "::" || text == "::1") {
        return false;
    }
    return std::ranges::any_of(own, [&](const std::string& one) { return parse_own_address(one) == address; });
}

static void check_decision(const std::vector<volume_locks>& volumes, const std::vector<std::string>& own) {
    const auto decision = decide_start_locks(volumes, own);
    std::vector<lock_to_break> all;
    bool are_own = true;
    bool is_readable = true;
    for (const auto& volume : volumes) {
        is_readable = is_readable && !volume.error;
        for (const auto& lock : volume.locks) {
            all.push_back({volume.volume, lock});
            are_own = are_own && is_among(lock, own);
        }
    }
    const auto expected = !are_own ? lock_verdict::foreign : is_readable ? lock_verdict::own : lock_verdict::unreadable;
    PVC_ASSERT(decision.verdict == expected);
    PVC_ASSERT(expected == lock_verdict::own ? decision.to_break == all : decision.to_break.empty());
    PVC_ASSERT((expected == lock_verdict::own) == decision.reason.empty());
    PVC_ASSERT(pvc::fuzz::is_printable_ascii(decision.reason) && decision.reason.size() < 1000);
    // A client's wish: like a start, or whatever holds the locks.
    const auto careful = decide_flush_locks(volumes, own, false);
    PVC_ASSERT(careful.verdict == decision.verdict && careful.to_break == decision.to_break);
    const auto forced = decide_flush_locks(volumes, own, true);
    PVC_ASSERT(forced.verdict == (is_readable ? lock_verdict::own : lock_verdict::unreadable));
    PVC_ASSERT(is_readable ? forced.to_break == all : forced.to_break.empty());
    for (const auto& one : all) {
        PVC_ASSERT(pvc::fuzz::is_printable_ascii(unbreakable_lock_text(one, one.lock.address)));
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = pvc::fuzz::text_of(data, size);
    check_volumes(pvc::fuzz::take_until(rest, '\n'));
    std::vector<std::string> own;
    for (const auto word : pvc::split_blanks(pvc::fuzz::take_until(rest, '\n'))) {
        check_address(word);
        own.emplace_back(word);
    }
    std::vector<volume_locks> volumes;
    while (!rest.empty()) {
        auto line = pvc::fuzz::take_until(rest, '\n');
        const auto volume = pvc::fuzz::take_until(line, ' ');
        const auto id = pvc::fuzz::take_until(line, ' ');
        check_address(line);
        volume_locks one{std::string(volume), {}, {}};
        if (id == "error") {
            one.error = std::string(line);
        } else {
            one.locks.push_back({std::string(id), "client.1", std::string(line)});
        }
        volumes.push_back(std::move(one));
    }
    check_decision(volumes, own);
    return 0;
}
