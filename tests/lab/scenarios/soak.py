"""Three nodes for a long time, with something happening to them all the while."""
import os
import random
import time

from ..lab import check, equal, scenario
from .role import one_primary

MINUTES = float(os.environ.get('LAB_SOAK_MINUTES', '10'))


@scenario('soak', limit=int(MINUTES * 60) + 300, long=True)
def soak(lab):
    seed = int(os.environ.get('LAB_SEED', '0')) or random.SystemRandom().randrange(1, 2 ** 31)
    print(f'LAB_SEED={seed}')
    chance = random.Random(seed)
    lab.zookeeper(maxSessionTimeout=4000)
    nodes = lab.cluster(3)
    memory = {}
    events = []

    def note(text):
        events.append(f'{time.monotonic() - lab.begun:.1f} s: {text}')

    def power_cycle():
        node = chance.choice(nodes)
        note(f'power of {node.short} cut')
        node.cut_power()
        time.sleep(chance.uniform(0.2, 8))
        node.up()

    def restart():
        node = chance.choice(nodes)
        lab.await_beats(node, 1, 60)
        note(f'{node.short} restarted')
        node.daemon.stop()
        lab.expect_end(node, 0, 70)
        node.start()

    def kill():
        node = chance.choice(nodes)
        note(f'{node.short} killed')
        node.daemon.kill()
        node.daemon.wait(5)
        node.start()

    def expire():
        node = chance.choice(nodes)
        note(f'session of {node.short} ended')
        lab.expire_session(lab.session_of(node))

    def bounce_server():
        note('server restarted')
        lab.ensemble.stop()
        time.sleep(chance.uniform(0, 5))
        lab.ensemble.start()

    def cut_link():
        node = chance.choice(nodes)
        note(f'{node.short} cut off')
        node.unlink()
        time.sleep(chance.uniform(0.5, 9))
        node.relink()

    def move_role():
        target = chance.choice(lab.names(3) + ['none'])
        note(f'role to {target}')
        lab.set('/config/primary_node', target)

    def settle():
        lab.wait(lambda: all(lab.key(node, 'daemonstate') == 'run' for node in nodes), 60, 'all three in `run`')
        for node in nodes:
            lab.await_beats(node, 2, 30)
        one_primary(lab, nodes, 60)

    try:
        while time.monotonic() - lab.begun < MINUTES * 60:
            chance.choice((power_cycle, restart, kill, expire, bounce_server, cut_link, move_role))()
            if chance.random() < 0.5:
                settle()
            for node in nodes:
                lab.expect_alive(node)
                used = node.daemon.memory().get('Private_Dirty', 0)
                memory[node.short] = max(memory.get(node.short, 0), used)
        settle()
    finally:
        print('\n'.join(events[-12:]))
    for name, used in memory.items():
        check(used < 6 * 1024, f'{name} reached {used} KiB of private memory')
    left = [name for name in lab.client.get_children('/config/primary_node') if '__lock__' in name]
    equal(left, [], 'lock children left')
    print(f'{len(events)} events, private memory at most {max(memory.values())} KiB')
