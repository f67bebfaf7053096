#include "adapter/filter_calls.hpp"

#include "adapter/filter_messages.hpp"
#include "adapter/filter_socket.hpp"
#include "adapter/kernel_requests.hpp"
#include "adapter/routing_socket.hpp"
#include "pvcnoded/netlink/filter_limits.hpp"
#include "pvcnoded/netlink/filter_replies.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <map>
#include <set>
#include <utility>

namespace pvc::netlink {

namespace {

constexpr std::uint16_t message_type(int type) {
    return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type);
}

class looking {
public:
    explicit looking(filter_socket& socket) : socket_(socket) {}

    result<std::optional<model::filter_state>> look() {
        // The kernel counts a batch before it has taken all of it up: within one, what is read is of either, under the
        // new number. So this waits for the end of what is under way; what begins later is another generation.
        if (auto waited = socket_.send(empty_batch_message()); !waited) {
            return std::move(waited).error();
        }
        PVC_TRY(const auto before, generation());
        model::filter_state seen;
        seen.generation = before;
        PVC_TRY(const auto table, filter_table());
        if (table) {
            seen.has_table = true;
            seen.flags = table->flags;
            seen.table = table->number;
            seen.owner = table->owner;
            PVC_TRY(const bool has_chains, take_chains(seen));
            PVC_TRY(const bool has_rules, has_chains ? take_rules(seen) : result<bool>(false));
            if (!has_rules) {
                return std::nullopt;
            }
        }
        PVC_TRY(const auto after, generation());
        return before == after ? std::optional(std::move(seen)) : std::nullopt;
    }

private:
    using taker = std::function<result<void>(const reply_message&)>;

    // The answer to its end.
    result<kernel_answer> ask(const std::string& message, const taker& each) {
        kernel_answer answer;
        bool is_over = false;
        if (auto sent = socket_.send(message); !sent) {
            return std::move(sent).error();
        }
        const auto received = socket_.receive([&](std::string_view datagram) -> result<bool> {
            PVC_TRY(auto read, read_datagram(datagram, sequence_, socket_.port()));
            for (const auto& one : read.messages) {
                if (auto taken = each(one); !taken) {
                    return std::move(taken).error();
                }
            }
            answer.is_interrupted = answer.is_interrupted || read.is_interrupted;
            answer.error = read.error;
            answer.sentence = std::move(read.sentence);
            is_over = read.is_over;
            return !is_over;
        });
        if (!received) {
            return received.error();
        }
        if (!is_over) {
            return failure(errc::io, "the packet filter", "the kernel did not answer");
        }
        return answer;
    }

    static failure not_understood(const kernel_answer& answer) {
        return failure(errc::unavailable, "the packet filter", answer.cause());
    }

    result<std::uint32_t> generation() {
        std::optional<std::uint32_t> found;
        PVC_TRY(const auto answer,
                ask(get_generation_message(++sequence_), [&](const reply_message& one) -> result<void> {
                    if (one.type == message_type(NFT_MSG_NEWGEN)) {
                        PVC_TRY(found, parse_generation(one.body));
                    }
                    return {};
                }));
        if (answer.error != 0 || !found) {
            return not_understood(answer);
        }
        return *found;
    }

    // Empty: there is no table.
    result<std::optional<told_table>> filter_table() {
        std::optional<told_table> found;
        PVC_TRY(const auto answer, ask(get_table_message(++sequence_), [&](const reply_message& one) -> result<void> {
                    if (one.type == message_type(NFT_MSG_NEWTABLE)) {
                        PVC_TRY(found, parse_filter_table(one.body));
                    }
                    return {};
                }));
        if (answer.error == ENOENT) {
            return std::nullopt;
        }
        if (answer.error != 0 || !found) {
            return not_understood(answer);
        }
        return found;
    }

    // False: it is torn.
    result<bool> take_chains(model::filter_state& to) {
        PVC_TRY(const auto answer, ask(dump_chains_message(++sequence_), [&](const reply_message& one) -> result<void> {
                    if (one.type == message_type(NFT_MSG_NEWCHAIN)) {
                        PVC_TRY(auto chain, parse_filter_chain(one.body));
                        if (chain) {
                            numbers_.emplace(chain->name, to.chains.size());
                            to.chains.push_back(*std::move(chain));
                        }
                    }
                    return {};
                }));
        return is_whole(answer);
    }

    result<bool> take_rules(model::filter_state& to) {
        bool has_chain = true;
        std::set<std::uint64_t> handles;
        PVC_TRY(const auto answer, ask(dump_rules_message(++sequence_), [&](const reply_message& one) -> result<void> {
                    if (one.type == message_type(NFT_MSG_NEWRULE)) {
                        PVC_TRY(auto rule, parse_filter_rule(one.body));
                        if (!rule) {
                            return {};
                        }
                        const auto chain = numbers_.find(rule->chain);
                        // A new one; or one that was told already: while a batch is being taken up a kernel (6.18) may
                        // go back within a dump, and say nothing of it.
                        if (chain == numbers_.end() || !handles.insert(rule->rule.handle).second) {
                            has_chain = false;
                        } else {
                            to.chains[chain->second].rules.push_back(std::move(rule->rule));
                        }
                    }
                    return {};
                }));
        PVC_TRY(const bool whole, is_whole(answer));
        return whole && has_chain;
    }

    static result<bool> is_whole(const kernel_answer& answer) {
        if (answer.is_interrupted || answer.error == EINTR) {
            return false;
        }
        if (answer.error != 0) {
            return not_understood(answer);
        }
        return true;
    }

    filter_socket& socket_;
    std::uint32_t sequence_ = 0;
    std::map<std::string, std::size_t> numbers_;
};

std::optional<batch_refusal> first_objection(const std::vector<model::filter_change>& changes) {
    for (std::size_t number = 0; number < changes.size(); ++number) {
        if (auto objection = objection_to(changes[number])) {
            return batch_refusal{number, *std::move(objection)};
        }
    }
    return std::nullopt;
}

// Of the batch as a whole: it was not looked at, or could not be carried out.
failure batch_failure(const acknowledgement& told) {
    const kernel_answer answer{told.error, told.sentence};
    switch (told.error) {
        case ERESTART: return failure(errc::version_conflict, "the packet filter", "its generation is another one");
        case ENOMEM:
        case ENOBUFS:
        case EPERM:
        case EINVAL:  // no such subsystem
        case EOPNOTSUPP: return failure(errc::unavailable, "the packet filter", answer.cause());
        default: return failure(errc::io, "the packet filter", answer.cause());
    }
}

}  // namespace

result<std::optional<model::filter_state>> look_at_filter() {
    PVC_TRY(const auto socket, filter_socket::open());
    return looking(*socket).look();
}

result<std::optional<batch_refusal>> commit_batch(const std::vector<model::filter_change>& changes,
                                                  std::optional<std::uint32_t> generation) {
    if (changes.empty()) {
        return std::nullopt;
    }
    if (auto objection = first_objection(changes)) {
        return objection;
    }
    PVC_TRY(const auto socket, filter_socket::open());
    if (auto sent = socket->send(batch_message(changes, generation)); !sent) {
        return std::move(sent).error();
    }
    std::optional<batch_refusal> refused;
    std::optional<failure> failed;
    bool is_done = false;
    const auto received = socket->receive([&](std::string_view datagram) -> result<bool> {
        PVC_TRY(const auto all, read_acknowledgements(datagram, socket->port()));
        for (const auto& one : all) {
            const std::uint32_t change = one.sequence - first_change_sequence;  // that of the head is beyond all
            if (one.error == 0) {
                is_done = is_done || change == changes.size() - 1;
            } else if (one.error == ENOMEM || one.error == ENOBUFS || change >= changes.size()) {
                failed = failed ? failed : batch_failure(one);
            } else if (!refused || change < refused->change) {
                refused = batch_refusal{change, kernel_answer{one.error, one.sentence}.cause()};
            }
        }
        return true;
    });
    if (!received) {
        return failure(errc::outcome_unknown, "the packet filter", received.error().cause());
    }
    if (failed) {
        return *failed;
    }
    if (refused) {
        return refused;
    }
    if (!is_done) {
        return failure(errc::outcome_unknown, "the packet filter", "the kernel did not answer");
    }
    return std::nullopt;
}

}  // namespace pvc::netlink
