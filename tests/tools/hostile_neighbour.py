"""A process of the same machine that means no good to programs under belfry exec.

usage: hostile_neighbour.py NETWORK SEED ROUNDS [ADDRESS:PORT]

Talks to every socket of the network's processes, in greetings that are none and with descriptors that are no rings, and
sends datagrams of noise to ADDRESS:PORT, some of which begin like packets. Prints how many processes it has found.
"""
import os, random, socket, struct, sys

network, r, rounds = sys.argv[1], random.Random(int(sys.argv[2])), int(sys.argv[3])
prefix = '@belfry/%d/%s/' % (os.geteuid(), network)
HELLO = 0x314f4642    # models/fabric/outside_meet.c


def processes():
    with open('/proc/net/unix') as f:
        return sorted({line.split()[7] for line in f if len(line.split()) == 8 and line.split()[7].startswith(prefix)})


def greeting():
    words = [r.choice((HELLO, HELLO, HELLO + 1)), r.choice((1, 2, 2, 3)), r.choice((0, 1, 1, 2)), r.choice((0, 5, 1023, 1024))]
    return (struct.pack('<4I', *words) + r.randbytes(40))[:r.choice((0, 1, 15, 16, 16, 16, 17, 56))]


def descriptors():
    made = [os.memfd_create('ring'), os.eventfd(0), os.open('/dev/null', os.O_RDWR), os.memfd_create('door')]
    os.ftruncate(made[0], r.choice((0, 4096, 1 << 20)))
    r.shuffle(made)
    return made


def talk(name):
    for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        s.setblocking(False)
        made = descriptors()
        try:
            s.connect('\0' + name[1:])
            for _ in range(r.randrange(1, 4)):
                socket.send_fds(s, [greeting() or b'\0'], made[:r.randrange(5)])
        except OSError:
            pass    # another kind of socket, or it has had enough
        for fd in made:
            os.close(fd)
        s.close()


def datagram():
    # A base transport header: an opcode, the default partition, a queue pair, a sequence number.
    header = struct.pack('>BBHII', r.randrange(256), r.randrange(256), 0xffff, r.choice((0, 1, 0x100, r.getrandbits(24))),
                         r.getrandbits(32))
    return (header + r.randbytes(r.randrange(1500)))[:r.choice((0, 4, 12, 16, 28, 1500))]


found = set()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(rounds):
    for name in processes():
        found.add(name)
        talk(name)
    if sys.argv[4:]:
        address, port = sys.argv[4].split(':')
        for _ in range(50):
            udp.sendto(datagram(), (address, int(port)))
print(len(found))
