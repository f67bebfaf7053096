// operator new for the simulator: small blocks from free lists that are never given back. Everything runs in one
// thread, and half of the time of a run would go to the general allocator otherwise. Not linked under sanitizers.
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t grain = 16;
constexpr std::size_t largest = 4096;             // the frame of a coroutine among them
constexpr std::size_t chunk_bytes = 2048 * 1024;  // a large page, where the kernel gives one for the asking

struct free_block {
    free_block* next;
};
// Before each block stands the class it is of; 0: from malloc.
struct alignas(grain) header {
    std::size_t size_class;
};

struct pool {
    std::array<free_block*, largest / grain + 1> free{};
    std::byte* at = nullptr;
    std::byte* end = nullptr;
};
constinit thread_local pool blocks;

void* take(std::size_t size) {
    const std::size_t wanted = (size + grain - 1) / grain;
    const std::size_t size_class = wanted == 0 ? 1 : wanted;
    if (size_class > largest / grain) {
        auto* made = static_cast<header*>(std::malloc(size + sizeof(header)));
        if (made == nullptr) {
            throw std::bad_alloc();
        }
        made->size_class = 0;
        return made + 1;
    }
    pool& own = blocks;
    if (free_block* const found = own.free[size_class]) {
        own.free[size_class] = found->next;
        return found;
    }
    const std::size_t bytes = sizeof(header) + size_class * grain;
    if (static_cast<std::size_t>(own.end - own.at) < bytes) {
        own.at = static_cast<std::byte*>(std::aligned_alloc(chunk_bytes, chunk_bytes));
        if (own.at == nullptr) {
            throw std::bad_alloc();
        }
        ::madvise(own.at, chunk_bytes, MADV_HUGEPAGE);  // one twentieth of the time goes to smaller ones
        own.end = own.at + chunk_bytes;
    }
    auto* made = reinterpret_cast<header*>(own.at);
    own.at += bytes;
    made->size_class = size_class;
    return made + 1;
}

void give_back(void* block) noexcept {
    if (block == nullptr) {
        return;
    }
    auto* const before = static_cast<header*>(block) - 1;
    if (before->size_class == 0) {
        std::free(before);
        return;
    }
    pool& own = blocks;
    const std::size_t size_class = before->size_class;
    own.free[size_class] = new (block) free_block{own.free[size_class]};
}

}  // namespace

void* operator new(std::size_t size) {
    return take(size);
}
void* operator new[](std::size_t size) {
    return take(size);
}
void operator delete(void* block) noexcept {
    give_back(block);
}
void operator delete[](void* block) noexcept {
    give_back(block);
}
void operator delete(void* block, std::size_t /*size*/) noexcept {
    give_back(block);
}
void operator delete[](void* block, std::size_t /*size*/) noexcept {
    give_back(block);
}
