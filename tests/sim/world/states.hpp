// What subjects remember of one simulated cluster, or of one judge: a value a type, made when it is first asked for, so
// that a subject brings its own without a line elsewhere.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace pvc::sim {

class states {
public:
    template <class T>
    [[nodiscard]] T& of() {
        for (const auto& [key, what] : all_) {
            if (key == &key_of<T>) {
                return *static_cast<T*>(what.get());
            }
        }
        all_.emplace_back(&key_of<T>, std::make_shared<T>());
        return *static_cast<T*>(all_.back().second.get());
    }

private:
    template <class T>
    static inline char key_of = 0;  // its address tells types apart

    std::vector<std::pair<const void*, std::shared_ptr<void>>> all_;
};

}  // namespace pvc::sim
