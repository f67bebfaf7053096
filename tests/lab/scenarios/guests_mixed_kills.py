"""Our daemon is killed while a guest moves between it and a node that behaves as the reference of version 0.9.82: in the end
there is one copy, and everybody agrees where.
"""
import os
import random
import threading
import time

from ..lab import equal, scenario
from ..mixed import Mixed


@scenario('B.9 D107 D70: ours is killed while it sends to the other, and started again', limit=120)
def mixed_sender_is_killed(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web, sampler = herd.begin_endless(foreign)
    session = lab.session_of(ours)
    ours.daemon.kill()
    lab.expect_end(ours, -9, 5)
    herd.await_class(foreign, web, 'N', 1.5)
    herd.let_it_end(ours, web)
    ours.start(environment=herd.environment)
    # The locks of the dead one are still there. The other waits behind them, and so does the new one.
    lab.wait(lambda: [key for key, _, _ in herd.own_locks(web)].count('migrate_sync_lock') == 2, 8,
             lambda: f'it queues again: {herd.locks(web)}')
    lab.expire_session(session)
    herd.await_moved(web, foreign, ours.short, 40)
    sampler.judge(5.0)


@scenario('B.9 D107: ours is killed while it receives from the other, and started again', limit=120)
def mixed_receiver_is_killed(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web, sampler = herd.begin_endless(ours)
    ours.daemon.kill()
    lab.expect_end(ours, -9, 5)
    equal((herd.look(foreign, web), herd.look(ours, web)), ('A', 'I'), 'classes')
    ours.start(environment=herd.environment)
    lab.await_state(ours, 'run')
    herd.let_it_end(foreign, web)
    herd.await_moved(web, ours, foreign.short, 40)
    sampler.judge(5.0)


@scenario('B.9 D107 D53: ours is killed while it shuts a guest down that it moves, and started again', limit=120, long=True)
def mixed_offline_sender_is_killed(lab):
    herd = Mixed(lab)
    ours, foreign = herd.ours, herd.foreign
    web = herd.run_on(ours, kind='hang', migration_method='shutdown')
    sampler, pid = herd.watch(web), ours.hypervisor.pid_of(web)
    herd.client.migrate(web, foreign.short)
    lab.await_log(ours, 'through a shutdown', 5)
    ours.daemon.kill()
    lab.expect_end(ours, -9, 5)
    herd.start(ours)
    # The other one goes idle when the locks of the dead one are gone; without it there is no way but back.
    herd.await_moved(web, ours, '', 40)
    sampler.judge(1.0)
    equal(ours.hypervisor.pid_of(web), pid, 'QEMU of a guest that was not moved')


@scenario('B.9 D107 8.6: ours is killed at any moment of a live migration, either way', limit=900, long=True)
def mixed_kills(lab):
    seed = int(os.environ.get('LAB_SEED', '0')) or random.SystemRandom().randrange(1, 2 ** 31)
    print(f'LAB_SEED={seed}')
    chance = random.Random(seed)
    herd = Mixed(lab)
    web = herd.run_on(herd.ours)
    for _ in range(int(os.environ.get('LAB_ROUNDS', '8'))):
        source = herd.ours if herd.key(web, 'node') == herd.ours.short else herd.foreign
        target = herd.peer(source)
        before, after = chance.uniform(0, 2.2), chance.choice((0.0, chance.uniform(0, 5), 12.0))
        print(f'{source.label} to {target.label}, killed after {before:.2f} s, back after {after:.2f} s', flush=True)
        sampler = herd.watch(web)
        moving = threading.Thread(target=herd.client.migrate, args=(web, target.short), daemon=True)
        moving.start()
        time.sleep(before)
        herd.ours.daemon.kill()
        lab.expect_end(herd.ours, -9, 5)
        time.sleep(after)
        herd.start(herd.ours)
        moving.join(60)
        begun = time.monotonic()
        lab.wait(lambda: herd.key(web, 'state') == 'start', 100, lambda: f'it is `start`, it is {herd.key(web, "state")}')
        place = herd.ours if herd.key(web, 'node') == herd.ours.short else herd.foreign
        herd.await_moved(web, place, herd.key(web, 'lastnode'))
        sampler.judge(10.0)
        print(f'`start` on {place.label}, {time.monotonic() - begun:.1f} s after it was back', flush=True)
        herd.client.place(web, 'start', place.short, '')
