#include "process_metrics.hpp"

#include "pvcnoded/control/answers.hpp"

namespace pvc::app {

void process_metrics::put_metrics(core::metrics_sheet& sheet) const {
    sheet.times("loop_delay_seconds", "How late the timer came that is due each second: what everything may wait for.",
                loop_.delays());
    sheet.gauge("loop_delay_max_seconds", "The longest of these delays since the process began.",
                core::metric_seconds(loop_.delays().longest()));
    sheet.gauge("pool_threads", "Threads for blocking calls (files, logs) that exist.",
                static_cast<double>(pool_.threads()));
    sheet.gauge("pool_waiting", "Blocking calls that wait for a thread.", static_cast<double>(pool_.waiting()));
    const auto text = host_.read_file("/proc/self/status");
    if (!text) {
        return;
    }
    constexpr double kib = 1024;
    const auto memory = control::parse_process_status(*text);
    sheet.gauge("resident_memory_bytes", "Memory of the process that is resident, shared pages among it.",
                static_cast<double>(memory.resident_kib) * kib);
    sheet.gauge("private_memory_bytes", "Memory that the process has for itself (anonymous pages).",
                static_cast<double>(memory.private_kib) * kib);
}

}  // namespace pvc::app
