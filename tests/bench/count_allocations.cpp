// Counts heap allocations of the program it is preloaded into, and notes where they come from.
//
// The counters lie in the file that BENCH_ALLOCATIONS names, mapped and shared, so that tests/bench reads them while
// the program runs; it also switches the noting of call stacks on and off there. Layout: struct board.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

constexpr std::size_t stacks_max = 16384;
constexpr int depth_max = 30;

enum origin : std::uint32_t { own, zookeeper, library };

struct stack {
    std::uint64_t size;
    std::uint32_t from;
    std::uint32_t on_main;
    std::uint64_t frames[depth_max];  // of the program: offsets in its file; of libraries: 1
};
struct board {
    std::atomic<std::uint64_t> main_count[3];  // by origin
    std::atomic<std::uint64_t> other_count[3];
    std::atomic<std::uint64_t> main_bytes;
    std::atomic<std::uint64_t> other_bytes;
    std::atomic<std::uint64_t> recording;
    std::atomic<std::uint64_t> stack_count;
    stack stacks[stacks_max];
};

struct range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    [[nodiscard]] bool holds(const void* address) const {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        return at >= begin && at < end;
    }
};

board* shared = nullptr;
range program;
range zookeeper_library;
// NOLINTBEGIN(misc-use-internal-linkage)
__attribute__((tls_model("initial-exec"))) thread_local bool on_main_thread = false;
__attribute__((tls_model("initial-exec"))) thread_local bool is_inside = false;
// NOLINTEND(misc-use-internal-linkage)

void note_stack(std::size_t size, origin from) {
    const auto index = shared->stack_count.fetch_add(1);
    if (index >= stacks_max) {
        return;
    }
    void* frames[depth_max];
    const int depth = ::backtrace(frames, depth_max);
    stack& out = shared->stacks[index];
    out.size = size;
    out.from = from;
    out.on_main = on_main_thread ? 1 : 0;
    for (int i = 0; i < depth_max; ++i) {
        const void* address = i < depth ? frames[i] : nullptr;
        out.frames[i] = address == nullptr       ? 0
                        : program.holds(address) ? reinterpret_cast<std::uintptr_t>(address) - program.begin
                                                 : 1;
    }
}

void count(std::size_t size, origin from) {
    if (shared == nullptr || is_inside) {
        return;
    }
    is_inside = true;
    (on_main_thread ? shared->main_count : shared->other_count)[from].fetch_add(1, std::memory_order_relaxed);
    (on_main_thread ? shared->main_bytes : shared->other_bytes).fetch_add(size, std::memory_order_relaxed);
    if (shared->recording.load(std::memory_order_relaxed) != 0) {
        note_stack(size, from);
    }
    is_inside = false;
}

// Of a call of malloc and its kin: those of `operator new` are counted by that.
origin origin_of(const void* caller) {
    return program.holds(caller) ? own : zookeeper_library.holds(caller) ? zookeeper : library;
}

int find_ranges(dl_phdr_info* info, std::size_t /*size*/, void* first) {
    range found;
    found.begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            found.end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        }
    }
    auto& is_first = *static_cast<bool*>(first);
    if (is_first) {
        program = found;
        is_first = false;
    } else if (std::strstr(info->dlpi_name, "zookeeper") != nullptr) {
        zookeeper_library = found;
    }
    return 0;
}

__attribute__((constructor)) void open_board() {
    const char* path = std::getenv("BENCH_ALLOCATIONS");
    if (path == nullptr) {
        return;
    }
    const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(board)) != 0) {
        return;
    }
    void* mapped = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    // Programs that this one starts are not counted.
    ::unsetenv("BENCH_ALLOCATIONS");
    ::unsetenv("LD_PRELOAD");
    bool is_first = true;
    ::dl_iterate_phdr(&find_ranges, &is_first);
    void* warm[2];
    ::backtrace(warm, 2);  // loads the unwinder, which allocates
    on_main_thread = true;
    shared = mapped == MAP_FAILED ? nullptr : static_cast<board*>(mapped);
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
    count(size, origin_of(__builtin_return_address(0)));
    return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
    count(number * size, origin_of(__builtin_return_address(0)));
    return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
    count(size, origin_of(__builtin_return_address(0)));
    return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    count(size, origin_of(__builtin_return_address(0)));
    return __libc_memalign(alignment, size);
}
void free(void* block) {
    __libc_free(block);
}
// For the loop of tests/bench/tick_bench.cpp.
void bench_record_stacks(int on) {
    if (shared != nullptr) {
        shared->recording = static_cast<std::uint64_t>(on);
    }
}
}

void* operator new(std::size_t size) {
    count(size, own);
    if (void* block = __libc_malloc(size)) {
        return block;
    }
    std::abort();
}
void* operator new[](std::size_t size) {
    return ::operator new(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    count(size, own);
    if (void* block = __libc_memalign(static_cast<std::size_t>(alignment), size)) {
        return block;
    }
    std::abort();
}
void operator delete(void* block) noexcept {
    __libc_free(block);
}
void operator delete(void* block, std::size_t /*size*/) noexcept {
    __libc_free(block);
}
void operator delete[](void* block) noexcept {
    __libc_free(block);
}
void operator delete[](void* block, std::size_t /*size*/) noexcept {
    __libc_free(block);
}
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
    __libc_free(block);
}
void operator delete(void* block, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    __libc_free(block);
}
