"""The test lab: real ZooKeeper servers and nodes in sandboxes of their own, on one machine.

space.py      the lab's own namespaces, and what a killed run left behind
zookeeper.py  servers, the initial tree of a schema version, the transaction log read back
proxy.py      a TCP stage between nodes and a server: refuse, swallow, delay, count
node.py       a node: sandbox, power, daemon, configuration, notify socket
lab.py        what a scenario gets: all of the above, and how it waits and judges
run           the runner; one process and one set of namespaces for each scenario
"""
