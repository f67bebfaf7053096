// Children of a locked key, one a line: positions must be consistent whatever stands there.
// Covers: src/model/lock_name.cpp
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
    if (first) {
        PVC_ASSERT(first->name == children.front() && first->name.size() >= first->guid.size() + 18);
        const auto kind = first->tag == lock_tag::rlock ? lock_kind::read : lock_kind::write;
        PVC_ASSERT(first->name.starts_with(lock_child_prefix(first->guid, kind)));
    }
    const std::string guid = first ? first->guid : "none";
    for (const auto kind : {lock_kind::exclusive, lock_kind::write, lock_kind::read}) {
        const auto position = locate(children, guid, kind);
        PVC_ASSERT(position.own || (position.surplus.empty() && !position.predecessor));
        PVC_ASSERT(!position.predecessor || position.predecessor->sequence < position.own->sequence);
    }
    PVC_ASSERT(contenders(children, lock_tag::lock).size() + contenders(children, lock_tag::rlock).size() <=
               children.size());
    const auto data_text = lock_data("hv1", 1, "task", text);
    PVC_ASSERT(data_text.size() <= lock_data_limit && pvc::ascii_only(data_text) == data_text);
    return 0;
}
