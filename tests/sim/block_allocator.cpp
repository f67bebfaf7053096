// operator new for the simulator: blocks of up to 64 KiB from free lists that are never given back. Everything runs in
// one thread, and half of the time of a run would go to the general allocator otherwise. Not linked under sanitizers.
//
// Nothing stands before a block: blocks of one size lie together, so that small ones fill the processor's cache with
// what they hold. All of them lie in one region of addresses that is cut into spans; a table says of each span how
// large its blocks are.
#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t grain = 16;
constexpr std::size_t largest_of_grains = 1024;  // above, there are four sizes for each doubling
constexpr std::size_t largest = 64 * 1024;       // what clients name, and lists of a thousand things, among them
constexpr std::size_t grain_classes = largest_of_grains / grain;
constexpr std::size_t classes = 1 + grain_classes + 4 * 6;
constexpr std::size_t span_bytes = 64 * 1024;
constexpr std::size_t spans_at_once = 32;
constexpr std::size_t region_bytes = 32UL << 30U;  // of addresses; memory is only what is used (valgrind has no more)
constexpr std::size_t spans = region_bytes / span_bytes;

struct free_block {
    free_block* next;
};
struct pool {
    std::array<free_block*, classes> free{};
    // Where the next block of a class comes from, and what is left there.
    std::array<std::byte*, classes> at{};
    std::array<std::byte*, classes> end{};
    std::byte* spans_at = nullptr;
    std::byte* spans_end = nullptr;
};
constinit thread_local pool blocks;

// Where there are no such addresses to be had (a limit of the process), all comes from malloc.
struct region {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::atomic<std::size_t> taken{0};
};
constinit region all;
constinit std::atomic<bool> is_ready{false};
constinit std::array<std::uint8_t, spans> class_of_span{};

std::size_t class_of(std::size_t size) {
    if (size <= largest_of_grains) {
        return size == 0 ? 1 : (size + grain - 1) / grain;
    }
    // 1025 to 1280, to 1536, to 1792, to 2048; 2049 to 2560, …
    const auto doubling = static_cast<std::size_t>(std::bit_width(size - 1)) - 11;
    const std::size_t step = std::size_t{256} << doubling;
    return 1 + grain_classes + 4 * doubling + (size - 1 - (largest_of_grains << doubling)) / step;
}

std::size_t bytes_of(std::size_t size_class) {
    if (size_class <= grain_classes) {
        return size_class * grain;
    }
    const std::size_t above = size_class - 1 - grain_classes;
    return (largest_of_grains << (above / 4)) + ((above % 4 + 1) * (std::size_t{256} << (above / 4)));
}

bool is_of_region(const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(all.begin) < all.bytes;
}

void make_ready() {
    // What the C library is asked for are large blocks that come and go: their memory stays with the process.
    ::mallopt(M_MMAP_THRESHOLD, 64 * 1024 * 1024);
    ::mallopt(M_TRIM_THRESHOLD, 256 * 1024 * 1024);
    ::mallopt(M_TOP_PAD, 4 * 1024 * 1024);
    constexpr std::size_t alignment = span_bytes * spans_at_once;
    void* const got = ::mmap(nullptr, region_bytes + alignment, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got != MAP_FAILED) {
        const auto address = reinterpret_cast<std::uintptr_t>(got);
        all.begin = static_cast<std::byte*>(got) + (alignment - address % alignment) % alignment;
        all.bytes = region_bytes;
    }
    is_ready = true;
}

// Empty: there are none left.
std::byte* take_span(pool& own) {
    if (own.spans_at == own.spans_end) {
        if (!is_ready) {
            make_ready();  // before main(), and so before there is another thread
        }
        constexpr std::size_t bytes = span_bytes * spans_at_once;
        const std::size_t place = all.taken.fetch_add(bytes);
        if (place >= all.bytes) {
            return nullptr;
        }
        own.spans_at = all.begin + place;
        own.spans_end = own.spans_at + bytes;
        ::madvise(own.spans_at, bytes, MADV_HUGEPAGE);  // one twentieth of the time goes to smaller ones
    }
    std::byte* const taken = own.spans_at;
    own.spans_at += span_bytes;
    return taken;
}

void* from_malloc(std::size_t size) {
    void* const made = std::malloc(size == 0 ? 1 : size);
    if (made == nullptr) {
        throw std::bad_alloc();
    }
    return made;
}

// The free list of this class is empty.
[[gnu::noinline]] void* take_new(pool& own, std::size_t size_class) {
    const std::size_t bytes = bytes_of(size_class);
    if (static_cast<std::size_t>(own.end[size_class] - own.at[size_class]) < bytes) {
        std::byte* const span = take_span(own);
        if (span == nullptr) {
            return from_malloc(bytes);
        }
        class_of_span[static_cast<std::size_t>(span - all.begin) / span_bytes] = static_cast<std::uint8_t>(size_class);
        own.at[size_class] = span;
        own.end[size_class] = span + span_bytes;
    }
    std::byte* const made = own.at[size_class];
    own.at[size_class] += bytes;
    return made;
}

void* take(std::size_t size) {
    if (size > largest) {
        return from_malloc(size);
    }
    const std::size_t size_class = class_of(size);
    pool& own = blocks;
    if (free_block* const found = own.free[size_class]) {
        own.free[size_class] = found->next;
        return found;
    }
    return take_new(own, size_class);
}

void give_back(void* block) noexcept {
    if (block == nullptr) {
        return;
    }
    if (!is_of_region(block)) {
        std::free(block);
        return;
    }
    const std::size_t size_class =
        class_of_span[static_cast<std::size_t>(static_cast<std::byte*>(block) - all.begin) / span_bytes];
    pool& own = blocks;
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
