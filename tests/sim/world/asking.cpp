#include "sim/world/asking.hpp"

#include "pvcnoded/control/answers.hpp"
#include "pvcnoded/control/metrics.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace pvc::sim {

namespace {

constexpr std::array<std::string_view, 9> request_names{"status", "tasks",       "vm list",   "vm show",   "daemon",
                                                        "ready",  "config show", "log level", "log follow"};
constexpr std::array<std::string_view, 3> page_paths{"/metrics", "/healthz", "/v1/report"};

void ask_socket(sim_node& node, std::string_view name) {
    const control::answers answers(node.daemon(), node.host);
    protocol::request what;
    what.name = name;
    if (name == "vm show") {
        what.parameters["vm"] = "vm1";
    }
    const control::reply got = answers.to(what, {});  // of `log follow` what goes on ends here, as with its connection
    const bool is_unknown = got.said.error && got.said.error->what == protocol::problem::unknown_request;
    if (is_unknown || !protocol::parse_answer(protocol::encode(got.said))) {
        throw std::logic_error(node.settings.name + " does not answer to \"" + what.name + "\"");
    }
}

void ask_web(sim_node& node, std::string_view path) {
    const control::http_answer got = control::web_pages(node.daemon(), {}).at(path);
    if (got.status == 404 || got.body.empty()) {
        throw std::logic_error(node.settings.name + " has no page " + std::string(path));
    }
}

}  // namespace

void ask_next(cluster& of, std::uint64_t round) {
    sim_node& node = of.members.at(round % of.members.size())->node;
    if (!node.is_running() || !node.daemon().can_be_asked().value()) {  // before, there is no socket
        return;
    }
    const std::uint64_t which = round / of.members.size() % (request_names.size() + page_paths.size());
    if (which < request_names.size()) {
        ask_socket(node, request_names.at(which));
    } else {
        ask_web(node, page_paths.at(which - request_names.size()));
    }
}

}  // namespace pvc::sim
