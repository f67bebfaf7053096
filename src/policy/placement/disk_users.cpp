#include "pvcnoded/policy/placement/disk_users.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

namespace {

constexpr std::string_view pool_by_default = "rbd";  // of Ceph's programs

bool has(const std::vector<std::string>& all, std::string_view one) {
    return std::ranges::find(all, one) != all.end();
}

std::vector<std::string_view> words_of(std::string_view command_line) {
    std::vector<std::string_view> words;
    while (!command_line.empty()) {
        const auto end = std::min(command_line.find('\0'), command_line.size());
        words.push_back(command_line.substr(0, end));
        command_line.remove_prefix(std::min(end + 1, command_line.size()));
    }
    return words;
}

// "pool/image", or "image" alone in the pool that is the default.
bool names_it(std::string_view word, std::string_view volume, std::string_view pool) {
    return word == volume || (!pool.empty() && fmt::format("{}/{}", pool, word) == volume);
}

// rbd-nbd map [--pool P] [--namespace N] [--image I] [SPEC]
bool is_mapped_by_rbd_nbd(const std::vector<std::string_view>& words, std::string_view volume) {
    const auto value_of = [&words](std::string_view name, std::string_view brief) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (words[i].starts_with(name) && words[i].substr(name.size()).starts_with("=")) {
                return words[i].substr(name.size() + 1);
            }
            if ((words[i] == name || (!brief.empty() && words[i] == brief)) && i + 1 < words.size()) {
                return words[i + 1];
            }
        }
        return std::string_view();
    };
    const std::string_view named = value_of("--pool", "-p");
    std::string pool(named.empty() ? pool_by_default : named);
    if (const std::string_view space = value_of("--namespace", ""); !space.empty()) {
        pool += fmt::format("/{}", space);
    }
    const std::string_view image = value_of("--image", "");
    return (!image.empty() && names_it(image, volume, pool)) ||
           std::ranges::any_of(words, [&](std::string_view word) { return names_it(word, volume, pool); });
}

// "rbd:pool/image:option=value", or whatever names the driver, the pool and the image.
bool is_served_by_qemu(std::string_view word, std::string_view volume) {
    if (word.starts_with("rbd:")) {
        word.remove_prefix(4);
        return word.substr(0, std::min(word.find(':'), word.size())) == volume;
    }
    const auto slash = volume.find('/');
    return word.find("rbd") != std::string_view::npos && word.find(volume.substr(0, slash)) != std::string_view::npos &&
           word.find(volume.substr(volume.rfind('/') + 1)) != std::string_view::npos &&
           word.find('@') == std::string_view::npos;
}

std::string refusal_for(const disk_user& user) {
    constexpr std::size_t quote_max = 200;
    const std::string volume = ascii_only(user.volume.substr(0, quote_max));
    const std::string name = ascii_only(user.name.substr(0, quote_max));
    switch (user.what) {
        case disk_user::kind::guest:
            return fmt::format(
                "RBD image {} is in use by the VM {}, which runs on this node and whose lock it is; stop "
                "that VM, or give this one a disk of its own",
                volume, name);
        case disk_user::kind::kernel:
            return fmt::format(
                "RBD image {} is mapped on this node as /dev/{}, whose lock it is; unmap it (`rbd unmap "
                "/dev/{}`), then start the VM",
                volume, name, name);
        case disk_user::kind::nbd: break;
    }
    return fmt::format(
        "RBD image {} is mapped on this node as /dev/{}, whose lock it is; unmap it (`rbd-nbd unmap "
        "/dev/{}`, or end the program that serves it), then start the VM",
        volume, name, name);
}

}  // namespace

std::vector<disk_user> users_in(const model::domain_xml& live, std::string_view name,
                                const std::vector<std::string>& volumes) {
    std::vector<disk_user> all;
    const auto note = [&](const std::string& image, bool shares) {
        if (has(volumes, image)) {
            all.push_back({disk_user::kind::guest, image, std::string(name), shares});
        }
    };
    for (const auto& disk : live.disks) {
        if (disk.is_rbd) {
            note(disk.source, disk.is_shared);
        }
        for (const auto& image : disk.images_below) {
            note(image, false);
        }
    }
    return all;
}

std::string mapped_volume(std::string_view pool, std::string_view space, std::string_view image,
                          std::string_view snapshot) {
    pool = trim(pool);
    space = trim(space);
    image = trim(image);
    snapshot = trim(snapshot);
    if (!snapshot.empty() && snapshot != "-") {
        return {};
    }
    return space.empty() ? fmt::format("{}/{}", pool, image) : fmt::format("{}/{}/{}", pool, space, image);
}

bool serves_volume(std::string_view command_line, std::string_view volume) {
    const auto words = words_of(command_line);
    if (words.empty()) {
        return false;
    }
    const std::string_view program = words.front().substr(words.front().rfind('/') + 1);
    if (program == "rbd-nbd") {
        return is_mapped_by_rbd_nbd(words, volume);
    }
    return std::ranges::any_of(words, [&](std::string_view word) { return is_served_by_qemu(word, volume); });
}

std::vector<std::string> volumes_to_ask_about(const std::vector<lock_to_break>& to_break,
                                              const std::vector<std::string>& own_addresses) {
    std::vector<std::string> all;
    for (const auto& one : to_break) {
        if (is_held_by(one.lock, own_addresses) && !has(all, one.volume)) {
            all.push_back(one.volume);
        }
    }
    return all;
}

users_decision decide_on_users(const std::vector<lock_to_break>& to_break, const std::vector<disk_user>& users,
                               const std::vector<std::string>& own_addresses) {
    users_decision out;
    for (const auto& one : to_break) {
        const auto has_it = [&one](const disk_user& user) { return user.volume == one.volume; };
        const bool is_used = is_held_by(one.lock, own_addresses) && std::ranges::any_of(users, has_it);
        if (!is_used || is_planted(defect::lock_of_a_neighbour)) {
            out.to_break.push_back(one);
            continue;
        }
        const auto alone =
            std::ranges::find_if(users, [&](const disk_user& user) { return has_it(user) && !user.shares; });
        if (alone != users.end()) {
            return {{}, {}, refusal_for(*alone)};
        }
        if (!has(out.left_alone, one.volume)) {
            out.left_alone.push_back(one.volume);
        }
    }
    return out;
}

}  // namespace pvc::policy
