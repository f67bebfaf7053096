"""A daemon stands still while its host, its board and its guests go on: nobody can tell what it does. For 20 s it is left alone; for 90 s
it is silent for too long: its board says `on`, so it has its throws, is switched off, and its guest runs elsewhere, once."""
import time

from ..fences import with_guest
from ..lab import check, equal, scenario, within
from .fences import SEEN_OFF, returns_empty, stays_home


def frozen_for_20_and_90(lab, settings):
    herd, victim, uuids = with_guest(lab, settings=settings)
    [uuid] = uuids
    interval, count = (settings[f'system.intervals.{one}'] for one in ('keepalive_interval', 'fence_intervals'))

    victim.daemon.freeze()
    since = time.time()
    lab.wait(lambda: time.time() - since > 20, 25, 'it has stood still for 20 s')
    victim.daemon.thaw()
    stays_home(lab, herd, victim, uuid)
    equal(victim.board.orders(), [], 'orders to its board')
    equal(len(victim.cuts), 0, 'power cuts')

    frozen = victim.daemon
    last = lab.beats(victim)[-1]
    frozen.freeze()
    target, begun = herd.await_moved(uuid, 'web', victim, 150)
    record, fencer = herd.judge(victim, uuids, 'silent')
    off = victim.board.orders(False)[0][0]
    equal([one['what'] for one in record['commands'][:2]], ['chassis power status', 'chassis power off'], 'a question before the last throw, then the order')
    check(off - last >= (count + 6) * interval, f'it was switched off {off - last:.1f} s after its last heartbeat')
    within(off - last, (count + 8) * interval, 'the order to switch it off')
    print(f'switched off by {fencer.short} {off - last:.1f} s after its last heartbeat; its guest begun on {target.short} {begun - last:.1f} s after it')
    lab.wait(lambda: time.time() - last > 90, 90, '90 s are over')
    check(not frozen.alive(), 'the daemon that stood still is gone with the power of its host')
    returns_empty(lab, herd, victim, uuids)
    herd.no_password()


@scenario('10.2 10.3: a daemon stands still for 20 s, and for 90 s', limit=230, long=True)
def fence_frozen_20_and_90(lab):
    frozen_for_20_and_90(lab, {'system.intervals.keepalive_interval': 1, **SEEN_OFF})


@scenario('10.2 10.3: a daemon stands still for 20 s, and for 90 s, at default intervals', limit=330, long=True)
def fence_frozen_20_and_90_at_defaults(lab):
    frozen_for_20_and_90(lab, {'system.intervals.keepalive_interval': 5, 'system.intervals.fence_intervals': 6})
