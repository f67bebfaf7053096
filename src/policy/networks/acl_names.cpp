#include "acl_names.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/acl.hpp"

namespace pvc::policy {

namespace {

// Names and numbers in turn, separated by blanks. Not those that are words of nft's grammar (time, tproxy).
// clang-format off
constexpr std::string_view services =
    "Clearcase 371 acr-nema 104 afpovertcp 548 afs3-bos 7007 afs3-callback 7001 afs3-fileserver 7000 "
    "afs3-kaserver 7004 afs3-prserver 7002 afs3-rmtsys 7009 afs3-update 7008 afs3-vlserver 7003 afs3-volser 7005 "
    "amanda 10080 amandaidx 10082 amidxtape 10083 amqp 5672 amqps 5671 asf-rmcp 623 asp 27374 auth 113 "
    "authentication 113 babel 6696 bacula-dir 9101 bacula-fd 9102 bacula-sd 9103 bbs 7000 bgp 179 bgpd 2605 "
    "biff 512 binkp 24554 bootpc 68 bootps 67 canna 5680 cfengine 5308 chargen 19 cisco-sccp 2000 "
    "clc-build-daemon 8990 clearcase 371 cmd 514 cmip-agent 164 cmip-man 163 codaauth2 370 codasrv 2432 "
    "codasrv-se 2433 comsat 512 csync2 30865 cvspserver 2401 daap 3689 datametrics 1645 daytime 13 db-lsp 17500 "
    "dcap 22125 dhcpv6-client 546 dhcpv6-server 547 dicom 104 dict 2628 dircproxy 57000 discard 9 distcc 3632 "
    "domain 53 domain-s 853 echo 7 epmap 135 epmd 4369 exec 512 f5-globalsite 2792 f5-iquery 4353 fax 4557 "
    "fido 60179 finger 79 font-service 7100 freeciv 5556 fsp 21 fspd 21 ftp 21 ftp-data 20 ftps 990 "
    "ftps-data 989 gdomap 538 gds-db 3050 gds_db 3050 git 9418 gnunet 2086 gnutella-rtr 6347 gnutella-svc 6346 "
    "gopher 70 gpsd 2947 gris 2135 groupwise 1677 gsidcap 22128 gsiftp 2811 gsigatekeeper 2119 hkp 11371 "
    "hprop 754 http 80 http-alt 8080 https 443 hylafax 4559 iax 4569 icp 3130 icpv2 3130 ident 113 imap 143 "
    "imap2 143 imaps 993 ingreslock 1524 ipp 631 iprop 2121 ipsec-nat-t 4500 ipx 213 ircd 6667 ircs-u 6697 "
    "isakmp 500 iscsi-target 3260 isisd 2608 isns 3205 iso-tsap 102 jabber-client 5222 jabber-server 5269 "
    "kamanda 10081 kdc 750 kerberos 88 kerberos-adm 749 kerberos-iv 750 kerberos-master 751 kerberos-sec 88 "
    "kerberos4 750 kerberos5 88 kerberos_master 751 kermit 1649 klogin 543 kpasswd 464 krb-prop 754 krb5 88 "
    "krb5_prop 754 krb_prop 754 krcmd 544 kshell 544 l2f 1701 l2tp 1701 ldap 389 ldaps 636 ldp 646 loc-srv 135 "
    "login 513 lotusnote 1352 lotusnotes 1352 lrrd 4949 mail 25 mailq 174 mdns 5353 microsoft-ds 445 "
    "moira-db 775 moira-update 777 moira-ureg 779 moira_db 775 moira_update 777 moira_ureg 779 mon 2583 "
    "ms-sql-m 1434 ms-sql-s 1433 ms-wbt-server 3389 mtn 4691 munin 4949 mysql 3306 mysql-proxy 6446 nbd 10809 "
    "netbios-dgm 138 netbios-ns 137 netbios-ssn 139 netstat 15 nfs 2049 nicname 43 nntp 119 nntps 563 nqs 607 "
    "nrpe 5666 nsca 5667 ntalk 518 ntp 123 ntske 4460 null 9 nut 3493 old-radacct 1646 old-radius 1645 "
    "omniorb 8088 openvpn 1194 ospf6d 2606 ospfapi 2607 ospfd 2604 passwd-server 752 passwd_server 752 "
    "pawserv 345 pop-3 110 pop3 110 pop3s 995 poppassd 106 portmapper 111 postgres 5432 postgresql 5432 "
    "predict 1210 printer 515 proofd 1093 ptp-event 319 ptp-general 320 puppet 8140 qmqp 628 qmtp 209 qotd 17 "
    "quote 17 radacct 1813 radius 1812 radius-acct 1813 radmin-port 4899 readnews 119 redis 6379 remctl 4373 "
    "ripd 2602 ripngd 2603 rmiregistry 1099 rmtcfg 1236 rootd 1094 route 520 routed 520 router 520 "
    "rpc2portmap 369 rplay 5555 rptp 5556 rsync 873 rtcm-sc104 2101 rtsp 554 sa-msg-port 1646 saft 487 sane 6566 "
    "sane-port 6566 saned 6566 sge-execd 6445 sge-qmaster 6444 sge_execd 6445 sge_qmaster 6444 sgi-cad 17004 "
    "sgi-cmsd 17001 sgi-crsd 17002 sgi-gcd 17003 shell 514 sieve 4190 silc 706 sink 9 sip 5060 sip-tls 5061 "
    "skkserv 1178 smtp 25 smtps 465 smux 199 snmp 161 snmp-trap 162 snmptrap 162 snntp 563 snpp 444 socks 1080 "
    "source 19 spamd 783 spooler 515 ssh 22 ssmtp 465 submission 587 submissions 465 subversion 3690 sunrpc 111 "
    "supfiledbg 1127 supfilesrv 871 suucp 4031 svn 3690 svrloc 427 syslog 514 syslog-tls 6514 sysrqd 4094 "
    "systat 11 tacacs 49 talk 517 tap 113 tcpmux 1 telnet 23 telnets 992 tfido 60177 tftp 69 "
    "timserver 37 tinc 655 tsap 102 ttytst 19 untp 119 urd 465 users 11 uucp 540 uucpd 540 "
    "venus 2430 venus-se 2431 wais 210 webcache 8080 webmin 10000 who 513 whod 513 whois 43 wnn6 22273 www 80 "
    "x11 6000 x11-0 6000 x11-1 6001 x11-2 6002 x11-3 6003 x11-4 6004 x11-5 6005 x11-6 6006 x11-7 6007 xdmcp 177 "
    "xfs 7100 xinetd 9098 xmms2 9667 xmpp-client 5222 xmpp-server 5269 xtel 1313 xtelw 1314 z3950 210 "
    "zabbix-agent 10050 zabbix-trapper 10051 zebra 2601 zebrasrv 2600 zephyr-clt 2103 zephyr-hm 2104 "
    "zephyr-srv 2102 zope 9673 zope-ftp 8021 zserv 346 ";

constexpr std::string_view protocol_numbers =
    "AX.25 93 CPHB 73 DCCP 33 DDP 37 EGP 8 EIGRP 88 ENCAP 98 ETHERIP 97 Ethernet 143 FC 133 GGP 3 GRE 47 HIP 139 "
    "HMP 20 HOPOPT 0 ICMP 1 IDPR-CMTP 38 IDRP 45 IGMP 2 IGP 9 IP 0 IP-ENCAP 4 IPCOMP 108 IPIP 94 IPSEC-AH 51 "
    "IPSEC-ESP 50 IPv6 41 IPv6-Frag 44 IPv6-ICMP 58 IPv6-NoNxt 59 IPv6-Opts 60 IPv6-Route 43 ISIS 124 ISO-TP4 29 "
    "L2TP 115 MPLS-in-IP 137 Mobility-Header 135 OSPFIGP 89 PIM 103 PUP 12 RDP 27 ROHC 142 RSPF 73 RSVP 46 "
    "SCTP 132 SKIP 57 ST 5 Shim6 140 TCP 6 UDP 17 UDPLite 136 VMTP 81 VRRP 112 WESP 141 XNS-IDP 22 XTP 36 ah 51 "
    "ax.25 93 comp 108 dccp 33 ddp 37 egp 8 eigrp 88 encap 98 esp 50 etherip 97 ethernet 143 fc 133 ggp 3 gre 47 "
    "hip 139 hmp 20 hopopt 0 icmp 1 icmpv6 58 idpr-cmtp 38 idrp 45 igmp 2 igp 9 ip 0 ipcomp 108 ipencap 4 "
    "ipip 94 ipv6 41 ipv6-frag 44 ipv6-icmp 58 ipv6-nonxt 59 ipv6-opts 60 ipv6-route 43 isis 124 iso-tp4 29 "
    "l2tp 115 manet 138 mobility-header 135 mpls-in-ip 137 ospf 89 pim 103 pup 12 rdp 27 rohc 142 rspf 73 "
    "rsvp 46 sctp 132 shim6 140 skip 57 st 5 tcp 6 udp 17 udplite 136 vmtp 81 vrrp 112 wesp 141 xns-idp 22 "
    "xtp 36 ";

constexpr std::string_view icmp_type_numbers =
    "echo-reply 0 destination-unreachable 3 source-quench 4 redirect 5 echo-request 8 router-advertisement 9 "
    "router-solicitation 10 time-exceeded 11 parameter-problem 12 timestamp-request 13 timestamp-reply 14 "
    "info-request 15 info-reply 16 address-mask-request 17 address-mask-reply 18 ";

constexpr std::string_view icmp6_type_numbers =
    "destination-unreachable 1 packet-too-big 2 time-exceeded 3 parameter-problem 4 echo-request 128 echo-reply 129 "
    "mld-listener-query 130 mld-listener-report 131 mld-listener-done 132 mld-listener-reduction 132 "
    "nd-router-solicit 133 nd-router-advert 134 nd-neighbor-solicit 135 nd-neighbor-advert 136 nd-redirect 137 "
    "router-renumbering 138 ind-neighbor-solicit 141 ind-neighbor-advert 142 mld2-listener-report 143 ";

constexpr std::string_view families = "ipv4 2 ipv6 10 ";
constexpr std::string_view ct_states = "invalid 1 established 2 related 4 new 8 untracked 64 ";
constexpr std::string_view tcp_flags = "fin 1 syn 2 rst 4 psh 8 ack 16 urg 32 ecn 64 cwr 128 ";
constexpr std::string_view log_levels = "emerg 0 alert 1 crit 2 err 3 warn 4 notice 5 info 6 debug 7 ";
constexpr std::string_view units = "second 1 minute 60 hour 3600 day 86400 week 604800 ";
constexpr std::string_view icmp_codes =
    "net-unreachable 0 host-unreachable 1 prot-unreachable 2 port-unreachable 3 net-prohibited 9 host-prohibited 10 "
    "admin-prohibited 13 ";
constexpr std::string_view icmp6_codes =
    "no-route 0 admin-prohibited 1 addr-unreachable 3 port-unreachable 4 policy-fail 5 reject-route 6 ";
constexpr std::string_view icmpx_codes = "no-route 0 port-unreachable 1 host-unreachable 2 admin-prohibited 3 ";

// Of nft's grammar: where nft takes any text, these have to be in quotes.
constexpr std::string_view words =
    "accept add ah all and arp auto-merge bridge burst cgroup chain comment comp constant continue counter cpu "
    "create ct daddr day dccp define delete describe device devices dnat dport drop dst dup dynamic ecn element "
    "elements eq esp ether exists expires export exthdr fib flags flow flowtable flush frag fwd gc-interval ge "
    "get goto group gt handle hbh hook hour ibriport ibrname icmp icmpv6 igmp iif iifgroup iifname iiftype import "
    "include index inet insert interval ip ip6 ipsec jhash jump le length level limit list log lshift lt map mark "
    "masquerade meta meter mh minute missing monitor ne netdev nexthdr nftrace not notrack numgen obriport "
    "obrname offload oif oifgroup oifname oiftype or osf over packets pkttype policy position prefix priority "
    "protocol queue queue-threshold quota random rate redefine redirect reject rename replace reset return rt rt0 "
    "rt2 rshift rtclassid rule ruleset saddr sctp secmark second set size skgid skuid snaplen snat socket sport srh "
    "state symhash synproxy table tcp th time timeout tproxy type typeof udp udplite undefine update vlan vmap "
    "week with xor xt ";
// clang-format on

bool lists_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const auto end = list.find(' ');
        if (list.substr(0, end) == word) {
            return true;
        }
        list.remove_prefix(end + 1);
    }
    return false;
}

std::optional<std::uint32_t> find_in(std::string_view table, std::string_view name) {
    while (!table.empty()) {
        const auto name_end = table.find(' ');
        const auto number_end = table.find(' ', name_end + 1);
        if (table.substr(0, name_end) == name) {
            const auto number = parse_integer(table.substr(name_end + 1, number_end - name_end - 1));
            return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
        }
        table.remove_prefix(number_end + 1);
    }
    return std::nullopt;
}

std::vector<std::string_view> names_of_table(std::string_view table) {
    auto parts = split_blanks(table);
    std::vector<std::string_view> found;
    for (std::size_t at = 0; at < parts.size(); at += 2) {
        found.push_back(parts[at]);
    }
    return found;
}

}  // namespace

std::vector<std::string_view> names_of_services() {
    return names_of_table(services);
}

std::vector<std::string_view> names_of_protocols() {
    return names_of_table(protocol_numbers);
}

std::optional<std::uint32_t> port_of(std::string_view service) {
    return find_in(services, service);
}

std::optional<std::uint32_t> protocol_of(std::string_view name) {
    return find_in(protocol_numbers, name);
}

std::optional<std::uint32_t> icmp_type_of(std::string_view name) {
    return find_in(icmp_type_numbers, name);
}

std::optional<std::uint32_t> icmp6_type_of(std::string_view name) {
    return find_in(icmp6_type_numbers, name);
}

std::optional<std::uint32_t> family_of(std::string_view name) {
    return find_in(families, name);
}

std::optional<std::uint32_t> ct_state_of(std::string_view name) {
    return find_in(ct_states, name);
}

std::optional<std::uint32_t> tcp_flag_of(std::string_view name) {
    return find_in(tcp_flags, name);
}

std::optional<std::uint32_t> log_level_of(std::string_view name) {
    return find_in(log_levels, name);
}

std::optional<std::uint32_t> seconds_of(std::string_view unit) {
    return find_in(units, unit);
}

std::optional<std::uint32_t> icmp_code_of(std::string_view name) {
    return find_in(icmp_codes, name);
}

std::optional<std::uint32_t> icmp6_code_of(std::string_view name) {
    return find_in(icmp6_codes, name);
}

std::optional<std::uint32_t> icmpx_code_of(std::string_view name) {
    return find_in(icmpx_codes, name);
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_word_of_nft(std::string_view word) {
    return lists_word(words, word);
}

bool is_plain_word(std::string_view word) {
    return !word.empty() && (is_letter(word.front()) || word.front() == '_') &&
           word.substr(0, word.size() - 1).find('*') == std::string_view::npos &&
           word.find(':') == std::string_view::npos && !is_word_of_nft(word);
}

}  // namespace pvc::policy
