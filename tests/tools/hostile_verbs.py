"""Under belfry exec: a program that says anything to the verbs device: ioctls, commands by write(), maps and polls.

usage: belfry exec -- python3 hostile_verbs.py SEED ROUNDS

Prints how many requests were taken and how many refused; both must happen. In the end it has more than it should of
nothing: memory, descriptors but those of events, which are its own to close.
"""
import ctypes, errno, fcntl, mmap, os, random, resource, struct, sys

seed, rounds = int(sys.argv[1]), int(sys.argv[2])
r = random.Random(seed)
IOCTL = 3 << 30 | 24 << 16 | 0x1b << 8 | 1
ROOM = 1 << 17
room = ctypes.create_string_buffer(ROOM)
at = ctypes.addressof(room)
VALUES = (0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 4096, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63), (1 << 64) - 1)
# Create, destroy, modify: what comes first makes what others work on.
COMMANDS = (0, 1, 2, 3, 4, 6, 9, 12, 13, 17, 18, 20, 24, 25, 26, 27, 28, 30, 31, 32, 33, 36, 37)
taken = refused = 0


def count(call):
    global taken, refused
    try:
        call()
        taken += 1
    except OSError as e:
        assert e.errno != errno.EIO, e
        refused += 1


def word():
    return r.choice(VALUES) if r.randrange(3) else r.randrange(1 << 12)


def fill():
    """Numbers that are small and sizes that are odd, and addresses of our own between them."""
    room[:4096] = b''.join(struct.pack('<Q', at + r.randrange(0, ROOM // 2, 8) if not r.randrange(6) else
                                       word() & 0xffffffffffff >> r.choice((0, 16, 40))) for _ in range(512))


def method(fd):
    n = r.randrange(7)
    attributes = b''
    for _ in range(n):
        size = r.choice((0, 4, 8, 8, 16, 64, 256, 4096, 65535))
        data = word() if size <= 8 and r.randrange(4) else at + r.randrange(0, 4096, 8)
        attributes += struct.pack('<HHHBBQ', r.choice((r.randrange(16), 0x1000 + r.randrange(12))), size, r.randrange(4), 0, 0, data)
    length = 24 + len(attributes) if r.randrange(10) else r.randrange(400)
    head = struct.pack('<HHHHQII', length, r.choice((r.randrange(20), 0x1000 + r.randrange(12))),
                       r.choice((r.randrange(8), 0x1000 + r.randrange(8))), n, 0, r.choice((0, 1, 1, 2, 65)), 0)
    block = bytearray((head + attributes).ljust(1024, b'\0'))
    count(lambda: fcntl.ioctl(fd, IOCTL, block))


def command(fd):
    words = r.choice((2, 4, 6, 8, 14, 16, 24, 40, 100))
    number = r.choice(COMMANDS) if r.randrange(8) else r.getrandbits(32)
    body = struct.pack('<Q', at + ROOM // 2) + room[:words * 4]
    frame = struct.pack('<IHH', number, words + (0 if r.randrange(9) else r.randrange(99)), r.choice((0, 2, 8, 16, 64))) + body
    count(lambda: os.write(fd, frame[:8 + max(0, words * 4 - (8 if r.randrange(9) else 0))]))


def pages(fd):
    def call():
        with mmap.mmap(fd, 4096 * r.choice((1, 1, 1, 2, 256)), mmap.MAP_SHARED, mmap.PROT_WRITE | r.choice((0, mmap.PROT_READ)),
                       offset=4096 * r.choice((0, 1, 2, 7, 1 << 8, 3 << 8, r.randrange(1 << 16)))) as m:
            m[r.randrange(0, 4096, 8)] = r.randrange(256)    # a doorbell, for all that it knows
    try:
        count(call)
    except ValueError:
        pass


def descriptors():
    names = []
    for fd in os.listdir('/proc/self/fd'):
        try:
            names.append(os.readlink('/proc/self/fd/' + fd))
        except OSError:    # the folder's own
            pass
    return sum(not name.startswith('socket:') for name in names)


before = descriptors()
for _ in range(rounds):
    fd = os.open('/dev/infiniband/uverbs0', os.O_RDWR | os.O_CLOEXEC)
    fill()
    # A context first, mostly: nothing else is taken without.
    if r.randrange(8):
        os.write(fd, struct.pack('<IHHQ', 0, 14, 64, at + ROOM // 2) + struct.pack('<IIIHBBQQ', 16, 0, 0, 0, 0, 0, 0, 0) + bytes(8))
    for _ in range(r.randrange(60)):
        r.choice((method, command, command, command, pages))(fd)
        if not r.randrange(8):
            fill()
    os.close(fd)
left = descriptors()
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
print('%d taken, %d refused, %d MiB, %d descriptors more' % (taken, refused, megabytes, left - before))
assert taken and refused and megabytes < 2000 and left <= before + 8
