// What a daemon did, in order: its calls of the hypervisor, its writes below /domains and to its running list, and the
// ends of guests, as one list of short texts. `consolelog` and `stats` are left out, as in the cases of vm-domains.md
// B.
#pragma once

#include "domain_fixture.hpp"

namespace pvc::node {

using texts = std::vector<std::string>;

class effects_test : public domain_test {
protected:
    effects_test() {
        hardware.centre.on_call = [this](const std::string& on, const sim::sim_machine_guests::call& what) {
            if (!what.is_reading) {
                note((on == "hv1" ? "" : on + ": ") + what.text);
                if (on_call) {
                    on_call(what.text);
                }
            }
        };
        hardware.centre.changed = [this] {
            auto now = hardware.centre.machine("hv1").guests();
            for (const auto& id : there_) {
                if (std::ranges::find(now, id) == now.end()) {
                    note("gone " + hardware.centre.name_of(id));
                }
            }
            there_ = std::move(now);
        };
        ensemble.observe([this](const recorded_change& change) { on_change(change); });
    }
    void TearDown() override {
        domain_test::TearDown();
        hardware.centre.on_call = nullptr;
        hardware.centre.changed = nullptr;
    }

    struct effect {
        time_point when;
        std::string text;
    };

    // What follows is counted from now.
    void mark() {
        effects_.clear();
        origin_ = loop.clock().now();
    }
    [[nodiscard]] texts effects() const {
        texts all;
        for (const auto& one : effects_) {
            all.push_back(one.text);
        }
        return all;
    }
    // Seconds since mark() of each effect with this text.
    [[nodiscard]] std::vector<double> moments(std::string_view text) const {
        std::vector<double> at;
        for (const auto& one : effects_) {
            if (one.text == text) {
                at.push_back(std::chrono::duration<double>(one.when - origin_).count());
            }
        }
        return at;
    }
    [[nodiscard]] double moment(std::string_view text) const {
        const auto all = moments(text);
        return all.size() == 1 ? all.front() : -1.0;
    }
    [[nodiscard]] std::size_t count(std::string_view text) const { return moments(text).size(); }
    // A node that runs, with everything that it does at its start behind it.
    sim_node& settled_host() {
        sim_node& node = add_running_host();
        pass(2s);
        mark();
        return node;
    }
    [[nodiscard]] sim_node& hv1() { return nodes.front(); }
    [[nodiscard]] std::int32_t version(const std::string& path) const {
        const auto stat = ensemble.exists(path);
        return stat ? stat->version : -1;
    }
    // The copy runs here, is listed here and shown, and nobody holds a lock.
    void expect_running() {
        EXPECT_TRUE(guest().executes());
        EXPECT_EQ(state(), "start");
        EXPECT_EQ(running(), to_text(u1));
        EXPECT_EQ(value(key("/vnc")), "127.0.0.1:5900");
        EXPECT_EQ(locks_left(), 0U);
        EXPECT_LE(hardware.centre.running_copies(u1), 1U);
    }
    void expect_off(const std::string& wanted) {
        EXPECT_FALSE(guest().is_there());
        EXPECT_EQ(state(), wanted);
        EXPECT_EQ(running(), "");
        EXPECT_EQ(value(key("/vnc")), "");
        EXPECT_EQ(locks_left(), 0U);
    }
    static uuid numbered(int number) {
        return *parse_uuid(fmt::format("{:08x}-aaaa-4bbb-8ccc-000000000000", number + 0x100));
    }
    static hypervisor::call_failure refusal(hypervisor::call_error code, std::string text) {
        return {code, std::move(text)};
    }

    std::function<void(const std::string&)> on_call;  // at each of these calls

    inline static const std::string running_vnc = "vnc = 127.0.0.1:5900";

private:
    void note(std::string text) { effects_.push_back({loop.clock().now(), std::move(text)}); }
    void on_change(const recorded_change& change) {
        if (change.session == 0 || change.what == recorded_kind::check || change.what == recorded_kind::open_session ||
            change.what == recorded_kind::close_session || change.what == recorded_kind::expire_session) {
            return;
        }
        std::string text;
        const std::string own = key();
        if (change.path == "/nodes/hv1/runningdomains") {
            if (change.data == list_) {
                return;
            }
            list_ = change.data;
            std::string names;
            for (const auto word : split_blanks(change.data)) {
                const auto id = parse_uuid(word);
                names += (names.empty() ? "" : " ") + (id ? hardware.centre.name_of(*id) : std::string(word));
            }
            text = "rd = " + names;
        } else if (change.path.starts_with("/domains/")) {
            if (change.path.ends_with("/consolelog") || change.path.ends_with("/stats")) {
                if (change.what == recorded_kind::set) {
                    return;
                }
            }
            const bool is_first = change.path.starts_with(own + "/");
            const std::string where = is_first ? change.path.substr(own.size() + 1) : change.path;
            text = change.what == recorded_kind::set      ? where + " = " + change.data
                   : change.what == recorded_kind::create ? "make " + where
                                                          : "remove " + where;
        } else {
            return;
        }
        if (change.zxid == last_ && !effects_.empty() && last_was_write_) {
            effects_.back().text += " + " + text;
        } else {
            note(text);
        }
        last_ = change.zxid;
        last_was_write_ = true;
    }

    std::vector<effect> effects_;
    std::vector<uuid> there_;
    time_point origin_{};
    std::string list_;
    std::int64_t last_ = 0;
    bool last_was_write_ = false;
};

}  // namespace pvc::node
