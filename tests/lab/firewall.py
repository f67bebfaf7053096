"""Table `inet filter` of a node as `nft` shows it, and what nft itself makes of the files that the daemon keeps."""
import json
import os
import re
import subprocess


def listing(node, table='inet filter', handles=False):
    """Without counters, as their values are of the moment; '' without such a table."""
    return plain(node.enter('nft', *(['-a'] if handles else []), 'list', 'table', *table.split(), check=False))


def plain(text):
    return re.sub(r'counter packets \d+ bytes \d+', 'counter', text).strip()


def chains(node):
    """Chain -> texts of its rules, in order."""
    found, name = {}, None
    for line in listing(node).splitlines():
        line = line.strip()
        begin = re.match(r'chain (\S+) \{', line)
        if begin:
            name = begin[1].strip('"')
            found[name] = []
        elif name and line == '}':
            name = None
        elif name and not line.startswith('type '):
            found[name].append(line)
    return found


def handles(node):
    """(chain, handle) of every rule."""
    return [(one['rule']['chain'], one['rule']['handle'])
            for one in json.loads(node.enter('nft', '-j', '-a', 'list', 'table', 'inet', 'filter'))['nftables'] if 'rule' in one]


def packets(node, chain):
    """What each counter of a chain has counted."""
    text = node.enter('nft', 'list', 'chain', 'inet', 'filter', chain)
    return [int(number) for number in re.findall(r'counter packets (\d+)', text)]


def folder(node):
    return node.run_path('pvc', 'nft')


def files(node):
    found = {}
    for path, _, names in os.walk(folder(node)):
        for name in names:
            with open(os.path.join(path, name)) as file:
                found[os.path.relpath(os.path.join(path, name), folder(node))] = file.read()
    return found


def loaded_by_hand(node, base):
    """What nft makes of base.nft in a namespace of its own. base: its path as the node sees it."""
    done = subprocess.run(['nsenter', '-t', str(node.first), '-m', '-n', 'unshare', '-n', 'sh', '-c', f'nft -f {base} && nft list table inet filter'],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return plain(done.stdout)


def built_in(vni, ip4=None, ip6=None, gateway4=True, gateway6=True):
    """The rules of networking.md 7.1 as nft shows them: of `input`, and of `forward`."""
    bridge = f'iifname "vmbr{vni}"'
    into = [f'ip protocol icmp {bridge} counter accept', f'ip6 nexthdr ipv6-icmp {bridge} counter accept', f'tcp dport 53 {bridge} counter accept',
            f'udp dport 53 {bridge} counter accept', f'udp dport 67 {bridge} counter accept', f'udp dport 123 {bridge} counter accept',
            f'ip6 nexthdr udp udp dport 547 {bridge} counter accept', f'tcp dport 80 {bridge} counter accept', f'{bridge} counter drop']
    through = []
    for word, text, has_gateway in (('ip6', ip6, gateway6), ('ip', ip4, gateway4)):
        if text and has_gateway:
            through += [f'{word} daddr {text} counter jump vxlan{vni}-in', f'{word} saddr {text} counter jump vxlan{vni}-out']
    return into, through
