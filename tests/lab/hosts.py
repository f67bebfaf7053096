"""Hosts as people have them before the daemon is installed, on a real kernel: drawn by number (`pvcnoded-sim hosts --text`), made by
commands, seen before and after. What may change is the table "What of a host changes" of docs/operating.md, as in the simulator."""
import fnmatch
import ipaddress
import json
import os
import re
import subprocess
import sys

from . import network, node as program, space
from .firewall import listing

SIMULATOR = os.path.join(os.path.dirname(program.DAEMON), 'pvcnoded-sim')
MANUAL = os.path.join(program.ROOT, 'docs', 'operating.md')
BRIDGES = ('brcluster', 'brstorage', 'brupstream')
# Settings that the kernel changes by itself.
FICKLE = ('stable_secret', 'mtu', 'temp_')


def draw(first, last, *options):
    lines = subprocess.run([SIMULATOR, 'hosts', '--text', *options, '--seeds', f'{first}..{last}'], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in lines.stdout.splitlines()]


def exceptions():
    with open(MANUAL) as file:
        part = file.read().split('\n### What of a host changes\n')[1].split('\n#')[0]
    rows = [line.split('|')[1] for line in part.splitlines() if line.startswith('| `')]
    return [pattern for row in rows for pattern in re.findall(r'`([^`]+)`', row)]


def network_of(gateway):
    return str(ipaddress.ip_network(gateway, strict=False))


def shape(host):
    # The file may name a device by another name that the kernel knows.
    named = dict(re.findall(r'ip link property add dev (\S+) altname (cluster\d+)', ' '.join(host['commands'])))
    devices = {role: named.get(device, device) for role, device in host['devices'].items()}
    return network.Shape(**{role: devices[role] for role in ('upstream', 'cluster', 'storage')}, bridge_device=devices['bridge'], present=host['cards'],
                         **({} if host['has_gateway'] else {'gateway': None}))


def make_card(node, name):
    """In place of a veth that is there."""
    node.remove_device(name)
    space.sh('ip', 'link', 'add', 'link', 'lab0', 'name', name, 'mtu', '1500', 'netns', str(node.first), 'type', 'macvlan', 'mode', 'bridge')


def furnish(node, host):
    """On a node with power, whose cards are there. Its files are there before that (write_files)."""
    # Of a card that no key names the kind counts: of a veth the daemon takes it that it leads to somebody's guests.
    for card in host['cards']:
        if card not in host['devices'].values():
            make_card(node, card)
        node.enter('ip', 'link', 'set', card, 'up')
    for command in host['commands']:
        setting = re.match(r'echo (\S+) > /proc/sys/(\S+)$', command)
        if setting:
            network.set_sysctl(node, setting[2], setting[1])
        else:
            node.enter('sh', '-ec', command)
    for _, text in host['tables']:
        subprocess.run(['nsenter', '-t', str(node.first), '-n', 'nft', '-f', '-'], input=text, text=True, check=True)


def guest_commands(host):
    """What makes it in a guest (guest_node.sh), whose only card is eth0; the others are dummies."""
    cards = host['cards']
    lines = [f'ip link set eth0 name {cards[0]}'] if cards[0] != 'eth0' else []
    lines += [f'ip link add {card} type dummy' for card in cards[1:]] + [f'ip link set {card} up' for card in cards]
    return '\n'.join(lines + host['commands']) + '\n'


ROUTER = """
import socket, struct
index = socket.if_nametoindex('eth0')
with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as sender:
    sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    sender.sendto(struct.pack('!BBHBBHII', 134, 0, 0, 64, 0, 9000, 0, 0), ('ff02::1', 0, 0, index))
"""


def advertise(lab):
    """A router on the lab's network says that it is one, to all cards there. Who takes that has a default route of IPv6."""
    router = network.Station(lab, 'router').in_lab()
    # Else it says to whoever asks for its hardware address that it is none.
    router.enter('sysctl', '-qw', 'net.ipv6.conf.eth0.forwarding=1')
    lab.wait(lambda: 'fe80' in router.enter('ip', '-6', 'address', 'show', 'dev', 'eth0', 'scope', 'link', '-tentative'), 10, 'the router has an address')
    router.enter(sys.executable, '-c', ROUTER)


def write_files(node, host):
    for path, text in host['files'].items():
        place = os.path.join(node.folder, path.lstrip('/'))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, 'w') as file:
            file.write(text)


def _ask(node, *words):
    return json.loads(node.enter('ip', '-j', *words) or '[]')


def links_and_more(links, addresses, routes, rules):
    """key -> what is said of it, of what `ip` shows; the keys are those that the manual's table names."""
    found = {}
    for link in links:
        info = link.get('linkinfo', {})
        data = info.get('info_data', {})
        has_stp = ' with STP' if data.get('stp_state') else ''
        found['link ' + link['ifname']] = (f'{"up" if "UP" in link["flags"] else "down"} mtu {link["mtu"]} of {link.get("master", "nothing")}{has_stp}'
                                           f' {" ".join(link.get("altnames", []))}')
        found['identity ' + link['ifname']] = (f'index {link["ifindex"]} {info.get("info_kind", "card")} on {link.get("link", data.get("link"))} '
                                               f'{data.get("id")} {data.get("port")} {data.get("learning")}')
    for link in addresses:
        for one in link['addr_info']:
            if one['scope'] != 'link' or one['family'] == 'inet':
                found[f'address {link["ifname"]} {one["local"]}/{one["prefixlen"]}'] = \
                    ('with a lifetime' if one.get('dynamic') else 'permanent') + (' scope link' if one['scope'] == 'link' else '') + \
                    ''.join(f' {key} {one[key]}' for key in ('metric', 'broadcast', 'noprefixroute', 'deprecated') if one.get(key))
    for one in routes:
        # Connected ones follow from addresses; what the kernel makes by itself comes and goes with them.
        if one.get('protocol') != 'kernel' and one.get('type') != 'multicast' and one.get('table') != 'local':
            words = [one.get(key, '') for key in ('dst', 'gateway', 'metric', 'protocol', 'table', 'prefsrc', 'scope', 'metrics')]
            found[f'route {one.get("dev")} ' + ' '.join(str(word) for word in words)] = 'there'
    for one in rules:
        found[f'rule {json.dumps(one, sort_keys=True)}'] = 'there'
    return found


def picture(node, host):
    """What there is of the host."""
    found = links_and_more(_ask(node, '-d', 'link'), _ask(node, 'address'),
                           [one for family in ('-4', '-6') for one in _ask(node, family, 'route', 'show', 'table', 'all')],
                           [one | {'family': family} for family in ('-4', '-6') for one in _ask(node, family, 'rule')])
    for family in ('-4', '-6'):
        for one in _ask(node, family, 'route', 'show', 'table', 'all'):
            if one['dst'] in host['ways'] and one.get('table') != 'local':
                own = f'own {one.get("prefsrc", "")}' if one.get('protocol') == 'kernel' else 'by ' + one.get('gateway', 'nobody')
                found.setdefault(f'ways {one["dev"]} {one["dst"]}', []).append(f'{own} {one.get("metrics", "")}')
    for name, _ in host['tables']:
        found['table ' + name] = listing(node, name)
    text = subprocess.run(['nsenter', '-t', str(node.first), '-n', 'sh', '-c',
                           f'cd /proc/{node.first}/root/proc/sys && grep -rs . net/ipv4/conf net/ipv6/conf net/ipv4/ip_forward'],
                          stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        key, _, value = line.partition(':')
        if not os.path.basename(key).startswith(FICKLE):
            found['setting ' + key] = value
    gateways = {one.get('gateway') for family in ('-4', '-6') for one in _ask(node, family, 'route', 'show', 'default')}
    for line in node.enter('sh', '-c', 'for to; do ip -o route get $to 2> /dev/null || echo $to; done', '-', *host['probes']).splitlines():
        # A device of the file and the bridge whose port it is now are one way.
        by = re.search(r' dev (\S+)', line)
        gateway = re.search(r' via (\S+)', line)
        if by and not line.startswith(('local', 'broadcast')):
            # Where none is without a metric the file's is added, which the manual says.
            way = 'a device of the file' if by[1] in (*host['devices'].values(), *BRIDGES) else by[1]
            found['way to ' + line.split()[0]] = 'the default route' if gateway and gateway[1] in gateways else way
    for path in host['files']:
        found['file ' + path] = program.read_file(os.path.join(node.folder, path.lstrip('/')))
    return found


def _is_excepted(key, host, patterns):
    devices = {*host['devices'].values(), *BRIDGES}
    for pattern in patterns:
        names = devices if 'DEVICE' in pattern else host['bare'] if 'USED' in pattern else ['']
        token = 'DEVICE' if 'DEVICE' in pattern else 'USED'
        if any(fnmatch.fnmatchcase(key, pattern.replace(token, name) if name else pattern) for name in names):
            return True
    return False


def differences(before, after, host):
    """What was there before and is not as it was, but for what the manual excepts and what a node daemon left."""
    patterns, left = exceptions(), host['left']
    return [f'{key} was {value}, and is {after.get(key, "gone")}' for key, value in before.items()
            if after.get(key) != value and not key.startswith('ways ') and not _is_excepted(key, host, patterns) and not any(name in key for name in left)] + _unmoved(before, after, host)


def _unmoved(before, after, host):
    """An address of IPv4 of a device that became a port is on the bridge, as it was."""
    wrong = []
    for key, value in before.items():
        words = key.split()
        if words[0] == 'address' and words[1] in host['devices'].values() and ':' not in words[2]:
            # What has a lifetime may stay, which is said.
            is_port = re.search(r' of br', after.get('link ' + words[1], '')) and 'lifetime' not in value
            if not any(after.get(f'address {place} {words[2]}') == value for place in (*BRIDGES, *([] if is_port else [words[1]]))):
                wrong.append(f'{key}, {value}, is nowhere as it was')
        # So are its ways to its own networks, in their order.
        if words[0] == 'ways' and re.search(r' of br', after.get('link ' + words[1], '')):
            now = [after[f'ways {place} {words[2]}'] for place in BRIDGES if f'ways {place} {words[2]}' in after]
            if now != [value]:
                wrong.append(f'{key} was {value}, and is {now}')
        # And so are its routes, but for those of router advertisements.
        if words[0] == 'route' and words[1] in host['devices'].values() and ' ra ' not in key and re.search(r' of br', after.get('link ' + words[1], '')):
            if not any(same in after for place in BRIDGES for same in _same_route(place, key, before)):
                wrong.append(f'{key} is nowhere as it was')
    return wrong


def _same_route(place, key, before):
    """The keys that a route may have there: where the bridge has other addresses it names the source that it had."""
    source = 7  # of the words of a key
    words = key.split(' ', source + 2)
    sources = [words[source]] if words[source] else \
        ['', *(one.split()[2].split('/')[0] for one in before if one.startswith(f'address {words[1]} '))]
    return [' '.join(['route', place, *words[2:source], one, *words[source + 1:]]) for one in sources]


# --- what --against-host says ---

def steps(text):
    """What would be done, each without the words before it."""
    return [line.split(': would ', 1)[1].strip() for line in text.splitlines() if ': would ' in line]


def unfulfilled(said, after):
    """Those of these steps that do not show. Only the last word about one thing counts."""
    last, wrong = {}, []
    for step in said:
        last[_about(step)] = step
    for step in last.values():
        if not _shows(step, after):
            wrong.append('said before, and not done: ' + step)
    return wrong


def _about(step):
    words = re.sub(r' \([^)]*\)', '', step).split()  # without how: "(scope link)"
    if step.startswith('set MTU'):
        return ('mtu', words[-1])
    if step.startswith('set ') and ' to ' in step:
        return ('setting', words[1])
    if step.startswith(('add ', 'remove ')) and '/' in words[1] and len(words) == 4:
        return ('address', words[1], words[3])
    return step


def _shows(step, after):
    words = re.sub(r' \([^)]*\)', '', step).split()  # without how: "(scope link)"
    if step.startswith('create bridge '):
        return 'link ' + words[2] in after
    if step.startswith('make '):
        return f' of {words[-1]}' in after.get('link ' + words[1], '')
    if step.startswith('set MTU '):
        return f'mtu {words[2]} ' in after.get('link ' + words[-1], '')
    if step.startswith('set net/'):
        return after.get('setting ' + words[1]) == words[3]
    if step.startswith('set ') and step.endswith(' up'):
        return after.get('link ' + words[1], '').startswith('up')
    if step.startswith('add default route'):
        return any(key.startswith(f'route {words[-1]} default {words[4]} ') for key in after)
    if step.startswith('add ') and '/' in words[1]:
        return f'address {words[3]} {words[1]}' in after
    if step.startswith('remove ') and '/' in words[1]:
        return f'address {words[-1]} {words[1]}' not in after
    return True  # routes are said in other words than those of `ip`


def unsaid(said, before, after, host):
    """Changes of links, addresses and settings of the host that nothing of what was said tells of."""
    wrong = []
    for key, value in before.items():
        now = after.get(key)
        if now == value or any(name in key for name in host['left']):
            continue
        kind, _, what = key.partition(' ')
        if kind == 'link' and not any(re.search(rf'\b{re.escape(what)}\b', step) for step in said):
            wrong.append(f'{key} was {value}, and is {now}')
        if kind == 'address' and not any(what.split()[1] in step for step in said):
            wrong.append(f'{key} was {value}, and is {now}')
        if kind == 'setting' and not _is_said_of_setting(what, said):
            wrong.append(f'{key} was {value}, and is {now}')
    return ['done, and not said before: ' + one for one in wrong]


def _is_said_of_setting(key, said):
    name = os.path.basename(key)
    of_all = {'forwarding': 'net/ipv6/conf/all/forwarding' if '/ipv6/' in key else 'net/ipv4/ip_forward'}
    if key == 'net/ipv4/conf/all/accept_redirects':
        of_all[name] = 'net/ipv4/ip_forward'  # the kernel switches it with that
    return any(step.startswith((f'set {key} to ', f'set {of_all.get(name, key)} to ')) for step in said)


def left_alone(text):
    """Names of links that no network gets; also of VLANs by the numbers of others that are said."""
    said = [line.split('its name: ')[1] for line in text.splitlines()
            if (line.startswith('left alone') or ' left alone, ' in line) and 'its name: ' in line]
    numbers = [number for one in said if one.startswith('VLAN') for number in re.findall(r'^VLAN (\d+) |\.(\d+)[,;]', one)]
    return {one.split()[0] for one in said} | {f'vlan{above or named}' for above, named in numbers}
