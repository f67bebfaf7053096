#include "libvirt_library.hpp"

#include <dlfcn.h>

namespace pvc::hypervisor {

namespace {

std::string last_words() {
    const char* words = ::dlerror();
    return words == nullptr ? "no reason given" : words;
}

}  // namespace

loaded_library::loaded_library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
        problem_ = "the library cannot be loaded: " + last_words();
    }
}

void* loaded_library::find(const char* function) {
    void* const found = handle_ == nullptr ? nullptr : ::dlsym(handle_, function);
    if (found == nullptr && problem_.empty()) {
        problem_ = "the library is not the one that is wanted: " + last_words();
    }
    return found;
}

const libvirt_library& libvirt() {
    static const auto* const only = new libvirt_library;  // for ever: its callbacks may still come
    return *only;
}

}  // namespace pvc::hypervisor
