"""What the programs that record have in common: they are served before others, and take from the kernel when something came, and
whether something was lost."""
import os
import socket
import struct

SO_TIMESTAMPNS, SO_RXQ_OVFL = 35, 40
SO_RCVBUFFORCE = 33  # what comes while others have the processor must find room


def go_first():
    """Before everything that only wants to compute. Where that is forbidden the records are as true, only less fine."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass


def stamped(one, room=16 << 20):
    """The kernel says of what comes over this socket when it did, and how much found no room."""
    one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)
    one.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    try:
        one.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
    except OSError:
        pass  # a stream loses nothing


def said(ancillary):
    """Of what recvmsg() gave: the time at which it came (None: not known), and how much was lost so far."""
    when, lost = None, 0
    for level, kind, value in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack('=qq', value[:16])
            when = seconds + nanoseconds / 1e9
        elif level == socket.SOL_SOCKET and kind == SO_RXQ_OVFL:
            lost = struct.unpack('=I', value[:4])[0]
    return when, lost
