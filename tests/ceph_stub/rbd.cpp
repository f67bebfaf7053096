// What the helper calls of librbd.
#include "stub.hpp"

#include <rbd/librbd.h>  // tidy-allow(foreign): it stands in for this library

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

struct image {
    stub::handle* owner;
    std::string path;
    std::map<std::string, std::string> settings;  // as they were when it was opened
};

image* to_image(rbd_image_t from) {
    return static_cast<image*>(from);
}

bool fits(const std::string& list, std::size_t room) {
    return list.size() <= room;
}

void copy(const std::string& list, char* to, std::size_t* size) {
    *size = list.size();
    std::memcpy(to, list.data(), list.size());
}

}  // namespace

extern "C" {

int rbd_open_read_only(rados_ioctx_t pool, const char* name, rbd_image_t* into, const char* /*snapshot*/) {
    const auto* in = static_cast<const stub::pool*>(pool);
    const std::string path = in->name + "/" + (in->space.empty() ? "" : in->space + "/") + name;
    if (const int error = stub::begin("open", path); error != 0) {
        return error;
    }
    const auto plan = stub::now();
    const std::string_view word = name;
    const bool exists = word.starts_with("image") && std::atoi(name + 5) < plan.images;
    if (!exists) {
        return -ENOENT;
    }
    *into = new image{in->owner, path, in->owner->settings};
    return 0;
}

int rbd_close(rbd_image_t from) {
    delete to_image(from);
    return 0;
}

ssize_t rbd_list_lockers(rbd_image_t from, int* exclusive, char* tag, std::size_t* tag_size, char* clients,
                         std::size_t* clients_size, char* cookies, std::size_t* cookies_size, char* addresses,
                         std::size_t* addresses_size) {
    if (const int error = stub::begin("list_lockers", to_image(from)->path); error != 0) {
        return error;
    }
    const auto all = stub::now().lockers[to_image(from)->path];
    std::array<std::string, 4> lists{all.empty() ? "" : std::string("internal") + '\0'};
    for (const auto& one : all) {
        lists[1] += one.client + '\0';
        lists[2] += one.cookie + '\0';
        lists[3] += one.address + '\0';
    }
    *exclusive = 1;
    const bool has_room = fits(lists[0], *tag_size) && fits(lists[1], *clients_size) && fits(lists[2], *cookies_size) &&
                          fits(lists[3], *addresses_size);
    *tag_size = lists[0].size();
    *clients_size = lists[1].size();
    *cookies_size = lists[2].size();
    *addresses_size = lists[3].size();
    if (!has_room) {
        return -ERANGE;
    }
    copy(lists[0], tag, tag_size);
    copy(lists[1], clients, clients_size);
    copy(lists[2], cookies, cookies_size);
    copy(lists[3], addresses, addresses_size);
    return static_cast<ssize_t>(all.size());
}

int rbd_break_lock(rbd_image_t from, const char* client, const char* cookie) {
    const auto* mine = to_image(from);
    const auto setting = [&](const char* name) {
        const auto found = mine->settings.find(name);
        return found == mine->settings.end() ? std::string("?") : found->second;
    };
    if (const int error = stub::begin("break_lock", mine->path + " " + client + " " + cookie + " " +
                                                        setting("rbd_blocklist_on_break_lock") + " " +
                                                        setting("rbd_blocklist_expire_seconds"));
        error != 0) {
        return error;
    }
    const auto all = stub::now().lockers[mine->path];
    if (std::ranges::none_of(all, [&](const auto& one) { return one.client == client && one.cookie == cookie; })) {
        return -ENOENT;
    }
    stub::forget_lock(mine->path, {cookie, client, {}});
    return 0;
}

int rbd_get_old_format(rbd_image_t /*from*/, std::uint8_t* old) {
    *old = 0;
    return 0;
}

int rbd_get_id(rbd_image_t from, char* id, std::size_t size) {
    const std::string& path = to_image(from)->path;
    std::strncpy(id, path.substr(path.rfind('/') + 1).c_str(), size);
    return 0;
}

int rbd_watchers_list(rbd_image_t from, rbd_image_watcher_t* into, std::size_t* count) {
    if (const int error = stub::begin("watchers", to_image(from)->path); error != 0) {
        return error;
    }
    const auto all = stub::now().watchers[to_image(from)->path];
    const bool has_room = all.size() <= *count;
    *count = all.size();
    if (!has_room) {
        return -ERANGE;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        into[i] = {::strdup(all[i].address.c_str()), std::atoll(all[i].client.c_str() + std::strlen("client.")), 1};
    }
    return 0;
}

void rbd_watchers_list_cleanup(rbd_image_watcher_t* watchers, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::free(watchers[i].addr);
    }
}

int rbd_config_image_list(rbd_image_t from, rbd_config_option_t* into, int* count) {
    auto values = to_image(from)->settings;
    for (const auto& [name, value] : stub::now().image_config) {
        values[name] = value;
    }
    const bool has_room = static_cast<int>(values.size()) <= *count;
    *count = static_cast<int>(values.size());
    if (!has_room) {
        return -ERANGE;
    }
    for (const auto& [name, value] : values) {
        *into++ = {::strdup(name.c_str()), ::strdup(value.c_str()), RBD_CONFIG_SOURCE_CONFIG};
    }
    return 0;
}

void rbd_config_image_list_cleanup(rbd_config_option_t* options, int count) {
    for (int i = 0; i < count; ++i) {
        std::free(options[i].name);
        std::free(options[i].value);
    }
}

}  // extern "C"
