"""What an operator asks a node with pvcnodectl: before the daemon is there, while it runs, stands still, and is gone."""
import json
import os
import subprocess
import time

from .. import node as nodes
from ..herd import Herd
from ..lab import check, equal, scenario, within

CTL = os.path.join(os.path.dirname(nodes.DAEMON), 'pvcnodectl')


MEMBER = ['setpriv', '--reuid', '65534', '--regid', '4', '--clear-groups', '--']  # of the group adm, and nobody else


def ask(node, *words, timeout=60, through=()):
    """Exit status and both outputs together."""
    done = subprocess.run(node.command([*through, CTL, *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=timeout)
    return done.returncode, done.stdout.decode()


def begin(node, *words):
    return subprocess.Popen(node.command([CTL, *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


@scenario(limit=60)
def an_operator_asks_a_node(lab):
    lab.zookeeper()
    node = lab.node()
    node.power_on()
    equal(ask(node, 'status')[0], 3, 'status without a daemon')
    begun = time.monotonic()
    status, text = ask(node, 'ready', '--wait', '--timeout', '1')
    equal(status, 3, 'ready --wait without a daemon')
    check('no pvcnoded listens' in text, text)
    within(time.monotonic() - begun, 3, 'ready --wait ended with its time-out')

    waiting = begin(node, 'ready', '--wait', '--timeout', '40')
    node.up()
    out, _ = waiting.communicate(timeout=45)
    equal((waiting.returncode, out), (0, b'ready\n'), 'ready --wait over the start')
    lab.await_state(node, 'run')
    equal(ask(node, 'status', '--json')[0], 0, 'status')
    figures = json.loads(ask(node, 'daemon', '--json')[1])
    check(figures['loop_delay_s'] is not None and figures['pool_threads'] >= 0, f'figures: {figures}')
    settings = json.loads(ask(node, 'config', 'show', '--json')[1])['settings']
    equal(settings['node'], node.short, 'the setting `node`')
    equal(ask(node, 'config', 'check')[0], 0, 'config check of the file of the node')
    equal(ask(node, 'config', 'check', '/etc/passwd')[0], 1, 'config check of another file')

    primary = json.loads(ask(node, 'explain', 'primary', '--json')[1])
    equal((primary['role'], primary['primary_node']), ('primary', node.short), f'explain primary: {primary}')
    check(primary['reason'], f'explain primary: {primary}')
    status, text = ask(node, 'explain', 'flush')
    equal(status, 1, 'explain flush of a node without hypervisor')
    check('nobody explains' in text, text)
    tasks = json.loads(ask(node, 'tasks', '--json')[1])['tasks']
    check(len({task['id'] for task in tasks}) == len(tasks), f'the numbers of tasks: {tasks}')
    heart = next(task for task in tasks if task['name'] == 'keepalive')
    status, text = ask(node, 'tasks', 'cancel', str(heart['id']), '--yes')
    equal(status, 4, f'cancelling the heartbeat: {text}')
    equal(ask(node, 'tasks', 'cancel', '999999', '--yes')[0], 1, 'cancelling what is not there')
    equal(ask(node, 'tasks', 'cancel', str(heart['id']))[0], 2, 'cancelling without a terminal, unasked')
    equal(ask(node, 'tasks', 'cancel', str(heart['id']), '--yes', through=MEMBER)[0], 4, 'a member of the group, who only looks')

    follower = begin(node, 'log', 'follow', '--json')
    check(follower.stdout.readline(), 'log follow shows the first heartbeat')
    equal(ask(node, 'log', 'level', 'debug', 'web')[0], 0, 'log level')
    equal(ask(node, 'log', 'level', through=MEMBER)[0], 0, 'log level of a member of the group, who only looks')
    status, text = ask(node, 'log', 'level', 'debug', through=MEMBER)
    equal(status, 4, f'log level of a member of the group: {text}')
    equal(ask(node, 'log', 'level')[1].splitlines()[1].split()[:2], ['web', 'debug,'], 'what is set')

    node.daemon.freeze()
    begun = time.monotonic()
    equal(ask(node, '--timeout', '1', 'status')[0], 5, 'status of a daemon that stands still')
    within(time.monotonic() - begun, 2, 'no answer in time')
    node.daemon.thaw()
    lab.await_beats(node, 1)
    node.daemon.kill()
    out, _ = follower.communicate(timeout=10)
    equal(follower.returncode, 3, 'exit status of log follow when the daemon has ended')
    records = [json.loads(line) for line in out.decode().splitlines() if line.startswith('{')]
    check(any('the log level of web is debug' in record['text'] for record in records), f'followed: {records}')
    status, text = ask(node, 'status', '--json')
    equal(status, 3, 'status of a daemon that was killed')
    gone = json.loads(text.splitlines()[0])
    check(gone['state'] == 'absent' and gone['heartbeat']['age_s'] < 30, f'what is known: {gone}')


@scenario('pvcnodectl: ZooKeeper and libvirt both stand still', limit=90)
def asked_while_all_stands_still(lab):
    herd = Herd(lab, 1)
    node = herd.nodes[0]
    herd.start()
    herd.run(herd.define(1, 'web', 'hang'))
    node.hypervisor.freeze()
    lab.ensemble.freeze()
    try:
        took = []
        for _ in range(20):
            begun = time.monotonic()
            status, text = ask(node, 'status', '--json')
            took.append(time.monotonic() - begun)
            equal(status, 0, text)
            time.sleep(0.25)
        told = json.loads(text)
        check(told['zookeeper']['outage_s'] is not None or told['heartbeat']['age_s'] > 1, f'it says so: {told}')
        machines = json.loads(ask(node, 'vm', 'list', '--json')[1])['machines']
        equal([one['name'] for one in machines], ['web'], 'what it knew')
        print(f'status took {1000 * sorted(took)[10]:.0f} ms, {1000 * max(took):.0f} ms at most, its process included')
    finally:
        lab.ensemble.thaw()
        node.hypervisor.thaw()
    lab.await_beats(node, 2)
