#include "sim/hypervisor/sim_console_files.hpp"

#include "pvcnoded/async/wakeup.hpp"

#include <algorithm>

namespace pvc::sim {

class sim_console_files::follower final : public services::followed_file {
public:
    follower(sim_console_files& files, std::string path, async::wakeup& changed)
        : files_(files), path_(std::move(path)), changed_(changed) {
        files_.followers_.emplace(path_, this);
        changed_.notify();
    }
    follower(const follower&) = delete;
    follower& operator=(const follower&) = delete;
    ~follower() override {
        std::erase_if(files_.followers_, [this](const auto& entry) { return entry.second == this; });
    }
    void notify() { changed_.notify(); }

private:
    sim_console_files& files_;
    std::string path_;
    async::wakeup& changed_;
};

void sim_console_files::tell(const std::string& path) {
    const auto [first, last] = followers_.equal_range(path);
    for (auto one = first; one != last && !cut; ++one) {
        one->second->notify();
    }
}

void sim_console_files::append(const std::string& path, std::string_view text) {
    files_[path] += text;
    tell(path);
}

void sim_console_files::truncate(const std::string& path) {
    files_[path].clear();
    tell(path);
}

void sim_console_files::replace(const std::string& path, const std::string& text) {
    files_[path + ".0"] = std::exchange(files_[path], text);
    tell(path);
    tell(path + ".0");
}

void sim_console_files::remove(const std::string& path) {
    files_.erase(path);
    tell(path);
}

void sim_console_files::touch(const std::string& path) {
    tell(path);
}

std::optional<std::string> sim_console_files::content(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t sim_console_files::followers(const std::string& path) const {
    return followers_.count(path);
}

async::awaitable<result<void>> sim_console_files::reach(std::string path, time_point deadline) {
    if (cut) {
        co_return failure(errc::stopped, path);
    }
    const bool is_late = hangs || clock_.now() + read_time > deadline;
    co_await async::sleep_until(clock_, is_late ? deadline : clock_.now() + read_time, "a console file");
    if (cut) {
        co_return failure(errc::stopped, path);
    }
    if (is_late) {
        co_return failure(errc::timed_out, path);
    }
    if (fails) {
        co_return *fails;
    }
    co_return result<void>();
}

async::awaitable<result<void>> sim_console_files::ensure(std::string path, time_point deadline) {
    auto reached = co_await reach(path, deadline);
    if (reached && !files_.contains(path)) {
        files_[path];
        tell(path);
    }
    co_return reached;
}

std::unique_ptr<services::followed_file> sim_console_files::follow(std::string path, async::wakeup& changed) {
    return std::make_unique<follower>(*this, std::move(path), changed);
}

async::awaitable<result<std::string>> sim_console_files::read_end(std::string path, std::size_t lines,
                                                                  std::size_t bytes, time_point deadline) {
    ++reads_;
    auto reached = co_await reach(path, deadline);
    if (!reached) {
        co_return reached.error();
    }
    const std::string text = content(path).value_or("");
    // A line ends with its newline; what follows the last newline is a line too.
    std::size_t from = text.size();
    std::size_t found = 0;
    while (from > 0 && text.size() - from < bytes) {
        const bool ends_line = text[from - 1] == '\n' && from != text.size();
        if (ends_line && ++found == lines) {
            break;
        }
        --from;
    }
    co_return lines == 0 ? std::string() : text.substr(from);
}

}  // namespace pvc::sim
