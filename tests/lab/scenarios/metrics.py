"""Metrics, health and report over HTTP, while all is well and on bad days."""
import http.client
import json
import os
import socket
import time

from .. import network
from ..herd import Herd
from ..lab import check, equal, scenario, within

PORT = 9711
METRICS = 'system.configuration.metrics.'
AT_ALL = {METRICS + 'port': PORT, METRICS + 'address': '0.0.0.0'}


def ask(node, path, method='GET', limit=5.0):
    """(status, body, seconds)."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection(node.address, PORT, timeout=limit)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body, time.monotonic() - begun


def values(node):
    return dict(line.rsplit(' ', 1) for line in ask(node, '/metrics')[1].splitlines() if not line.startswith('#'))


def quickest(node, path, tries=5):
    return min(ask(node, path)[2] for _ in range(tries))


@scenario('metrics: the page of a node with libvirt, for tests/metrics', limit=90, long=True)
def metrics_page(lab):
    # Also those of Ceph, which nobody has here, and of networking.
    herd = Herd(lab, driver='test', settings={**AT_ALL, 'functions.enable_storage': True}, network=network.Shape())
    node = herd.nodes[0]
    herd.start()
    lab.await_beats(node, 3)
    status, page, _ = ask(node, '/metrics')
    equal(status, 200, 'status')
    # The lab's folder goes with it.
    with open(os.environ['METRICS_PAGE'], 'w') as file:
        file.write(page)


@scenario('metrics: ZooKeeper frozen', limit=90)
def metrics_while_zookeeper_is_frozen(lab):
    lab.zookeeper()
    node = lab.running_node(settings=AT_ALL)
    lab.await_beats(node, 2)
    equal(ask(node, '/healthz')[:2], (200, 'ok\n'), 'health')
    equal(values(node)['pvcnoded_zookeeper_connected'], '1', 'connected')
    report = json.loads(ask(node, '/v1/report')[1])
    equal((report['collector'], report['node'], report['status']), ('pvcnoded', node.short, {'code': 0, 'message': 'ok'}), 'report')
    check(abs(report['time_ns'] / 1e9 - time.time()) < 5, f'its time is {report["time_ns"]}')
    lab.ensemble.freeze()
    lab.wait(lambda: ask(node, '/healthz')[0] == 503, 10, 'health that is not ok')
    check('heartbeat is' in ask(node, '/healthz')[1], 'the reason: ' + ask(node, '/healthz')[1])
    for path in ('/metrics', '/healthz', '/v1/report'):
        within(quickest(node, path), 0.02, f'{path} took {quickest(node, path) * 1000:.1f} ms')
    lab.wait(lambda: values(node)['pvcnoded_zookeeper_connected'] == '0', 20, 'an outage that is told')
    lab.wait(lambda: float(values(node)['pvcnoded_zookeeper_outage_seconds']) > 0, 5, 'its age')
    lab.ensemble.thaw()
    lab.wait(lambda: ask(node, '/healthz')[0] == 200, 30, 'health again')
    check(float(values(node)['pvcnoded_heartbeats_missed_total']) > 0, 'no heartbeat was missed')
    lab.expect_alive(node)


@scenario('metrics: garbage, readers that do not read, too many of them', limit=90)
def metrics_and_bad_clients(lab):
    lab.zookeeper()
    node = lab.running_node(settings=AT_ALL)
    lab.await_beats(node, 2)
    memory, descriptors = node.daemon.memory()['Private_Dirty'], node.daemon.descriptors()
    begun = time.time()

    def connect():
        return socket.create_connection((node.address, PORT), timeout=5)

    held = []
    for sent in (b'\x16\x03\x01\x02\x00garbage', b'GET /metrics HTTP/1.1\r\nX: ' + b'x' * 20000, b'GET / HTTP/9\r\n\r\n',
                 b'POST /metrics HTTP/1.1\r\nContent-Length: 100000\r\n\r\n' + b'x' * 50000):
        held.append(connect())
        try:
            held[-1].sendall(sent)
        except OSError:
            pass  # it has closed already
    for _ in range(3):  # asks for many pages, reads none
        slow = connect()
        slow.setblocking(False)
        try:
            for _ in range(5000):
                slow.send(b'GET /metrics HTTP/1.1\r\n\r\n')
        except OSError:
            pass
        held.append(slow)
    check(ask(node, '/healthz')[0] == 200, 'not served beside them')
    held += [connect() for _ in range(200)]
    lab.await_beats(node, 5)
    lab.wait(lambda: ask(node, '/healthz')[0] == 200, 15, 'an answer once the silent ones have been closed')
    for one in held:
        one.close()
    lab.await_beats(node, 2)
    within(lab.longest_gap(node, since=begun), 1.6, f'a heartbeat was {lab.longest_gap(node, since=begun):.2f} s late')
    lab.wait(lambda: node.daemon.descriptors() <= descriptors, 10, f'the {descriptors} descriptors of before')
    grown = node.daemon.memory()['Private_Dirty'] - memory
    within(grown, 1024, f'{grown} KiB more')
    lab.expect_alive(node)


@scenario('metrics: the port is in use', limit=90)
def metrics_port_in_use(lab):
    lab.zookeeper()
    node = lab.node(settings=AT_ALL)
    node.power_on()
    held = node.spawn(['/usr/bin/python3', '-c', f'import socket, time; s = socket.create_server(("", {PORT})); time.sleep(600)'],
                      os.path.join(node.folder, 'holder.log'))
    lab.wait(lambda: f':{PORT} ' in node.inside('ss', '-ltn'), 10, 'somebody else at the port')
    node.start()
    lab.await_state(node, 'run')
    lab.await_log(node, '[metrics-listen]')
    held.kill()
    lab.await_log(node, 'metrics are at', 40)
    equal(node.log().count('[metrics-listen]'), 1, 'warnings')
    equal(ask(node, '/healthz')[0], 200, 'health')
