#include "pvcnoded/fencing/fence_records.hpp"

#include <algorithm>
#include <utility>

namespace pvc::fencing {

namespace {

constexpr std::uint32_t only_root = 0700;
constexpr std::string_view record_ending = ".json";

// It may say anything: not read is not "not there".
bool is_unread(errc code) {
    return code == errc::timed_out || code == errc::unavailable || code == errc::io;
}

}  // namespace

async::awaitable<result<void>> fence_records::make_ready() {
    const auto turn = co_await order_.lock("the records of fences");
    co_return co_await keep_room();
}

async::awaitable<result<void>> fence_records::try_write() {
    const std::string path = folder_ + "/try";
    const auto turn = co_await order_.lock("the records of fences");
    const auto kept = co_await keep_room();
    if (!kept) {
        co_return kept;
    }
    const auto written = co_await host_.replace_file(path, "x");
    if (!written) {
        co_return written;
    }
    co_return co_await host_.remove_file(path);
}

// The caller has the turn.
async::awaitable<result<void>> fence_records::keep_room() {
    if (has_room_) {
        co_return result<void>();
    }
    const auto made = co_await host_.make_directory(folder_.substr(0, folder_.rfind('/')), only_root, "");
    if (!made) {
        co_return made;
    }
    const auto inside = co_await host_.make_directory(folder_, only_root, "");
    if (!inside) {
        co_return inside;
    }
    if (const auto there = co_await host_.can_read(reserve_path()); there) {
        has_room_ = true;
        co_return there;
    }
    // Zeros would take no room where a file system stores none.
    const auto kept = co_await host_.replace_file(reserve_path(), std::string(reserved_bytes, '-'));
    has_room_ = kept.has_value();
    co_return kept;
}

async::awaitable<result<void>> fence_records::open(const model::fence_record& what) {
    const std::string id = what.id;
    std::string text = to_text(what);
    if (!model::is_fence_record_id(id)) {
        co_return failure(errc::invalid, folder_, "no name of a record");
    }
    const auto turn = co_await order_.lock("the records of fences");
    const auto kept = co_await keep_room();
    if (!kept) {
        co_return kept;
    }
    const auto there = co_await host_.can_read(path_of(id));
    if (there) {
        co_return failure(errc::already_exists, path_of(id));
    }
    if (there.error().code() != errc::not_found) {
        co_return there.error();
    }
    co_await remove_oldest(most_records - 1);
    co_return co_await write(id, std::move(text));
}

async::awaitable<result<void>> fence_records::save(const model::fence_record& what) {
    const std::string id = what.id;
    std::string text = to_text(what);
    if (!model::is_fence_record_id(id)) {
        co_return failure(errc::invalid, folder_, "no name of a record");
    }
    const auto turn = co_await order_.lock("the records of fences");
    co_return co_await write(id, std::move(text));
}

async::awaitable<result<void>> fence_records::write(std::string id, std::string text) {
    const std::string path = path_of(id);
    if (text.size() > model::fence_record_bytes) {
        co_return failure(errc::too_large, path);
    }
    // Also when this call is cancelled: what it has begun may come to its end after what is written then.
    const bool is_certain = uncertain_.insert(id).second;
    if (!is_certain) {
        co_return failure(errc::refused, path, "an earlier write may still come to the disk");
    }
    auto written = co_await host_.replace_file(path, text);
    if (!written && written.error().code() == errc::io && has_room_) {
        has_room_ = false;
        const auto freed = co_await host_.remove_file(reserve_path());
        if (freed) {
            written = co_await host_.replace_file(path, std::move(text));
        }
    }
    const bool may_still_come = !written && written.error().code() != errc::io;
    if (!may_still_come) {
        uncertain_.erase(id);
    }
    co_return written;
}

async::awaitable<void> fence_records::remove_oldest(std::size_t left) {
    const auto all = co_await list();
    if (!all) {
        co_return;  // the write that follows says what is wrong with the disk
    }
    for (std::size_t at = left; at < all->size(); ++at) {
        const auto removed = co_await host_.remove_file(path_of((*all)[at]));
        if (!removed) {
            co_return;
        }
    }
}

// Where there is no folder there was never a record; where a file is in its place nobody knows.
async::awaitable<result<void>> fence_records::look_for_file() const {
    for (const auto& path : {folder_, folder_.substr(0, folder_.rfind('/'))}) {
        const auto there = co_await host_.can_read(path);
        if (there) {
            co_return failure(errc::io, path, "it is a file, and should be a folder");
        }
        if (is_unread(there.error().code())) {
            co_return there.error();
        }
    }
    co_return result<void>();
}

async::awaitable<result<std::vector<std::string>>> fence_records::list() {
    const auto names = co_await host_.list_disk_files(folder_);
    std::vector<std::string> ids;
    if (!names && names.error().code() != errc::not_found) {
        co_return names.error();
    }
    if (!names) {
        const auto no_file = co_await look_for_file();
        if (!no_file) {
            co_return no_file.error();
        }
    }
    if (names) {
        for (const auto& name : *names) {
            const std::string id =
                name.ends_with(record_ending) ? name.substr(0, name.size() - record_ending.size()) : std::string();
            if (model::is_fence_record_id(id)) {
                ids.push_back(id);
            }
        }
    }
    std::ranges::sort(ids, std::greater());
    co_return ids;
}

async::awaitable<result<model::fence_record>> fence_records::read(std::string id) {
    if (!model::is_fence_record_id(id)) {
        co_return failure(errc::not_found, id);
    }
    PVC_CO_TRY(const auto text, co_await host_.read_disk_file(path_of(id), model::fence_record_bytes));
    auto record = model::parse_fence_record(text);
    if (!record) {
        const failure why = record.error();
        co_return failure(why.code(), path_of(id), why.cause());
    }
    if (record->id != id) {
        co_return failure(errc::invalid, path_of(id), "it is the record of another fence");
    }
    co_return record;
}

async::awaitable<result<std::vector<model::fence_record>>> fence_records::about(std::string node, wall_time since) {
    PVC_CO_TRY(const auto ids, co_await list());
    const std::string first = model::fence_record_id(since, "");
    std::vector<model::fence_record> all;
    for (const auto& id : ids) {
        if (id < first) {
            break;
        }
        if (!model::is_fence_record_about(id, node)) {
            continue;
        }
        auto record = co_await read(id);
        if (record && record->node == node) {
            all.push_back(std::move(*record));
        } else if (!record && is_unread(record.error().code())) {
            co_return record.error();
        }
    }
    co_return all;
}

}  // namespace pvc::fencing
