"""Clients of belfry serve that mean no good, and one that is served after each of them.

usage: hostile.py SOCKET PID DEVICE SEED MIB [NAME...]

Everything is drawn from the seed. What is judged after each client: the next one is served, and before it the server uses
less than a second of its own, however busy the machine is; it has given back memory, all but MIB MiB, and descriptors. The
time limits are for what hangs.
"""
import mmap, os, random, socket, struct, sys

PATIENCE = 30    # seconds
path, pid, device, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
most, wanted = int(sys.argv[5]) << 20, sys.argv[6:]
VERSION, DMA_MAP, DMA_UNMAP, REGION_READ, REGION_WRITE = 1, 2, 3, 9, 10
SET_IRQS, RESET = 8, 13
CONFIG = 7


class Client:
    def __init__(self):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)    # waits where others stand in line
        self.s.settimeout(PATIENCE)
        self.id = 0

    def send(self, command, payload=b'', fds=(), flags=0):
        self.id = self.id + 1 & 0xffff
        frame = struct.pack('<HHIII', self.id, command, 16 + len(payload), flags, 0) + payload
        return socket.send_fds(self.s, [frame], list(fds))

    def take(self, n):
        got = b''
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                raise ConnectionResetError
            got += more
        return got

    def ask(self, command, payload=b'', fds=()):
        self.send(command, payload, fds)
        while True:
            number, _, size, flags, error = struct.unpack('<HHIII', self.take(16))
            body = self.take(size - 16)
            if flags & 15 == 1 and number == self.id:
                return error if flags & 32 else 0, body

    def version(self):
        return self.ask(VERSION, struct.pack('<HH', 0, 0) + b'{"capabilities":{"max_msg_fds":16}}\0')[0]

    def read(self, region, offset, count):
        error, body = self.ask(REGION_READ, struct.pack('<QII', offset, region, count))
        return error, body[16:]

    def write(self, region, offset, data):
        return self.ask(REGION_WRITE, struct.pack('<QII', offset, region, len(data)) + data)[0]

    def map(self, iova, size, fd=None, offset=0):
        return self.ask(DMA_MAP, struct.pack('<IIQQQ', 32, 3, offset, iova, size), () if fd is None else (fd,))[0]

    def master(self):
        self.write(CONFIG, 4, b'\x06\0')


def memory(size):
    fd = os.memfd_create('hostile')
    os.ftruncate(fd, size)
    return fd


def status(field):
    with open('/proc/%d/status' % pid) as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(field))


def processor_time():
    with open('/proc/%d/stat' % pid) as f:
        user, system = f.read().rpartition(')')[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')


def good():
    c = Client()
    assert c.version() == 0
    error, vendor = c.read(CONFIG, 0, 2)
    assert not error and vendor == {'nvme': b'\x36\x1b', 'mlx5': b'\xb3\x15'}[device], vendor
    c.s.close()


# ---- bytes ----

def noise(r):
    c = Client()
    for _ in range(20):
        c.s.send(r.randbytes(r.randrange(1, 5000)))


def lengths(r):
    """Messages that are longer than they say, shorter, or end in the middle."""
    for size in (0, 15, 16, 17, 0x7fffffff, 0xffffffff, 1 << 20):
        c = Client()
        c.s.send(struct.pack('<HHIII', 1, r.randrange(16), size, r.randrange(3), 0) + r.randbytes(r.randrange(200)))
        if r.randrange(2):
            c.s.shutdown(socket.SHUT_WR)


def many(r):
    """Connections that are not used, more at a time than the backlog has room for."""
    held = []
    for _ in range(60):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect(path)
        except BlockingIOError:
            pass
        held.append(s)
    r.shuffle(held)
    for s in held:
        s.close()


def deaf(r):
    """Asks for the longest answers and takes none."""
    c = Client()
    assert c.version() == 0
    c.s.settimeout(0.3)
    try:
        for _ in range(20000):
            c.send(REGION_READ, struct.pack('<QII', 0, CONFIG, 256))
    except (socket.timeout, OSError):
        pass


# ---- commands ----

def descriptors(r):
    return [memory(4096 * r.randrange(1, 9)), os.eventfd(0), os.open('/dev/null', os.O_RDWR),
            os.open('/dev/zero', os.O_RDONLY), *os.pipe(), *(s.detach() for s in socket.socketpair())]


def commands(r):
    """Each command with fields out of few values, whatever they mean, and with descriptors that fit and that do not."""
    words = (0, 1, 2, 4, 16, 32, 4095, 4096, 4097, 1 << 31, 1 << 32, 1 << 48, 1 << 63, (1 << 64) - 4096, (1 << 64) - 1)
    fds = descriptors(r)
    c = Client()
    c.version()
    for _ in range(800):
        payload = struct.pack('<IIQQQ', r.choice((0, 16, 20, 32, 64)), r.randrange(64), *r.choices(words, k=3))
        payload = (payload + r.randbytes(40))[:r.choice((0, 4, 8, 16, 20, 24, 32, 40, 64))]
        try:
            c.send(r.randrange(18), payload, r.sample(fds, r.choice((0, 0, 1, 2, len(fds)))), r.choice((0, 0, 0, 1, 16)))
        except OSError:
            break
        if not r.randrange(8):
            c.s.settimeout(0.002)
            try:
                c.s.recv(1 << 16)
            except OSError:
                pass
            c.s.settimeout(PATIENCE)
    for fd in fds:
        os.close(fd)


def maps(r):
    """As many maps as there may be, near and far."""
    c = Client()
    c.version()
    fd = memory(1 << 20)
    for i in range(6000):
        near = i % 8 == 0
        c.send(DMA_MAP, struct.pack('<IIQQQ', 32, 3, (i // 8 % 256) * 4096 if near else 0, i * 8192, 4096),
               (fd,) if near else (), 16)
    c.read(CONFIG, 0, 2)    # all have been looked at
    os.close(fd)


def full_events(r):
    """Vectors whose counters are full and whose descriptors block."""
    c = Client()
    c.version()
    fd = os.eventfd((1 << 32) - 2)
    os.write(fd, struct.pack('<Q', (1 << 64) - (1 << 32)))
    os.set_blocking(fd, True)
    for vector in range(4):
        c.ask(SET_IRQS, struct.pack('<IIIII', 20, 4 | 1 << 5, 2, vector, 1), (fd,))
        c.ask(SET_IRQS, struct.pack('<IIIII', 20, 1 | 1 << 5, 2, vector, 1))
    os.close(fd)


# ---- a guest's driver ----

def registers(r):
    """Stores to registers and configuration space, with memory that the device may read what it likes from."""
    c = Client()
    c.version()
    fd = memory(1 << 20)
    with mmap.mmap(fd, 1 << 20) as m:
        m[:] = r.randbytes(1 << 20)
    assert c.map(0, 1 << 20, fd) == 0
    c.master()
    for _ in range(800):
        region = r.choice((0, 0, 0, CONFIG))
        limit = 256 if region == CONFIG else r.choice((0x40, 0x100, 0x2000, 0x4000))
        c.write(region, r.randrange(0, limit, 4), struct.pack('<I', r.choice((0, 1, r.randrange(256), r.getrandbits(32)))))
    c.ask(RESET)
    os.close(fd)


def start_queues(c, iova):
    """The device reads its queue of commands at `iova`."""
    c.master()
    if device == 'nvme':
        c.write(0, 0x14, struct.pack('<I', 0))
        c.write(0, 0x24, struct.pack('<I', 0x001f001f))
        for at in (0x28, 0x30):
            c.write(0, at, struct.pack('<Q', iova if at == 0x28 else iova + 0x1000))
        c.write(0, 0x14, struct.pack('<I', 0x460001))
        c.write(0, 0x1000, struct.pack('<I', 8))
    else:
        c.write(0, 0x10, struct.pack('>I', iova >> 32))
        c.write(0, 0x14, struct.pack('>I', iova & 0xffffffff))
        c.write(0, 0x18, struct.pack('>I', 0xffffffff))


def shrinks(r):
    """Takes memory back that the device is about to read."""
    c = Client()
    c.version()
    fd = memory(1 << 16)
    assert c.map(0x10000, 1 << 16, fd) == 0
    os.ftruncate(fd, r.choice((0, 4096)) if device == 'nvme' else 0)
    try:
        start_queues(c, 0x12000)
        for _ in range(1000):    # until the server ends it
            c.read(CONFIG, 0, 4)
        raise AssertionError('memory has gone and nobody has noticed')
    except OSError:
        pass
    os.close(fd)


def queues(r):
    """A queue of commands made of noise, again and again."""
    fd = memory(1 << 20)
    with mmap.mmap(fd, 1 << 20) as m:
        for _ in range(6):
            c = Client()
            c.version()
            assert c.map(0, 1 << 20, fd) == 0
            m[:] = r.randbytes(1 << 20)
            for i in range(32):    # commands that are known, with whatever follows
                m[0x2000 + i * 64] = r.choice((0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 0x11, 0x80, 0x81))
                m[0x2001 + i * 64] = r.choice((0, 0, 0x40))
            start_queues(c, 0x2000)
            for _ in range(20):
                c.read(0, 0x1c, 4)
            c.s.close()
    os.close(fd)


def leaves(r):
    """Goes while the device waits for memory that only messages reach."""
    c = Client()
    c.version()
    assert c.map(0x10000, 1 << 16) == 0
    start_queues(c, 0x12000)    # its questions come between the answers
    c.s.close()


ALL = (noise, lengths, many, deaf, commands, maps, full_events, registers, shrinks, queues, leaves)

good()
before = len(os.listdir('/proc/%d/fd' % pid))
for attack in ALL:
    if wanted and attack.__name__ not in wanted:
        continue
    for turn in range(2):
        r = random.Random('%s %d %d' % (attack.__name__, seed, turn))
        try:
            attack(r)
        except (ConnectionError, BrokenPipeError):
            pass    # the server may end a connection that makes no sense
        used = processor_time()
        try:
            good()
        except (OSError, StopIteration) as e:
            sys.exit('%s, turn %d: the next client is not served: %r' % (attack.__name__, turn, e))
        used = processor_time() - used
        if used > 1:
            sys.exit('%s, turn %d: the server works %.1f s before it serves the next client' % (attack.__name__, turn, used))
    anon, fds = status('RssAnon'), len(os.listdir('/proc/%d/fd' % pid))
    print('ok %s: %d MiB' % (attack.__name__, anon >> 20))
    if anon > most:
        sys.exit('%s: the server has %d MiB of memory' % (attack.__name__, anon >> 20))
    if fds > before + 2:    # the good client may just be leaving; the first interrupt opens one for good
        sys.exit('%s: the server has %d descriptors, before %d' % (attack.__name__, fds, before))
