// What the daemon measures of itself (docs/metrics.md).
#include "pvcnoded/node/daemon.hpp"
#include "session_state.hpp"

namespace pvc::node {

namespace {

using core::metric_seconds;

void put_heartbeats(const core::node_context& node, core::metrics_sheet& sheet) {
    if (node.heartbeat_sent) {
        sheet.gauge("heartbeat_age_seconds", "Age of the last heartbeat that ZooKeeper acknowledged.",
                    metric_seconds(node.heartbeat_age()));
    }
    sheet.gauge("heartbeat_interval_seconds", "How often a heartbeat is due.", metric_seconds(node.times.keepalive));
    if (node.times.fence > 0) {
        sheet.gauge("heartbeat_dead_after_seconds", "Age of a heartbeat at which others declare this node dead.",
                    metric_seconds(node.times.dead_after()));
    }
    sheet.counter("heartbeats_total", "Heartbeats that ZooKeeper acknowledged.", node.beats.acknowledged);
    sheet.counter("heartbeats_missed_total", "Heartbeats that ZooKeeper did not acknowledge in time.",
                  node.beats.missed);
    sheet.counter("heartbeats_skipped_total",
                  "Heartbeats that were left out: the tick before them began too late or took too long.",
                  node.beats.skipped);
    sheet.times("heartbeat_lateness_seconds", "How much later than it was due a tick began, heartbeat first.",
                node.beats.lateness);
}

void put_zookeeper(const core::node_context& node, const daemon_view& seen, core::metrics_sheet& sheet) {
    const bool is_connected = seen.session && seen.session->now == zookeeper::link::connected;
    sheet.gauge("zookeeper_connected", "1 while there is a connection to ZooKeeper with a session on it.",
                is_connected ? 1 : 0);
    sheet.gauge("zookeeper_outage_seconds", "Since when ZooKeeper is away from a node that runs; 0: it is not.",
                seen.outage_age ? metric_seconds(*seen.outage_age) : 0);
    sheet.counter("zookeeper_sessions_total", "ZooKeeper sessions that were begun.", node.sessions_opened);
    sheet.counter("zookeeper_sessions_lost_total", "ZooKeeper sessions that a running node lost.", node.sessions_lost);
    sheet.times("zookeeper_request_seconds", "From the sending of a request to its answer, refusals among them.",
                node.requests.answered);
    sheet.counter("zookeeper_requests_unanswered_total",
                  "Requests that were sent and not answered: the time was over, or the connection broke.",
                  node.requests.unanswered);
}

double one_if(bool is_so) {
    return is_so ? 1 : 0;
}

}  // namespace

void daemon::put_metrics(core::metrics_sheet& sheet) const {
    const daemon_view seen = view();
    sheet.gauge("build_info", "Always 1; the label tells program, version and build.", 1,
                {{"implementation", implementation()}});
    sheet.gauge("uptime_seconds", "Since when the process runs.", metric_seconds(seen.uptime));
    sheet.gauge("startup_phase", "Number of the phase of the start-up entered last, 0 to 13.",
                static_cast<double>(policy::info_of(seen.phase).number));
    sheet.counter("startup_attempts_total", "How often the start-up was begun.", attempts_);
    sheet.gauge("running", "1 from the end of the start-up to the beginning of the stop.",
                one_if(context_.started && !context_.stopping.value()));
    sheet.gauge("stopping", "1 while the daemon stops.", one_if(context_.stopping.value()));
    sheet.gauge("maintenance", "1 while the cluster is in maintenance, as this node knows.",
                one_if(context_.maintenance));
    sheet.gauge("primary", "1 while this node has the primary role.",
                one_if(context_.role.now() == model::router_state::primary));
    put_heartbeats(context_, sheet);
    put_zookeeper(context_, seen, sheet);
    if (root_) {
        sheet.gauge("tasks", "Tasks of the daemon that run or wait.",
                    static_cast<double>(root_->owner().tasks_begun()));
    }
    sheet.counter("log_lines_lost_total", "Log lines that stdout or the log file did not take.", log_.lost());
    for (const auto* one : core::all_that_are<core::metrics_source>(subjects_)) {
        one->put_metrics(sheet);
    }
}

}  // namespace pvc::node
