"""The scripted foreign node writes what the reference was seen to write, in that order: else guests_mixed would show nothing.

The lists are those of the recorded traces vm1-start-2, move-vm1-1, restart-vm2-1 and vm1-shutdown-1: what a node wrote below
one guest and to its own running list, without its heartbeats, the console and a repetition of the last write.
"""
from ..foreign import launch
from ..herd import Herd
from ..lab import check, equal, scenario

STARTED = [('set', 'runningdomains'), ('set', 'failedreason', ''), ('set', 'vnc')]
SENT = [('create', 'node'), ('create', 'state'), ('create', 'migrate_sync_lock'), ('set', 'runningdomains'), ('delete', 'node'),
        ('delete', 'state'), ('delete', 'migrate_sync_lock')]
RESTARTED = [('set', 'runningdomains'), ('set', 'state', 'stop'), ('set', 'state', 'start'), ('set', 'runningdomains'),
             ('set', 'failedreason', ''), ('set', 'state', 'start'), ('set', 'vnc')]
SHUT_DOWN = [('set', 'runningdomains'), ('set', 'state', 'stop'), ('set', 'vnc', '')]


def received(uuid):
    sync = 'migrate_sync_lock'
    return [('set', sync, uuid), ('create', sync), ('delete', sync), ('create', sync), ('set', 'runningdomains'),
            ('set', 'state', 'start'), ('delete', sync), ('set', sync, ''), ('set', 'vnc')]


def own_changes(lab, node, uuid, since):
    """What one node changed, without its heartbeats."""
    session = lab.session_of(node)
    changes = [change for change in lab.history() if change.session == session and change.zxid > since]
    beats = {change.zxid for change in changes if change.path.endswith('/keepalive')}
    wanted = (f'/domains/{uuid}/', f'/nodes/{node.short}/runningdomains')
    return [change for change in changes if change.zxid not in beats and change.path.startswith(wanted) and
            change.path.rsplit('/', 1)[1] not in ('consolelog', 'stats')]


def written(changes):
    """The steps, each list and console address that only repeats what this node has written before left out: whether the pass
    that a node's own write starts finds its operation ended is a race in the reference, and that pass repeats both."""
    found = []
    last = {}
    for change in changes:
        key = change.path.split('/')[3]
        step = (change.operation, key)
        if change.operation == 'set':
            if key in ('runningdomains', 'vnc') and last.get(key) == change.value:
                continue
            last[key] = change.value
            if key != 'runningdomains' and (key != 'vnc' or not change.value):
                step += ((change.value or b'').decode(),)
        found.append(step)
    return found


@scenario('the scripted node against the recorded traces', limit=60)
def foreign_node_is_faithful(lab):
    herd = Herd(lab, 2)
    first, second = herd.nodes
    for node in herd.nodes:
        launch(lab, node, hold=3)  # on a busy machine its sender is later than the usual second (H06)
    web = herd.define(1, 'web', 'acpi')
    lab.wait(lambda: own_changes(lab, first, web, 0), 5, 'it knows the guest')

    def seen(node, mark, expected, what):
        lab.wait(lambda: len(written(own_changes(lab, node, web, mark))) >= len(expected), 10,
                 lambda: f'{what}: it wrote {written(own_changes(lab, node, web, mark))}')
        equal(written(own_changes(lab, node, web, mark)), expected, what)

    mark = herd.mark()
    herd.run(web, first)
    seen(first, mark, STARTED, 'start')

    mark = herd.mark()
    herd.client.move(web, second.short)
    seen(first, mark, SENT, 'sending')
    seen(second, mark, received(web), 'receiving')
    times = {(change.operation, change.path.split('/')[3]): change.time
             for change in reversed(own_changes(lab, first, web, mark))}
    held = [change.time for change in own_changes(lab, second, web, mark) if '__lock__' in change.path]
    released = next(change.time for change in lab.history()
                    if change.zxid > mark and change.operation == 'delete' and f'{web}/state/' in change.path)
    # How long at least: how much later it comes is the load of this machine.
    check(times['create', 'migrate_sync_lock'] - released >= 0.5, 'the pause of the sender before it queues')
    check(held[1] - held[0] >= 3.0, 'how long the receiver keeps the first phase')
    herd.settled(web, second)

    herd.await_booted(second, web)
    mark = herd.mark()
    herd.client.restart(web)
    seen(second, mark, RESTARTED, 'restart')

    herd.await_running(second, web)
    mark = herd.mark()
    herd.client.shutdown(web)
    seen(second, mark, SHUT_DOWN, 'shutdown')
