#include "requests.hpp"

#include "errors.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <utility>

namespace pvc::zookeeper {

namespace {

node_stat stat_of(const Stat& from) {
    node_stat to;
    to.czxid = from.czxid;
    to.mzxid = from.mzxid;
    to.pzxid = from.pzxid;
    to.ctime = std::chrono::milliseconds(from.ctime);
    to.mtime = std::chrono::milliseconds(from.mtime);
    to.ephemeral_owner = from.ephemeralOwner;
    to.version = from.version;
    to.cversion = from.cversion;
    to.child_count = from.numChildren;
    return to;
}

int flags_of(create_mode mode) {
    switch (mode) {
        case create_mode::persistent: return 0;
        case create_mode::ephemeral: return ZOO_EPHEMERAL;
        case create_mode::ephemeral_sequential: return ZOO_EPHEMERAL | ZOO_SEQUENCE;
    }
    return 0;
}

// What is kept for reuse is small: a tick's requests, not those of a start.
constexpr std::size_t spare_max = 4;
constexpr std::size_t spare_operations_max = 64;

}  // namespace

struct pending_request : pending_request_hook {
    pending_requests* owner = nullptr;  // null: abandoned, the callback only frees this
    request what;
    reply_handler done;
    boot_time sent{};
    // What zoo_amulti writes into.
    std::vector<zoo_op_result_t> results;
    std::vector<Stat> stats;
    std::vector<std::vector<char>> paths;
    // What it reads while the request is sent.
    std::vector<zoo_op_t> operations;
    std::vector<std::string> full_paths;

    // Takes the record back from the library. Null if it was abandoned.
    static std::unique_ptr<pending_request> take(const void* data) {
        std::unique_ptr<pending_request> self(static_cast<pending_request*>(const_cast<void*>(data)));
        if (self->owner == nullptr) {
            return nullptr;
        }
        self->unlink();
        return self;
    }
    // The answer goes out last: nothing of the owner is needed after it.
    static void finish(std::unique_ptr<pending_request> self, reply answer) {
        const reply_handler asked = std::exchange(self->done, {});
        pending_requests& all = *self->owner;
        all.keep_for_reuse(std::move(self));
        asked(std::move(answer));
    }
    [[nodiscard]] reply base(int code, const std::string& path) const {
        reply answer;
        answer.sent = sent;
        if (code != ZOK) {
            answer.outcome = failure_of(code, what.is_write(), path);
        }
        return answer;
    }

    static void on_data(int code, const char* value, int length, const Stat* stat, const void* data) {
        if (auto self = take(data)) {
            reply answer = self->base(code, self->what.path);
            if (code == ZOK) {
                if (value != nullptr && length > 0) {
                    answer.data.assign(value, static_cast<std::size_t>(length));
                }
                answer.stat = stat_of(*stat);
            }
            finish(std::move(self), std::move(answer));
        }
    }
    static void on_stat(int code, const Stat* stat, const void* data) {
        if (auto self = take(data)) {
            reply answer = self->base(code, self->what.path);
            if (code == ZOK) {
                answer.stat = stat_of(*stat);
            }
            finish(std::move(self), std::move(answer));
        }
    }
    static void on_children(int code, const String_vector* names, const Stat* stat, const void* data) {
        if (auto self = take(data)) {
            reply answer = self->base(code, self->what.path);
            if (code == ZOK) {
                answer.names.assign(names->data, names->data + names->count);
                std::ranges::sort(answer.names);
                answer.stat = stat_of(*stat);
            }
            finish(std::move(self), std::move(answer));
        }
    }
    static void on_string(int code, const char* value, const void* data) {
        if (auto self = take(data)) {
            reply answer = self->base(code, self->what.path);
            if (code == ZOK && value != nullptr) {
                answer.data = self->owner->own_path(value);
            }
            finish(std::move(self), std::move(answer));
        }
    }
    static void on_void(int code, const void* data) {
        if (auto self = take(data)) {
            reply answer = self->base(code, self->what.path);
            finish(std::move(self), std::move(answer));
        }
    }
    static void on_multi(int code, const void* data) {
        auto self = take(data);
        if (!self) {
            return;
        }
        // The first operation that says something of its own; those behind it say "runtime inconsistency".
        std::size_t offender = 0;
        for (std::size_t i = 0; i < self->results.size(); ++i) {
            const int own = self->results[i].err;
            if (own != ZOK && own != ZRUNTIMEINCONSISTENCY) {
                offender = i;
                break;
            }
        }
        reply answer = self->base(code, self->what.operations[offender].path);
        if (code == ZOK) {
            answer.stats.reserve(self->stats.size());
            for (const auto& stat : self->stats) {
                answer.stats.push_back(stat_of(stat));
            }
        }
        finish(std::move(self), std::move(answer));
    }

    int send_multi(zhandle_t* handle, const pending_requests& paths_of) {
        const std::size_t count = what.operations.size();
        operations.assign(count, {});
        // These two only grow, so that their texts keep their memory too.
        full_paths.resize(std::max(count, full_paths.size()));
        paths.resize(std::max(count, paths.size()));
        results.assign(count, {});
        stats.assign(count, {});
        for (std::size_t i = 0; i < count; ++i) {
            const operation& one = what.operations[i];
            paths_of.put_full_path(one.path, full_paths[i]);
            const char* path = full_paths[i].c_str();
            const char* value = one.data.data();
            const int length = static_cast<int>(one.data.size());
            switch (one.what) {
                case operation::kind::create:
                    paths[i].resize(full_paths[i].size() + 1);
                    zoo_create_op_init(&operations[i], path, value, length, &ZOO_OPEN_ACL_UNSAFE, 0, paths[i].data(),
                                       static_cast<int>(paths[i].size()));
                    break;
                case operation::kind::set:
                    zoo_set_op_init(&operations[i], path, value, length, one.version, &stats[i]);
                    break;
                case operation::kind::remove: zoo_delete_op_init(&operations[i], path, one.version); break;
                case operation::kind::check: zoo_check_op_init(&operations[i], path, one.version); break;
            }
        }
        return zoo_amulti(handle, static_cast<int>(count), operations.data(), results.data(), &on_multi, this);
    }

    int send(zhandle_t* handle, const pending_requests& paths_of) {
        if (what.what == request::kind::commit) {
            return send_multi(handle, paths_of);
        }
        full_paths.resize(std::max<std::size_t>(1, full_paths.size()));
        paths_of.put_full_path(what.path, full_paths.front());
        const char* path = full_paths.front().c_str();
        const int watch = what.watch == watching::yes ? 1 : 0;
        switch (what.what) {
            case request::kind::get: return zoo_aget(handle, path, watch, &on_data, this);
            case request::kind::exists: return zoo_aexists(handle, path, watch, &on_stat, this);
            case request::kind::children: return zoo_aget_children2(handle, path, watch, &on_children, this);
            case request::kind::create:
                return zoo_acreate(handle, path, what.data.data(), static_cast<int>(what.data.size()),
                                   &ZOO_OPEN_ACL_UNSAFE, flags_of(what.mode), &on_string, this);
            case request::kind::remove: return zoo_adelete(handle, path, what.version, &on_void, this);
            case request::kind::sync: return zoo_async(handle, path, &on_string, this);
            case request::kind::commit: break;
        }
        return ZBADARGUMENTS;
    }
};

pending_requests::pending_requests(std::string chroot) : chroot_(std::move(chroot)) {}

pending_requests::~pending_requests() {
    abandon("closed");
}

void pending_requests::keep_for_reuse(std::unique_ptr<pending_request> record) {
    if (spare_.size() < spare_max && record->results.capacity() <= spare_operations_max) {
        if (record->what.is_write()) {
            record->what = {};  // what it wrote may have been long
        }
        spare_.push_back(std::move(record));
    }
}

void pending_requests::put_full_path(const std::string& path, std::string& out) const {
    out = chroot_;
    if (chroot_.empty() || path != "/") {
        out += path;
    }
}

std::string pending_requests::own_path(std::string path) const {
    if (!chroot_.empty() && path.starts_with(chroot_)) {
        path.erase(0, chroot_.size());
        return path.empty() ? "/" : path;
    }
    return path;
}

result<void> pending_requests::send(zhandle_t* handle, request& what, boot_time now, reply_handler done) {
    std::unique_ptr<pending_request> record;
    if (spare_.empty()) {
        record = std::make_unique<pending_request>();
    } else {
        record = std::move(spare_.back());
        spare_.pop_back();
    }
    record->owner = this;
    if (what.is_write()) {
        record->what = std::exchange(what, {});
    } else {
        record->what = what;  // into the memory of the one before
    }
    record->done = std::move(done);
    record->sent = now;
    waiting_.push_back(*record);
    const int code = record->send(handle, *this);
    if (code != ZOK) {
        record->unlink();
        // Refused before anything was sent: also a write has had no effect.
        return failure(code == ZINVALIDSTATE || code == ZSESSIONEXPIRED ? errc::session_lost : error_of(code, false),
                       record->what.path, zerror(code));
    }
    record.release();  // NOLINT(bugprone-unused-return-value): the library holds it and gives it to a callback
    return {};
}

void pending_requests::abandon(const std::string& reason) {
    while (!waiting_.empty()) {
        auto* record = static_cast<pending_request*>(&waiting_.front());
        waiting_.pop_front();
        record->owner = nullptr;
        const bool is_write = record->what.is_write();
        const std::string subject =
            record->what.operations.empty() ? record->what.path : record->what.operations.front().path;
        reply answer;
        answer.sent = record->sent;
        answer.outcome = failure(is_write ? errc::outcome_unknown : errc::session_lost, subject, reason);
        const auto done = std::exchange(record->done, {});
        done(std::move(answer));
    }
}

}  // namespace pvc::zookeeper
