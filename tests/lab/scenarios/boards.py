"""Boards of other nodes: the real ipmitool asks a simulator of boards."""
import json

from ..board import Board
from ..lab import check, equal, scenario, within
from .control import ask


def probe(node, name):
    status, text = ask(node, 'fence', 'probe', name, '--json', '--timeout', '60', timeout=90)
    return status, json.loads(text) if status == 0 else text


@scenario('README rulings 40 41 42: probes of the boards of others, with their suite, GUID and power', limit=120)
def boards_are_probed(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    board = Board(node, '127.0.0.2')
    lab.put_node('pvchv2', ipmihostname='127.0.0.2', ipmiusername='admin', ipmipassword='Passw0rd', daemonstate='stop')
    lab.put_node('pvchv3', ipmihostname='127.0.0.2', ipmiusername='admin', ipmipassword='Passw0rd', daemonstate='stop')
    lab.put_node('pvchv4', ipmihostname='two words', daemonstate='stop')
    node.up()
    lab.await_state(node, 'run')

    # This simulator does not say which suites it knows: ten seconds without one, which a probe finds out.
    status, told = probe(node, 'pvchv2')
    equal(status, 0, f'probe: {told}')
    equal((told['power'], told['cipher_suite'], told['address']), ('on', 3, '127.0.0.2'), f'probe: {told}')
    check(told['guid'], f'the GUID of a board: {told}')
    within(told['took_s'], 2, f'an answer with the suite that was learned: {told}')
    lab.await_log(node, 'node pvchv3 could not be fenced now: its board is the same as that of node pvchv2', timeout=60)
    lab.await_log(node, 'node pvchv4 could not be fenced now: its key ipmihostname is neither a host name', timeout=60)

    lab.set('/nodes/pvchv3/ipmihostname', 'nobody-lom')
    status, told = probe(node, 'pvchv3')
    check('does not resolve' in told['why_not'], f'a name that nobody knows: {told}')
    board.power = False
    status, told = probe(node, 'pvchv2')
    equal((status, told['power']), (0, 'off'), f'a board without power: {told}')
    lab.set('/nodes/pvchv2/ipmipassword', 'wrong')
    status, told = probe(node, 'pvchv2')
    equal((status, told['power'], told['can_be_fenced']), (0, 'unknown', False), f'a wrong password: {told}')
    check('does not answer (exit status 1' in told['why_not'], f'a wrong password: {told}')
    lab.set('/config/maintenance', 'true')
    lab.await_log(node, 'maintenance mode is on')
    status, text = probe(node, 'pvchv2')
    check(status == 1 and 'maintenance mode is on' in text, f'a probe in maintenance: {status} {text}')

    status, text = ask(node, 'fence', 'list', '--json')
    equal((status, json.loads(text)['fences']), (0, []), 'fences of a node that fenced nobody')
    equal(ask(node, 'fence', 'show', 'pvchv2')[0], 1, 'a fence that never was')
    equal(node.inside('stat', '-c', '%a', '/var/lib/pvc/fences').strip(), '700', 'the mode of the folder of records')
    for text in (node.log(), node.output()):
        check('Passw0rd' not in text, 'the password is in the log')
