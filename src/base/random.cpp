#include "pvcnoded/base/random.hpp"

#include "pvcnoded/base/assert.hpp"

namespace pvc {

namespace {
constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;
}

std::uint64_t random_source::next() {
    state_ += golden_ratio;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

std::uint64_t random_source::below(std::uint64_t bound) {
    PVC_ASSERT(bound > 0);
    return next() % bound;
}

double random_source::unit() {
    return static_cast<double>(next() >> 11U) * 0x1.0p-53;
}

random_source random_source::split(std::string_view purpose) const {
    // FNV-1a of the purpose, mixed into the seed: stable across platforms, unlike std::hash.
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : purpose) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    random_source mixed(state_ ^ hash);
    return random_source(mixed.next());
}

random_source random_source::split(std::uint64_t number) const {
    return split(std::to_string(number));
}

std::string make_guid(random_source& random) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string guid(32, '0');
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < guid.size(); ++i) {
        if (i % 16 == 0) {
            bits = random.next();
        }
        guid[i] = digits[bits & 0xfU];
        bits >>= 4U;
    }
    guid[12] = '4';                                          // version 4
    guid[16] = digits[8U + (digits.find(guid[16]) & 0x3U)];  // variant
    return guid;
}

}  // namespace pvc
