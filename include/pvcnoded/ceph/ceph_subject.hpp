// Ceph, as far as a node has to do with it: keeps its helper, follows what clients keep of it in ZooKeeper, publishes
// its figures while this node is primary, and carries out what clients of schema 9 and before want done with OSDs.
//
// Only nodes with the storage function have this subject. What it asks may hang for as long as it likes: nothing else
// waits for it. Loop thread only. Specification: storage.md; node-lifecycle.md 3.2 (S12 d), 6.6.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/storage/ceph_helper.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::ceph {

// All outlive the subject.
struct ceph_ports {
    storage::ceph_helper& helper;
    std::string helper_program;  // pvcnoded-ceph, where it is installed
    async::process_runner& processes;
};

class objects;          // objects.hpp
class helper_teller;    // helper_news.hpp
struct ceph_knowledge;  // collection.hpp, as the next one
class collection;

class ceph_subject final : public core::subject,
                           public core::prepared_subject,
                           public core::session_subject,
                           public core::figure_source,
                           public core::reporter,
                           public core::metrics_source {
public:
    ceph_subject(core::node_context& node, ceph_ports outside);
    ~ceph_subject() override;

    [[nodiscard]] std::string_view name() const override { return "ceph"; }
    // Keeps the helper, over all sessions of the attempt.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    std::unique_ptr<core::session_part> begin(core::session& s) override;

    [[nodiscard]] std::span<const std::string_view> figure_keys() const override { return {}; }
    // The figures of Ceph, where this node is primary: below /ceph, not in the sheet.
    async::awaitable<void> collect(core::session& s, time_point deadline) override;
    // How many OSDs this node has; no key of its own.
    void put(core::figure_sheet& sheet) const override;

    void report(std::vector<std::string>& lines) const override;
    void put_metrics(core::metrics_sheet& sheet) const override;

private:
    class of_session;
    void report_figures(std::vector<std::string>& lines) const;

    core::node_context& node_;
    ceph_ports outside_;
    std::unique_ptr<helper_teller> teller_;
    std::unique_ptr<ceph_knowledge> known_;
    const objects* present_ = nullptr;  // of the session that is open, as the next one
    collection* collecting_ = nullptr;
};

}  // namespace pvc::ceph
