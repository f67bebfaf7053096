// What the helper calls of librados.
#include "stub.hpp"

#include <rados/librados.h>  // tidy-allow(foreign): it stands in for this library

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

stub::handle* to_handle(rados_t from) {
    return static_cast<stub::handle*>(from);
}

// The text of a member of a flat object; the helper's requests are no more than that.
std::string member(const std::string& json, const std::string& name) {
    const auto at = json.find('"' + name + '"');
    const auto colon = json.find(':', at);
    const auto begin = json.find('"', colon);
    if (at == std::string::npos || colon == std::string::npos || begin == std::string::npos) {
        return {};
    }
    return json.substr(begin + 1, json.find('"', begin + 1) - begin - 1);
}

void put(const std::string& text, char** bytes, std::size_t* size) {
    *size = text.size();
    *bytes = static_cast<char*>(std::malloc(text.size() + 1));
    std::memcpy(*bytes, text.data(), text.size());
}

}  // namespace

extern "C" {

int rados_create2(rados_t* into, const char* /*cluster*/, const char* const /*name*/, std::uint64_t /*flags*/) {
    *into = new stub::handle;
    return 0;
}

int rados_conf_read_file(rados_t /*handle*/, const char* /*path*/) {
    return stub::begin("conf_read", "");
}

int rados_conf_set(rados_t handle, const char* option, const char* value) {
    to_handle(handle)->settings[option] = value;
    return 0;
}

int rados_conf_get(rados_t /*handle*/, const char* /*option*/, char* into, std::size_t size) {
    std::strncpy(into, "10.9.9.9", size);
    return 0;
}

int rados_connect(rados_t handle) {
    static std::atomic<std::uint64_t> made{0};
    auto* mine = to_handle(handle);
    mine->instance = stub::now().instance + made++;
    const int error =
        stub::begin("connect", mine->settings["client_mount_timeout"] + "/" + mine->settings["rados_mon_op_timeout"] +
                                   "/" + mine->settings["rados_osd_op_timeout"]);
    return error;
}

void rados_shutdown(rados_t handle) {
    stub::begin("shutdown", "");
    delete to_handle(handle);
}

std::uint64_t rados_get_instance_id(rados_t handle) {
    return to_handle(handle)->instance;
}

int rados_getaddrs(rados_t handle, char** addresses) {
    *addresses = ::strdup(("v1:10.9.9.9:0/" + std::to_string(to_handle(handle)->instance)).c_str());
    return 0;
}

void rados_buffer_free(char* buffer) {
    std::free(buffer);
}

int rados_mon_command(rados_t /*handle*/, const char** command, std::size_t /*count*/, const char* /*input*/,
                      std::size_t /*input_size*/, char** output, std::size_t* output_size, char** said,
                      std::size_t* said_size) {
    const std::string text = *command;
    const std::string prefix = member(text, "prefix");
    std::string call = "mon:" + prefix;
    for (char& c : call) {
        c = c == ' ' ? '_' : c;
    }
    const bool is_blocklisting = prefix == "osd blocklist" || prefix == "osd blacklist";
    const int error = stub::begin(call, is_blocklisting ? text : std::string());
    const auto plan = stub::now();
    const auto rule = plan.rules.find(call);
    if (error != 0) {
        put(error == -ETIMEDOUT ? "timed out" : "the stub says so", said, said_size);
        return error;
    }
    if (rule != plan.rules.end() && rule->second.bytes != 0) {
        put(std::string(rule->second.bytes, 'x'), output, output_size);
    } else if (rule != plan.rules.end() && !rule->second.file.empty()) {
        std::ifstream file(rule->second.file);
        put(std::string(std::istreambuf_iterator<char>(file), {}), output, output_size);
    } else {
        put(stub::answer_to(prefix, member(text, "format"), plan), output, output_size);
    }
    return 0;
}

int rados_ioctx_create(rados_t handle, const char* name, rados_ioctx_t* into) {
    const auto plan = stub::now();
    if (const int error = stub::begin("pool", name); error != 0) {
        return error;
    }
    for (int i = 0; i < plan.pools; ++i) {
        if (name == "pool" + std::to_string(i)) {
            *into = new stub::pool{to_handle(handle), name, {}};
            return 0;
        }
    }
    return -ENOENT;
}

void rados_ioctx_destroy(rados_ioctx_t pool) {
    delete static_cast<stub::pool*>(pool);
}

void rados_ioctx_set_namespace(rados_ioctx_t pool, const char* space) {
    static_cast<stub::pool*>(pool)->space = space;
}

int rados_ioctx_pool_stat(rados_ioctx_t /*pool*/, rados_pool_stat_t* into) {
    *into = {};
    into->num_object_clones = 1;
    into->num_object_copies = 2;
    into->num_objects_missing_on_primary = 3;
    into->num_objects_unfound = 4;
    into->num_objects_degraded = 5;
    into->num_rd = 257;
    into->num_rd_kb = 209;
    into->num_wr = 234;
    into->num_wr_kb = 32814;
    return stub::begin("pool_stat", "");
}

int rados_blocklist_add(rados_t /*handle*/, char* address, std::uint32_t seconds) {
    return stub::begin("blocklist_add", std::string(address) + " " + std::to_string(seconds));
}

int rados_wait_for_latest_osdmap(rados_t /*handle*/) {
    return stub::begin("latest_osdmap", "");
}

// The header of an image of this stand-in has its name for an id.
int rados_break_lock(rados_ioctx_t pool, const char* object, const char* name, const char* client, const char* cookie) {
    const auto* in = static_cast<const stub::pool*>(pool);
    const std::string image = std::string(object).substr(std::strlen("rbd_header."));
    const std::string path = in->name + "/" + (in->space.empty() ? "" : in->space + "/") + image;
    const int error = stub::begin("take_lock", path + " " + name + " " + client + " " + cookie);
    if (error == 0) {
        stub::forget_lock(path, {cookie, client, {}});
    }
    return error;
}

}  // extern "C"
