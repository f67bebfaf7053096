// tidy-allow-file(pure): in a build for tests alone threads of adapters come by guards, too
// tidy-allow-file(environment): likewise, who runs the test says which guard is not there
#include "pvcnoded/base/guard.hpp"

#ifdef PVC_GUARDS

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace pvc {

namespace {

std::string_view below_src(std::string_view file) {
    const auto at = file.rfind("/src/");
    return at == std::string_view::npos ? std::string_view() : file.substr(at + 1);
}

class guards {
public:
    guards() {
        if (const char* name = std::getenv("PVC_GUARD_LEFT_OUT")) {
            left_out_ = name;
        }
        if (const char* name = std::getenv("PVC_GUARDS_SEEN")) {
            seen_file_ = name;
        }
    }
    guards(const guards&) = delete;
    guards& operator=(const guards&) = delete;
    bool is_left_out(const guard_place& where) {
        const std::pair place(std::string_view(where.file_name()), static_cast<unsigned>(where.line()));
        if (!seen_file_.empty()) {
            const std::lock_guard held(turn_);  // adapters ask on threads of the pool
            if (seen_.insert(place).second) {
                note(place);
            }
        }
        return !left_out_.empty() && below_src(place.first).size() + 1 < left_out_.size() &&
               left_out_.starts_with(below_src(place.first)) && !below_src(place.first).empty() &&
               left_out_.substr(below_src(place.first).size()) == ":" + std::to_string(place.second);
    }

private:
    // At once: a program may end without its destructors.
    void note(const std::pair<std::string_view, unsigned>& place) const {
        const auto name = below_src(place.first);
        std::FILE* out = name.empty() ? nullptr : std::fopen(seen_file_.c_str(), "ae");
        if (out != nullptr) {
            std::fprintf(out, "%.*s:%u\n", static_cast<int>(name.size()), name.data(), place.second);
            std::fclose(out);
        }
    }

    std::string left_out_;
    std::string seen_file_;
    std::mutex turn_;
    std::set<std::pair<std::string_view, unsigned>> seen_;
};

}  // namespace

bool is_left_out(const guard_place& where) noexcept {
    static guards all;
    return all.is_left_out(where);
}

}  // namespace pvc

#endif
