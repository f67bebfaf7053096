// Children of a locked key, one a line: positions must be consistent whatever stands there.
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/lock_name.hpp"

#include <string_view>

using namespace pvc::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> children;
    for (const auto line : pvc::split(text, '\n')) {
        children.emplace_back(line);
    }
    const auto first = parse_lock_child(children.front());
    const std::string guid = first ? first->guid : "none";
    for (const auto kind : {lock_kind::exclusive, lock_kind::write, lock_kind::read}) {
        const auto position = locate(children, guid, kind);
        PVC_ASSERT(position.own || (position.surplus.empty() && !position.predecessor));
        PVC_ASSERT(!position.predecessor || position.predecessor->sequence < position.own->sequence);
    }
    PVC_ASSERT(contenders(children, lock_tag::lock).size() + contenders(children, lock_tag::rlock).size() <=
               children.size());
    PVC_ASSERT(lock_data("hv1", 1, "task", text).size() <= lock_data_limit);
    return 0;
}
