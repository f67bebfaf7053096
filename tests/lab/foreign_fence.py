"""How a node of the reference 0.9.82 fences, written from node-lifecycle 10 (columns REF82): by the clock of the wall, without a
fence lock, its exit statuses and answers of ipmitool as they come."""
import json
import subprocess
import threading
import time

import yaml

THROWS = 6


class Fencing:
    """dead_after, interval: seconds."""

    def __init__(self, node, configuration, dead_after, interval):
        self.node = node
        self.dead_after = dead_after
        self.interval = interval
        with open(configuration) as file:
            self.coordinators = [entry.split(':')[0] for entry in yaml.safe_load(file)['pvc']['cluster']['coordinators']]

    def tick(self):
        """At the end of each tick of a coordinator."""
        node = self.node
        if node.get('/config/maintenance') == 'true':
            return
        for name in node.zk.get_children('/nodes'):
            beat = node.get(f'/nodes/{name}/keepalive')
            if node.get(f'/nodes/{name}/daemonstate') == 'run' and int(beat or 0) < int(time.time()) - self.dead_after:
                self._mark(name)

    def _mark(self, name):
        path = f'/nodes/{name}/daemonstate'
        lock = self.node.zk.WriteLock(path)
        with lock:
            if self.node.get(path) != 'dead':
                threading.Thread(target=self.node.safely, args=(lambda: self._fence(name),), daemon=True).start()
                self.node.write({path: 'dead'})

    def _ipmi(self, name, word):
        host, user, password = (self.node.get(f'/nodes/{name}/ipmi{key}') or '' for key in ('hostname', 'username', 'password'))
        # Its board would need ten seconds a command without the suite.
        done = subprocess.run(['ipmitool', '-I', 'lanplus', '-C', '3', '-H', host, '-U', user, '-P', password, 'chassis', 'power', word],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.node.note(f'{name}: {word}: {done.returncode} {done.stdout.strip()}')
        return done.returncode, done.stdout.strip()

    def _fence(self, name):
        node = self.node
        for _ in range(THROWS):
            time.sleep(self.interval)
            if node.get(f'/nodes/{name}/daemonstate') != 'dead':
                return
        status, _ = self._ipmi(name, 'off')
        time.sleep(1)
        _, between = self._ipmi(name, 'status')
        self._ipmi(name, 'on')
        time.sleep(2)
        _, at_last = self._ipmi(name, 'status')
        is_off = at_last == 'Chassis Power is off' or (status == 0 and at_last == 'Chassis Power is on')
        node.note(f'{name}: fenced: {is_off}; between {between}')
        time.sleep(self.interval)
        if is_off:
            node.write({f'/nodes/{name}/daemonstate': 'fenced'})
        if name in self.coordinators:
            node.write({f'/nodes/{name}/routerstate': 'secondary'})
            if node.get('/config/primary_node') == name:
                node.write({'/config/primary_node': 'none'})
        if is_off:
            self._recover(name)

    def _recover(self, name):
        node = self.node
        uuids = (node.get(f'/nodes/{name}/runningdomains') or '').split()
        node.write({f'/nodes/{name}/domainstate': 'fence-flush'})
        for uuid in uuids:
            root = f'/domains/{uuid}'
            for volume in (node.get(root + '/rbdlist') or '').split(','):
                if volume:
                    self._clear(volume)
            target = node.select(name)
            if target is not None:
                node.write({root + '/state': 'start', root + '/node': target, root + '/lastnode': name})
        node.write({f'/nodes/{name}/domainstate': 'flushed'})

    def _clear(self, volume):
        listed = subprocess.run(['rbd', 'lock', 'list', '--format', 'json', volume], stdout=subprocess.PIPE, text=True, check=True)
        for lock in json.loads(listed.stdout or '[]'):
            subprocess.run(['rbd', 'lock', 'remove', volume, lock['id'], lock['locker']], check=True)
