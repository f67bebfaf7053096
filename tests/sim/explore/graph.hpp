// The picture of a machine, made from the code: every question that an exploration saw it ask, and what it asked next.
// For Graphviz: `dot -Tsvg`.
#pragma once

#include "sim/explore/model.hpp"

#include <map>
#include <set>
#include <string>

namespace pvc::explore {

class graph {
public:
    void add(const scene& before, const scene& after, const move& by);
    [[nodiscard]] std::string text() const;

private:
    // Of each operation: from one question to the next, and by what.
    std::map<std::string, std::map<std::pair<std::string, std::string>, std::set<std::string>>> edges_;
};

}  // namespace pvc::explore
