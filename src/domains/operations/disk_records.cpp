#include "operations/disk_records.hpp"

namespace pvc::domains {

namespace {
constexpr unsigned directory_mode = 0755;
}

std::string disk_records::directory() const {
    return node_.config->directories.dynamic + "/" + directory_;
}

std::string disk_records::path_of(const uuid& id) const {
    return directory() + "/" + to_text(id);
}

std::vector<uuid> disk_records::stored() const {
    const auto names = node_.port.host.list_files(directory());
    std::vector<uuid> ids;
    for (const auto& name : names ? *names : std::vector<std::string>{}) {
        if (const auto id = parse_uuid(name)) {
            ids.push_back(*id);
        }
    }
    return ids;
}

std::optional<std::string> disk_records::read(const uuid& id) const {
    auto text = node_.port.host.read_file(path_of(id));
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

async::awaitable<void> disk_records::carry_out(uuid id, std::optional<std::string> text) {
    if (!text) {
        auto removed = co_await node_.port.host.remove_file(path_of(id));
        ignore(removed, "an old record names another state and changes nothing");
        co_return;
    }
    auto made = co_await node_.port.host.make_directory(directory(), directory_mode, "");
    ignore(made, "writing the file says what is wrong");
    auto written = co_await node_.port.host.replace_file(path_of(id), std::move(*text));
    if (!written) {
        node_.log.warning(message::migration_record, what_ + " on disk was not written: " + written.error().text(),
                          to_text(id));
    }
}

async::awaitable<void> disk_records::run() {
    for (;;) {
        while (pending_.empty()) {
            co_await work_.wait(async::wait_note::work("records for the disk"));
        }
        const auto [id, wanted] = *pending_.begin();
        co_await carry_out(id, wanted.text);
        const auto found = pending_.find(id);
        if (found != pending_.end() && found->second.number == wanted.number) {
            pending_.erase(found);
        }
        done_.notify_all();
    }
}

async::awaitable<void> disk_records::settled(uuid id, time_point deadline) {
    co_await done_.wait_until([this, &id] { return !pending_.contains(id); }, node_.clock(), deadline,
                              "its record on disk");
}

}  // namespace pvc::domains
