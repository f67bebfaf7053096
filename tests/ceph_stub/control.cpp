#include "stub.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

namespace stub {

namespace {

std::mutex mutex;
std::map<std::string, long> uses;
std::set<std::tuple<std::string, std::string, std::string>> broken;

std::string control_file() {
    const char* named = std::getenv("CEPH_STUB");  // tidy-allow(environment): how a test reaches a library
    return named == nullptr ? "" : named;
}

std::string blanks(std::string text) {
    std::ranges::replace(text, '_', ' ');
    return text;
}

void read_rule(std::istream& words, plan& into) {
    std::string call;
    std::string what;
    words >> call >> what;
    rule& one = into.rules[call];
    if (what == "error") {
        words >> one.error;
        if (long times = 0; words >> times) {
            one.times = times;
        }
    } else if (what == "delay") {
        words >> one.delay_ms;
    } else if (what == "bytes") {
        words >> one.bytes;
    } else if (what == "text") {
        words >> one.file;
    } else {
        one.hangs = what == "hang";
    }
}

plan read_plan() {
    plan out;
    std::ifstream file(control_file());
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "osds") {
            words >> out.osds;
        } else if (word == "pools") {
            words >> out.pools;
        } else if (word == "images") {
            words >> out.images;
        } else if (word == "instance") {
            words >> out.instance;
        } else if (word == "lock" || word == "watcher") {
            std::string image;
            locker one;
            words >> image;
            if (word == "lock") {
                words >> one.cookie;
                one.cookie = blanks(one.cookie);
            }
            words >> one.client >> one.address;
            (word == "lock" ? out.lockers : out.watchers)[image].push_back(one);
        } else if (word == "image_config") {
            std::string name;
            words >> name;
            words >> out.image_config[name];
        } else if (word == "when") {
            read_rule(words, out);
        }
    }
    return out;
}

}  // namespace

plan now() {
    static plan known;
    static std::tuple<long, long, long> version;
    const std::lock_guard guard(mutex);
    struct stat seen{};
    ::stat(control_file().c_str(), &seen);
    const std::tuple<long, long, long> present(seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec,
                                               static_cast<long>(seen.st_ino));
    if (present != version) {
        known = read_plan();
        version = present;
    }
    plan out = known;
    for (auto& [image, lockers] : out.lockers) {
        std::erase_if(lockers, [&](const locker& one) { return broken.contains({image, one.client, one.cookie}); });
    }
    return out;
}

void note(const std::string& line) {
    const int log = ::open((control_file() + ".log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string whole = line + "\n";
    [[maybe_unused]] const auto unused = ::write(log, whole.data(), whole.size());
    ::close(log);
}

int begin(const std::string& call, const std::string& about) {
    note(about.empty() ? call : call + " " + about);
    const auto rules = now().rules;
    auto found = rules.find(call + "@" + about.substr(0, about.find('/')));
    if (found == rules.end()) {
        found = rules.find(call);
    }
    if (found == rules.end()) {
        return 0;
    }
    const rule& one = found->second;
    // tidy-allow(sleep): it stands in for a call that blocks
    std::this_thread::sleep_for(std::chrono::milliseconds(one.delay_ms));
    while (one.hangs) {
        ::pause();
    }
    if (one.error == 0) {
        return 0;
    }
    const std::lock_guard guard(mutex);
    return one.times < 0 || uses[call]++ < one.times ? one.error : 0;
}

void forget_lock(const std::string& image, const locker& which) {
    const std::lock_guard guard(mutex);
    broken.insert({image, which.client, which.cookie});
}

}  // namespace stub
