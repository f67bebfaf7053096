#!/usr/bin/python3
"""One operation of the graph that `pvcnoded-sim explore --graph` writes: one.py OPERATION < all.dot > one.dot"""
import sys

wanted = sys.argv[1]
head, *clusters = sys.stdin.read().split('  subgraph "cluster_')
clusters[-1] = clusters[-1].rstrip().removesuffix("}")
for cluster in clusters:
    if cluster.startswith(wanted + '"'):
        sys.stdout.write(head + '  subgraph "cluster_' + cluster.rstrip() + "\n}\n")
        break
else:
    sys.exit(f"there is no operation {wanted!r} in this graph")
