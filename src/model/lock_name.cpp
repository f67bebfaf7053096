#include "pvcnoded/model/lock_name.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::size_t sequence_digits = 10;
constexpr std::string_view digits = "0123456789";

}  // namespace

std::string_view to_text(lock_kind kind) {
    switch (kind) {
        case lock_kind::exclusive: return "exclusive";
        case lock_kind::write: return "write";
        case lock_kind::read: return "read";
    }
    return "exclusive";
}

lock_tag tag_of(lock_kind kind) {
    return kind == lock_kind::read ? lock_tag::rlock : lock_tag::lock;
}

std::string_view tag_text(lock_tag tag) {
    return tag == lock_tag::rlock ? "__rlock__" : "__lock__";
}

std::optional<lock_child> parse_lock_child(std::string_view name) {
    if (name.size() < sequence_digits) {
        return std::nullopt;
    }
    std::string_view front = name.substr(0, name.size() - sequence_digits);
    const auto number = name.substr(front.size());
    if (number.find_first_not_of(digits) != std::string_view::npos) {
        return std::nullopt;
    }
    std::int64_t sequence = parse_integer(number).value_or(0);
    if (front.ends_with('-')) {
        front.remove_suffix(1);
        sequence = -sequence;
    }
    for (const auto tag : {lock_tag::lock, lock_tag::rlock}) {
        if (front.ends_with(tag_text(tag))) {
            front.remove_suffix(tag_text(tag).size());
            return lock_child{std::string(name), std::string(front), tag, sequence};
        }
    }
    return std::nullopt;
}

std::string lock_child_prefix(std::string_view guid, lock_kind kind) {
    return std::string(guid).append(tag_text(tag_of(kind)));
}

bool waits_for(lock_kind kind, lock_tag other) {
    return other == lock_tag::lock || kind == lock_kind::write;
}

lock_position locate(const std::vector<std::string>& children, std::string_view guid, lock_kind kind) {
    lock_position position;
    std::vector<lock_child> others;
    for (const auto& name : children) {
        auto child = parse_lock_child(name);
        if (!child) {
            continue;
        }
        if (child->guid != guid || child->tag != tag_of(kind)) {
            others.push_back(*std::move(child));
        } else if (!position.own) {
            position.own = std::move(child);
        } else if (child->sequence < position.own->sequence) {
            position.surplus.push_back(position.own->name);
            position.own = std::move(child);
        } else {
            position.surplus.push_back(child->name);
        }
    }
    if (!position.own) {
        return position;
    }
    for (auto& other : others) {
        const bool in_front = waits_for(kind, other.tag) && other.sequence < position.own->sequence;
        if (in_front && (!position.predecessor || other.sequence > position.predecessor->sequence)) {
            position.predecessor = std::move(other);
        }
    }
    return position;
}

std::vector<lock_child> contenders(const std::vector<std::string>& children, lock_tag tag) {
    std::vector<lock_child> found;
    for (const auto& name : children) {
        auto child = parse_lock_child(name);
        if (child && child->tag == tag) {
            found.push_back(*std::move(child));
        }
    }
    std::ranges::sort(found, {}, &lock_child::sequence);
    return found;
}

std::string lock_data(std::string_view node, std::int64_t pid, std::string_view task, std::string_view reason) {
    std::string data(node);
    data.append(":").append(std::to_string(pid)).append(":").append(task).append(":").append(reason);
    return ascii_only(data).substr(0, lock_data_limit);
}

}  // namespace pvc::model
