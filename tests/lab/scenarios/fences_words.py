"""An operator's word that a node is off, said while its fence is between the order to switch it off and the one to switch it on."""
import time

from ..fences import with_guest
from ..lab import check, equal, scenario
from .fences import confirm


def orders_after_word(lab, on_fencer):
    herd, victim, uuids = with_guest(lab, settings={'system.intervals.keepalive_interval': 1, 'system.intervals.fence_intervals': 32})
    [uuid] = uuids
    lab.await_beats(victim, 34, 80)  # no word is taken before a coordinator has looked for so long
    victim.board.slow(2)
    stopped = time.strftime('%Y%m%dT%H%M%S', time.gmtime())
    victim.daemon.freeze()

    def ordered():
        for record, node in herd.records(victim):
            if record['id'] > stopped and any(one['what'] == 'chassis power off' for one in record['commands']):
                return node
        return None
    fencer = lab.wait(ordered, 120, 'it is ordered off')
    said_to = fencer if on_fencer else next(node for node in herd.nodes if node not in (fencer, victim))
    status, text = confirm(said_to, victim)
    print(f'said to {said_to.short}, {fencer.short} fences: {status} {text.strip()}')
    check(status == 0 or 'it is not switched on afterwards, by this word' in text, f'the word: {status} {text}')
    herd.await_moved(uuid, 'web', victim)
    lab.await_value(f'/nodes/{victim.short}/domainstate', 'flushed', 30)
    time.sleep(15)
    equal(victim.board.orders(True), [], 'orders to switch it on')
    check(not victim.powered, 'it stays off')
    herd.never_twice('web')


@scenario('43: a word on the coordinator that fences the node, before the power-on', limit=300, long=True)
def fence_word_on_the_fencer(lab):
    orders_after_word(lab, True)


@scenario('43: a word on another coordinator, before the power-on', limit=300, long=True)
def fence_word_elsewhere(lab):
    orders_after_word(lab, False)
