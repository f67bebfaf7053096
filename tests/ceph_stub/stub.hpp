// Stand-ins of librados and librbd, for tests of what is linked to them: found by LD_LIBRARY_PATH under the names of
// the real ones, and told what to do by the file that CEPH_STUB names, which is read anew whenever it changes:
//
//   osds 100 / pools 20 / images 5000     how many there are: pool0 ..., image0 ... in each
//   instance 77                           the first handle is client.77, the next one client.78
//   lock POOL/IMAGE COOKIE CLIENT ADDRESS     a locker ('_' of the cookie stands for a blank)
//   watcher POOL/IMAGE CLIENT ADDRESS
//   image_config NAME VALUE               what metadata of every image says
//   when CALL error NUMBER [TIMES]        a call that fails, if so often only
//   when CALL delay MILLISECONDS | hang | bytes NUMBER | text FILE
//
// CALL, also CALL@POOL for those about that pool, is connect, shutdown, conf_read, pool, pool_stat, blocklist_add,
// open, list_lockers, break_lock, watchers, or mon:PREFIX with '_' for blanks. Every call is noted in a file beside it,
// whose name has ".log" at its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stub {

struct locker {
    std::string cookie, client, address;
};
struct rule {
    int error = 0;
    long times = -1;  // < 0: always
    long delay_ms = 0;
    bool hangs = false;
    std::size_t bytes = 0;
    std::string file;
};

struct plan {
    int osds = 100, pools = 20, images = 5000;
    std::uint64_t instance = 77;
    std::map<std::string, std::vector<locker>> lockers;
    std::map<std::string, std::vector<locker>> watchers;
    std::map<std::string, std::string> image_config;
    std::map<std::string, rule> rules;
};

// What it says now.
plan now();
void note(const std::string& line);
// Notes the call, waits or hangs as told; the error that it ends with.
int begin(const std::string& call, const std::string& about);
// Locks that were broken here are gone.
void forget_lock(const std::string& image, const locker& which);

// As Ceph prints it (16.2) for a cluster of that size.
std::string answer_to(const std::string& prefix, const std::string& format, const plan& of);

struct handle {
    std::map<std::string, std::string> settings;
    std::uint64_t instance = 0;
};
struct pool {
    handle* owner = nullptr;
    std::string name, space;
};

}  // namespace stub
