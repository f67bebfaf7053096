// What subjects remember of one simulated cluster, or of one judge: a value a type, made when it is first asked for, so
// that a subject brings its own without a line elsewhere.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace pvc::sim {

class states {
public:
    template <class T>
    [[nodiscard]] T& of() {
        const std::size_t place = place_of<T>;
        if (place >= all_.size()) {
            all_.resize(place + 1);
        }
        auto& found = all_[place];
        if (!found) {
            found = std::make_shared<T>();
        }
        return *static_cast<T*>(found.get());
    }

private:
    static inline std::size_t places_ = 0;
    template <class T>
    static inline const std::size_t place_of = places_++;

    std::vector<std::shared_ptr<void>> all_;
};

}  // namespace pvc::sim
