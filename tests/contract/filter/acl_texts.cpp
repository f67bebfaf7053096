#include "contract/filter/acl_texts.hpp"

#include <array>
#include <string_view>

namespace pvc::contract {

namespace {

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        lines.emplace_back(text.substr(0, text.find('\n')));
        text.remove_prefix(lines.back().size() + 1);
    }
    return lines;
}

constexpr std::string_view accepted = R"~(tcp dport 22 ct state new accept
ip saddr 10.0.0.0/8 accept
ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept
icmp type echo-request limit rate 5/second accept
reject with tcp reset

accept
drop
return
reject
counter
counter counter accept
ip saddr 10.1.2.3/9 accept
ip saddr 0.0.0.0/0 accept
ip saddr 10.1.2.3/32 accept
ip saddr 10.1.2.0/31 drop
ip saddr != 10.0.0.0/9 accept
ip daddr != 10.0.0.0/8 accept
ip saddr 10.0.0.0 / 8 accept
ip saddr "10.0.0.1" accept
ip saddr 10.0.0.1-10.0.0.1
ip saddr 10.0.0.1 - 10.0.0.5
ip saddr 10.0.0.1 -10.0.0.5
ip saddr 10.0.0.1- 10.0.0.5
ip daddr != 10.0.0.1-10.0.0.5 accept
ip saddr < 10.0.0.1
ip saddr >= 10.0.0.1
ip saddr { 10.0.0.1, 10.0.0.1 }
ip saddr { 10.0.0.0/24, 10.0.0.1 }
ip saddr { 10.0.0.0/25, 10.0.0.128/25 }
ip saddr { 10.0.0.1-10.0.0.5, 10.0.0.3-10.0.0.9 }
ip saddr { 10.0.0.1-10.0.0.5, 10.0.0.6 }
ip saddr { 10.0.0.1, 10.0.0.2-10.0.0.3 }
ip saddr { 10.0.0.1 }
ip saddr { 10.0.0.0/8 }
ip saddr != { 10.0.0.0/8, 172.16.0.0/12 }
ip saddr != { 10.0.0.1 }
ip saddr { 0.0.0.0/0 }
ip saddr { 0.0.0.0/1, 10.0.0.1 }
ip saddr { 255.0.0.0/8, 1.2.3.4 }
ip saddr { 10.0.0.1/32, 10.0.0.2 }
ip saddr { 10.0.0.1 - 10.0.0.5, 11.0.0.0 / 8 }
ip saddr 1.1.1.1 ip daddr 2.2.2.2 accept
ip saddr 1.1.1.1 ip saddr 2.2.2.2
ip protocol tcp tcp dport 22 accept
ip protocol { tcp } tcp dport 22 accept
ip protocol != tcp tcp dport 22
ip protocol 1-6 tcp dport 5
ip protocol { icmp, esp, ah, gre, igmp, ospf, vrrp, dccp, udplite, comp, sctp }
ip protocol TCP
ip protocol 6
ip6 saddr fd00::/64
ip6 saddr fd00::/65
ip6 daddr ::/0
ip6 saddr ::ffff:1.2.3.4
ip6 saddr fd00::1-fd00::5
ip6 saddr != fd00::1-fd00::5
ip6 saddr { fd00::/64, ::1 }
ip6 saddr { ::1, ::2 }
ip6 nexthdr tcp tcp dport 22
ip6 nexthdr 58
ip6 nexthdr { tcp, udp }
ip6 nexthdr udp udp dport 547 accept
ip6 nexthdr ipv6-icmp icmpv6 type echo-request
ip6 nexthdr icmpv6 icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
ip6 saddr ::1 icmp type echo-request
meta nfproto ipv4 ip saddr 1.2.3.4
meta nfproto != ipv6 ip saddr 1.2.3.4
meta nfproto { ipv4, ipv6 }
meta nfproto 2 reject
ip saddr 1.2.3.4 meta nfproto ipv6
meta l4proto tcp tcp dport 22
meta l4proto { tcp, udp } th dport 53 accept
meta l4proto != { tcp, udp }
meta l4proto { 1-6, 17 }
meta l4proto 1-6
meta l4proto != tcp tcp dport 53
meta l4proto icmp icmp type echo-request
tcp dport 22 meta l4proto udp
tcp dport 22 ip protocol udp
tcp dport 22 ip saddr 1.2.3.4
meta mark 5
meta mark 0x10
meta mark { 1, 2 }
meta mark != 7
mark 7
ct state related,established accept
meta l4proto { icmp, ipv6-icmp } accept
ip protocol icmp accept
udp dport { 53, 67 } log accept
meta mark 0xffffffff
iifname eth0
iifname "eth0"
iifname != "eth0" drop
meta oifname lo
iifname "eth*"
iifname eth*
iifname { "a", b }
iifname != { a, b }
iifname "a b"
iifname eth0.5
iifname a-b
iifname "tcp"
iifname "eth0" oifname "eth1" accept
tcp sport 1 tcp dport 2 accept
udp dport 5 udp sport 6
sctp dport 5
th dport 53
th dport != 5-6
tcp sport 5 th dport 53
icmp type 8 th dport 5
tcp dport ssh
tcp dport "ssh"
tcp dport ssh - http
tcp dport "ssh"-"http"
tcp dport 22-http
tcp dport http-alt
tcp dport 0
tcp dport 0x16
tcp dport 22 -25
tcp dport!=22
tcp dport{22,23}accept
tcp dport { ssh, http , }
tcp dport == { 22, 23 }
tcp dport { 1-5, 3 }
tcp dport { 1-5, 6-8, 22 }
tcp dport { 65000-65535, 22 }
tcp dport { 0-65535 }
tcp dport 0-65535
tcp dport != { 22, 80-90 }
tcp dport eq 22
tcp dport ne 22
tcp dport < 1024
tcp dport <= 1024
tcp dport > 1024
tcp dport >= 1024
tcp dport lt 1024
tcp dport gt 1024
icmp type 8
icmp type 8-10
icmp type != echo-request
icmp type { echo-request, echo-reply }
icmp type { source-quench, redirect, router-advertisement, router-solicitation, time-exceeded, parameter-problem }
icmp type { timestamp-request, timestamp-reply, info-request, info-reply, address-mask-request, address-mask-reply }
icmp type destination-unreachable ip saddr 1.2.3.4
icmp type echo-request reject
icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem, echo-request, echo-reply }
icmpv6 type { mld-listener-query, mld-listener-report, mld-listener-done, mld-listener-reduction }
icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect }
icmpv6 type { router-renumbering, ind-neighbor-solicit, ind-neighbor-advert, mld2-listener-report }
ip saddr 1.2.3.4 icmpv6 type echo-request
ether saddr 00:11:22:33:44:55
ether daddr != ff:FF:ff:ff:ff:ff
ether saddr 0:11:22:33:44:5
ether saddr { 00:11:22:33:44:55, 00:11:22:33:44:56 }
ether saddr 00:11:22:33:44:55-00:11:22:33:44:59
ether saddr 00:11:22:33:44:55 ether daddr 00:11:22:33:44:56
ether saddr 00:11:22:33:44:55 ip saddr 1.2.3.4 reject
ether saddr 00:11:22:33:44:55 ip6 saddr ::1
ether saddr 00:11:22:33:44:55 icmp type echo-request
ip saddr 1.2.3.4 ether saddr 00:11:22:33:44:55
ct state new
ct state == new
ct state != new
ct state established,related accept
ct state == new,established
ct state != new,established
ct state { new }
ct state != { new }
ct state { new, established }
ct state != { new, established,related }
ct state ! new
ct state ! new,established
ct state established|related
ct state (established|related)
ct state & (new|established) == new
ct state new , established
ct state "new"
ct state 8
ct state invalid drop
ct state untracked
tcp flags syn
tcp flags == syn
tcp flags != syn
tcp flags syn,ack
tcp flags syn|ack
tcp flags (syn|ack)
tcp flags == syn|ack
tcp flags != syn,ack
tcp flags { syn }
tcp flags & (fin|syn|rst|ack) == syn
tcp flags & (fin | syn | rst | ack) != syn
tcp flags & syn == syn
tcp flags & syn != 0
tcp flags & (syn|ack) == 0x0
tcp flags & (syn|ack) == syn|ack
tcp flags & (syn|ack) == (syn|ack)
tcp flags & (syn|ack) == syn,ack
tcp flags syn / syn,ack
tcp flags == syn / fin,syn,rst,ack
tcp flags != syn / syn,ack
tcp flags syn,ack / syn,ack
tcp flags ! syn
tcp flags ! fin,rst
tcp flags 2
tcp flags psh,urg,ecn,cwr
ip saddr 1.2.3.4 reject
ip6 saddr ::1 reject
tcp dport 22 reject
ip saddr != 1.2.3.4 reject
meta l4proto tcp reject with tcp reset
ip protocol tcp reject with tcp reset
ip saddr 1.2.3.4 log reject with tcp reset
reject with icmp host-unreachable
reject with icmp type host-unreachable
reject with icmp net-prohibited
log reject with icmp admin-prohibited
reject with icmpv6 no-route
reject with icmpv6 type addr-unreachable
tcp dport 22 reject with icmpv6 policy-fail
reject with icmpx port-unreachable
reject with icmpx type host-unreachable
ip saddr 1.2.3.4 reject with icmpx admin-prohibited
th dport 5 reject with tcp reset
log
log prefix "a;b#c@d" 
log level debug
log level "info"
log level info prefix "x y"
log prefix abc
log prefix "ä" level emerg
log level alert
log level crit
log level err
log level warn
log level notice
log prefix "a" level err prefix "b" drop
limit rate 5/second
limit rate over 5/minute
limit rate 5/hour burst 10 packets
limit rate 5 / day
limit rate 5/week
limit rate 0x10/second burst 4294967295 packets
accept comment "abc"
accept comment abc
comment "only this"
)~";

constexpr std::string_view refused = R"~(tcp dport nosuch accept
tcp dport 65536
tcp dport -5
tcp dport 22.5
tcp dport 443-80
tcp dport ssh-http
tcp dport SSH
tcp dport {ssh-http}
tcp dport = 22
tcp dport ! 22
tcp dport 22,23
tcp dport < { 1, 2 }
tcp dport < 5-7
tcp dport { 22, 443-80 }
tcp dport { }
tcp dport { 22
tcp dport 22 }
tcp dport 22 udp dport 23
tcp dport
tcp
ip saddr 10.0.0.2-10.0.0.1
ip saddr 10.0.0.256
ip saddr 10.0.0
ip saddr 10.0.0.0/33
ip saddr 10.0.0.0/255.255.255.0
ip saddr ::1
ip6 saddr 1.2.3.4
ip6 saddr fe80::1%eth0
ip saddr 10.0.0.0/8-10.0.0.1
ip saddr < 10.0.0.0/8
ip daddr 1.2.3.4, 1.2.3.5
IP saddr 1.2.3.4
ip saddr 1.1.1.1 ip6 daddr ::1 accept
ip protocol { tcp, udp } tcp dport 22
ip protocol tcp udp dport 22
ip protocol tcp ip6 nexthdr tcp
ip protocol tcp-udp
ip protocol nosuch
meta nfproto ipv6 ip saddr 1.2.3.4
meta nfproto ip
meta nfproto 300
meta nfproto 1 reject
meta l4proto 256
meta mark 4294967296
icmp type ping
icmp type echo-request ip6 saddr ::1
icmp type echo-request tcp dport 1
icmp type 8 icmpv6 type 128
iifname "*"
iifname ""
iifname "abcdefghijklmnop"
iifname tcp
iifname accept
ether saddr 00:11:22:33:44
ether saddr 00-11-22-33-44-55
ct state snat
ct state new-established
ct state
tcp flags syn/ack
tcp flags syn /ack
tcp flags & syn,ack == syn
tcp flags & (syn,ack) == syn
tcp flags & syn
tcp flags all
udp dport 5 reject with tcp reset
meta l4proto icmp reject with tcp reset
ip6 saddr ::1 reject with icmp host-unreachable
reject with nonsense
reject counter
accept counter
accept drop
drop tcp dport 22
comment "abc" accept
comment "a" comment "b"
comment 5
log level warning
log level 3
log prefix 5
limit rate 0/second
limit rate 5/sec
limit rate 5/day burst 10
limit rate 5/second burst 0 packets
limit rate until 5/second
limit rate 18446744073709551616/second
limit rate 18446744073709551615/second
limit rate 1/week burst 4294967295 packets
limit rate "5"/second
jump nosuch
goto nosuch
tcp dport vmap { 22 : accept
tcp dport { 22 : accept }
tcp dport vmap { 22 : nosuch }
tcp dport . udp dport { 22 . 53 }
ip saddr . tcp dport { 10.0.0.1 }
iifname vmap
iifname .
iifname . oifname "a"
iifname 5a
comment add
comment a*b
log prefix tcp
log prefix vlan
log prefix x:y
meta mark set
tcp dport 22 ip protocol udp udp dport 5
tcp dport 22 ip6 nexthdr udp tcp dport 5
meta l4proto tcp meta l4proto udp udp dport 5
tcp dport 22 ip protocol udp ip protocol udp udp dport 5
ip protocol { tcp, udp } ip protocol udp udp dport 5
ip protocol udp ip protocol { tcp, udp } ip protocol udp udp dport 5
ip ttl 5jump nosuch
nonsense
"accept"
{ accept }
)~";

constexpr std::string_view beyond = R"~(tcp dport vmap { 22 : accept, 80 : drop }
tcp dport vmap { 22-80 : accept, 443 : drop }
udp sport vmap { domain : accept, * : drop }
ip protocol vmap { tcp : accept, udp : drop }
ip saddr vmap { 10.0.0.0/8 : accept, 192.168.0.1 : drop }
ip6 daddr vmap { fd00::/64 : accept }
ip6 nexthdr vmap { tcp : accept }
icmp type vmap { echo-request : accept, echo-reply : drop }
icmpv6 type vmap { nd-neighbor-solicit : accept }
ct state vmap { established : accept, related : accept, invalid : drop }
iifname vmap { "eth0" : accept, eth1 : drop }
meta l4proto vmap { tcp : accept, 17 : drop }
meta nfproto vmap { ipv4 : accept }
meta mark vmap { 1 : accept }
tcp flags vmap { syn : accept }
ether saddr vmap { 00:11:22:33:44:55 : accept }
tcp dport vmap{22:accept,80:drop}
ip saddr . tcp dport { 10.0.0.1 . 22, 10.0.0.2 . 80 } accept
ip saddr . tcp dport != { 10.0.0.0/8 . 22-80 } accept
ip saddr . tcp dport vmap { 10.0.0.1 . 22 : accept }
tcp dport . ip daddr { 22 . 10.0.0.1 }
meta l4proto . th dport { tcp . 22, udp . 53 } accept
ether saddr . ip saddr { 00:11:22:33:44:55 . 10.0.0.1 } drop
iifname . oifname { "a" . "b" }
ct state . meta mark { new . 5 }
ip protocol . tcp dport { tcp . 22 }
meta mark set 7
mark set 7
meta mark set meta mark ^ 5
meta mark set tcp dport map { 22 : 1, 80 : 2 }
meta mark ^ 1 == 1
mark and 0xf == 1
mark & 0xf == 1
meta mark { 1, 5-7 }
tcp dport 22 meta mark set 7 accept
tcp dport set 80
ip saddr set 10.0.0.1
ether saddr set 00:11:22:33:44:55
ip saddr and 255.0.0.0 == 10.0.0.0
ip saddr & 255.0.0.0 == 10.0.0.0
ip saddr 167772161
ip saddr 0x0a000001
ip saddr 010.0.0.1
ip protocol and 1 == 1
ether saddr & ff:ff:ff:00:00:00 == 00:11:22:00:00:00
ether saddr 00:11:22:33:44:55/24
tcp dport & 1 == 1
tcp dport 022
tcp dport 0X16
tcp dport { 22, 010 }
tcp dport 22accept
tcp dport > 65535
tcp dport < 0
ip saddr > 255.255.255.255
tcp dport { {22, 23}, 24 }
tcp dport { 22 comment "a", 80 }
tcp dport { 22 counter, 80 }
tcp flags & syn|ack == syn
tcp flags { syn, ack }
tcp flags { syn, syn|ack }
tcp flags syn - ack
tcp dport { 22, tcp }
tcp dport { 22,, 80 }
ip6 nexthdr 8 udp dport 5
ip protocol 8 udp dport 5
ct state new|established,related
ct state new ^ related
ct state 010
ct state { new|related }
meta nfproto 3
meta nfproto 02
iifname 5
iifname .x
iifname a:b
iifname "a/b"
iifname a^b
log level audit
log prefix .x
limit rate 05/second
limit rate 10 mbytes/second burst 5 kbytes
limit rate 5/second burst 010 packets
reject with icmp 3
meter m { ip saddr limit rate 5/second } accept
comment .x
)~";

constexpr auto parts = std::to_array<std::string_view>(
    {"ip saddr",  "ip daddr",     "ip6 saddr",    "ip6 daddr",  "ip protocol", "ip6 nexthdr", "tcp sport",
     "tcp dport", "udp dport",    "th dport",     "sctp sport", "tcp flags",   "icmp type",   "icmpv6 type",
     "iifname",   "meta l4proto", "meta nfproto", "meta mark",  "ether saddr", "ct state"});
constexpr auto values = std::to_array<std::string_view>({"10.0.0.1",
                                                         "10.0.0.0/8",
                                                         "10.0.0.0/23",
                                                         "fd00::1",
                                                         "fd00::/64",
                                                         "fd00::/57",
                                                         "tcp",
                                                         "udp",
                                                         "icmp",
                                                         "6",
                                                         "17",
                                                         "22",
                                                         "ssh",
                                                         "80-90",
                                                         "echo-request",
                                                         "8",
                                                         "128",
                                                         "\"eth0\"",
                                                         "ipv4",
                                                         "ipv6",
                                                         "0x10",
                                                         "52:54:00:00:00:01",
                                                         "new",
                                                         "established,related",
                                                         "syn",
                                                         "syn|ack",
                                                         "10.0.0.1-10.0.0.9",
                                                         "1-5"});
constexpr auto statements =
    std::to_array<std::string_view>({"counter", "log", "log prefix \"x\" level info", "limit rate 5/second",
                                     "limit rate over 1/minute burst 7 packets"});
constexpr auto only_nft = std::to_array<std::string_view>(
    {"meta mark set 7", "tcp dport vmap { 22 : drop }", "ct state vmap { new : accept }",
     "ip protocol vmap { tcp : drop }", "ip saddr . tcp dport { 10.0.0.1 . 22 }",
     "meta l4proto . th dport { tcp . 22 }", "ip ttl 5", "ct mark 1",
     "ether saddr . ip saddr { 52:54:00:00:00:01 . 10.0.0.1 }", "tcp dport & 1 == 1", "log level audit"});
constexpr auto verdicts = std::to_array<std::string_view>(
    {"accept", "drop", "return", "reject", "reject with tcp reset", "reject with icmp host-unreachable",
     "reject with icmpv6 no-route", "reject with icmpx no-route", "", ""});
// What fits behind each part, by its place: so that most of it is right.
constexpr std::array<std::array<std::size_t, 4>, parts.size()> fitting{
    {{0, 1, 2, 26},    {0, 1, 2, 26},    {3, 4, 5, 3},     {3, 4, 5, 4},     {6, 7, 8, 27},
     {6, 7, 9, 10},    {11, 12, 13, 27}, {11, 12, 13, 27}, {11, 13, 12, 15}, {11, 12, 27, 15},
     {11, 13, 12, 15}, {24, 25, 24, 25}, {14, 15, 14, 27}, {14, 16, 14, 27}, {17, 17, 17, 17},
     {6, 7, 8, 27},    {18, 19, 18, 19}, {20, 15, 9, 20},  {21, 21, 21, 21}, {22, 23, 22, 22}}};

}  // namespace

const std::vector<std::string>& accepted_acls() {
    static const auto all = lines_of(accepted);
    return all;
}

const std::vector<std::string>& refused_acls() {
    static const auto all = lines_of(refused);
    return all;
}

const std::vector<std::string>& beyond_acls() {
    static const auto all = lines_of(beyond);
    return all;
}

std::string acl_writer::next() {
    std::string text;
    const auto add = [&](std::string_view word) { text.append(text.empty() || word.empty() ? "" : " ").append(word); };
    const auto any = [&](const auto& table) { return table.at(random_.below(table.size())); };
    for (auto count = random_.below(4); count > 0; --count) {
        if (random_.below(5) == 0) {
            add(any(statements));
            continue;
        }
        if (random_.below(10) == 0) {
            add(any(only_nft));
            continue;
        }
        const auto part = random_.below(parts.size());
        const auto value = [&] {
            return random_.below(20) == 0 ? any(values) : values.at(fitting.at(part).at(random_.below(4)));
        };
        add(parts.at(part));
        constexpr std::array<std::string_view, 8> operators{"", "", "", "", "==", "!=", "<", ">="};
        add(any(operators));
        if (random_.below(3) == 0) {
            add("{");
            add(value());
            for (auto more = random_.below(3); more > 0; --more) {
                add(",");
                add(value());
            }
            add("}");
        } else {
            add(value());
        }
    }
    add(any(verdicts));
    return text;
}

}  // namespace pvc::contract
