// Seeded randomness. One generator per purpose, split from the run's seed, so that a draw added in one place does not
// shift the others (runtime-design.md 8.2). Not for secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pvc {

class random_source {
public:
    explicit random_source(std::uint64_t seed) : state_(seed) {}

    // The next 64 bits (splitmix64).
    std::uint64_t next();
    // Uniform in [0, bound); bound > 0.
    std::uint64_t below(std::uint64_t bound);
    // Uniform in [0, 1).
    double unit();
    // An independent generator for the named purpose.
    [[nodiscard]] random_source split(std::string_view purpose) const;
    // One for each time that the same is done.
    [[nodiscard]] random_source split(std::uint64_t number) const;

private:
    std::uint64_t state_;
};

// 32 lower-case hexadecimal digits in the form of a random UUID without dashes (zookeeper-schema.md 4.1).
std::string make_guid(random_source& random);

}  // namespace pvc
