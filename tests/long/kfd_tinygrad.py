"""/dev/kfd of tinygrad's mock (test/mockgpu/amd) for belfry: what kfd_tinygrad.c is asked goes to the mock's objects,
and a thread stands for its SDMA engines. KFD_TINYGRAD is a source tree of tinygrad, KFD_LOG a file that gets each
packet that the mock executed, with the fields that it read. As a program: tinygrad's own driver on the same engines.

What the mock does not do is done here, as a kernel or an engine would:
  DESTROY_QUEUE, UPDATE_QUEUE     it has no such ioctls; a queue goes away, or stands still and goes on
  queue numbers                   it gives none; they count from 1
  doorbells                       it hooks stores of Python; here they are looked at, and a queue executes up to its
                                  doorbell's value, not up to the write pointer in memory, which has to be there first
  mmap of doorbells               it answers with an address of its own; here the page comes to the address asked for
  blocked polls                   it looks again when Python stores; here all the time
  addresses                       it dereferences them; here they have to be in memory that was mapped for the GPU
"""
import ctypes
import errno
import json
import os
import sys
import threading
import time
import traceback

DOORBELLS = 8192  # bytes of one GPU's doorbells, and their alignment (kfd_doorbell.c)
TOPOLOGY = "/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd"  # a symbolic link on real systems
DESTROY_QUEUE, UPDATE_QUEUE, CREATE_QUEUE = 0x03, 0x07, 0x02

sys.path.insert(0, os.environ["KFD_TINYGRAD"])
from tinygrad.runtime.autogen import kfd  # noqa: E402
from test.mockgpu.amd import amddriver, amdgpu  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
SYSTEM = ctypes.CDLL("libc.so.6", use_errno=True)
SYSTEM.mmap.restype = ctypes.c_void_p
SYSTEM.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ_WRITE, SHARED, PRIVATE, FIXED, ANONYMOUS = 3, 1, 2, 0x10, 0x20


class Refused(Exception):
    """What an engine or a kernel would refuse."""


def words(at, n):
    return list((ctypes.c_uint32 * n).from_address(at))


class Doorbells:
    """A GPU's doorbell pages, in memory that can be mapped twice: for the mock, and where the program wants it."""

    def __init__(self):
        self.file = os.memfd_create("doorbells")
        os.ftruncate(self.file, DOORBELLS)
        room = SYSTEM.mmap(None, 2 * DOORBELLS, 0, PRIVATE | ANONYMOUS, -1, 0)
        self.at = (room + DOORBELLS - 1) & ~(DOORBELLS - 1)
        self.map(self.at)
        self.bytes = (ctypes.c_uint8 * DOORBELLS).from_address(self.at)

    def map(self, at):
        if SYSTEM.mmap(at, DOORBELLS, READ_WRITE, SHARED | FIXED, self.file, 0) != at:
            raise Refused("no doorbells at 0x%x" % at)


class Engine(amdgpu.SDMAExecutor):
    """The mock's executor, which tells what it executes."""

    log = None
    at_work = None

    def __init__(self, *args):
        super().__init__(*args)
        self.published = self.wptr

    def doorbell_at(self, at):
        self.wptr = (ctypes.c_uint64 * 1).from_address(at)

    def execute(self):
        Engine.at_work = self
        rung = self.wptr[0]
        if self.published[0] < rung:
            raise Refused("the doorbell says %d, the write pointer in memory %d" % (rung, self.published[0]))
        if rung - self.rptr[0] > self.size:
            raise Refused("the doorbell is %d bytes ahead of the read pointer" % (rung - self.rptr[0]))
        return super().execute()


def watched(name):
    """The mock's method `name`, with a line in the log for each packet that it has executed."""
    method = getattr(amdgpu.SDMAExecutor, name)
    form = getattr(amdgpu.sdma_pkts, {"_execute_copy": "copy_linear"}.get(name, name[len("_execute_"):]), None)

    def execute(self):
        at, before = self.base + self.rptr[0] % self.size, self.rptr[0]
        packet = form.from_address(at) if form else None
        head = words(at, 1)[0]
        size = ctypes.sizeof(form) if form else (5 + words(at + 12, 1)[0]) * 4
        if size > self.wptr[0] - before or size > self.size - before % self.size:
            raise Refused("%s of %d bytes at %d ends behind the doorbell or the ring" % (name[9:], size, before))
        if name == "_execute_copy":
            if head & 0x0800ff00:
                raise Refused("the mock takes the copy 0x%08x for a linear one" % head)
            last = words(at + 4, 1)[0] & 0x3fffffff
            for start in packet.src_addr, packet.dst_addr:
                self.gpu.translate_addr(start + last)
        fields = {f[0]: getattr(packet, f[0]) for f in form._real_fields_ if "reserved" not in f[0]} if form else {}
        done = method(self)
        if done is not False and Engine.log:
            taken = words(at, (self.rptr[0] - before) // 4)
            Engine.log.write(json.dumps({"mock": name[len("_execute_"):], "dwords": taken, "fields": fields}) + "\n")
        return done

    return execute


for method in list(vars(amdgpu.SDMAExecutor)):
    if method.startswith("_execute_"):
        setattr(Engine, method, watched(method))


class Gpu(amdgpu.AMDGPU):
    def translate_addr(self, addr):
        if not any(at <= addr < at + size for at, size in self.mapped_ranges):
            raise Refused("0x%x is not mapped for GPU %d" % (addr, self.gpuid))
        return addr

    def add_sdma_queue(self, base, size, rptr, wptr):
        for at in base, base + size - 1, rptr, wptr:
            self.translate_addr(at)
        self.queues.append(Engine(self, base, size, rptr, wptr))


amddriver.AMDGPU = Gpu


class Kernel:
    def __init__(self, gpus):
        self.driver = amddriver.AMDDriver(gpus)
        self.lock = threading.Lock()
        self.files = {}
        self.queues = {}  # number: (GPU, engine)
        self.created = 0
        self.doorbells = {gpu: Doorbells() for gpu in self.driver.gpus}
        for gpu, bells in self.doorbells.items():
            self.driver.doorbells[gpu] = memoryview(bells.bytes).cast("B")
        threading.Thread(target=self.execute, daemon=True).start()

    # What the program calls. Each returns what the system call would, negative errno for a refusal.

    def open(self, path):
        path = path.decode().replace(*TOPOLOGY)
        for file in self.driver.tracked_files:
            if file.path == path:
                opened = self.driver.open(path, os.O_RDWR, 0, file)
                self.files[opened.fd] = opened
                return opened.fd
        return -errno.ENOENT

    def close(self, fd):
        return self.files.pop(fd).close(fd)

    def read(self, fd, buf, cap):
        text = self.files[fd].read_contents(cap).encode()
        ctypes.memmove(buf, text, len(text))
        return len(text)

    def mmap(self, addr, size, fd, offset):
        if isinstance(self.files[fd], amddriver.DRMFileDesc):
            return self.files[fd].mmap(addr, size, READ_WRITE, SHARED | FIXED, fd, offset)
        at = self.files[fd].mmap(addr, size, READ_WRITE, SHARED | FIXED, fd, offset)
        for bells in self.doorbells.values():
            if bells.at == at and size == DOORBELLS:
                bells.map(addr)
                return addr
        return -errno.EINVAL

    def ioctl(self, fd, request, argp):
        number, size = request & 0xff, request >> 16 & 0x3fff
        wants = ctypes.sizeof(amddriver.kfd_headers[number])
        # Up to version 1.16 CREATE_QUEUE named no engine; kernels go on to take the shorter structure.
        if size != wants and (number, size) != (CREATE_QUEUE, 88):
            raise Refused("ioctl 0x%x: its structure has %d bytes" % (request, wants))
        if number == DESTROY_QUEUE:
            return self.destroy_queue(kfd.struct_kfd_ioctl_destroy_queue_args.from_address(argp))
        if number == UPDATE_QUEUE:
            return self.update_queue(kfd.struct_kfd_ioctl_update_queue_args.from_address(argp))
        rc = self.files[fd].ioctl(fd, request, argp)
        if number == CREATE_QUEUE and rc == 0:
            self.name_queue(kfd.struct_kfd_ioctl_create_queue_args.from_address(argp))
        return -errno.EINVAL if rc == -1 else rc

    def name_queue(self, args):
        gpu = self.driver.gpus[args.gpu_id]
        gpu.queues[-1].doorbell_at(args.doorbell_offset)
        self.created += 1
        self.queues[self.created] = gpu, gpu.queues[-1]
        args.queue_id = self.created

    def destroy_queue(self, args):
        if args.queue_id not in self.queues:
            return -errno.EINVAL
        gpu, engine = self.queues.pop(args.queue_id)
        self.stop(gpu, engine)
        return 0

    def update_queue(self, args):
        if args.queue_id not in self.queues:
            return -errno.EINVAL
        gpu, engine = self.queues[args.queue_id]
        self.stop(gpu, engine)
        if args.ring_base_address and args.ring_size:
            gpu.queues.append(engine)
        return 0

    @staticmethod
    def stop(gpu, engine):
        gpu.queues = [q for q in gpu.queues if q is not engine]

    # The engines.

    def execute(self):
        while True:
            with self.lock:
                if any(q.executing for gpu in self.driver.gpus.values() for q in gpu.queues):
                    self.step()
            time.sleep(0.0001)

    def step(self):
        try:
            self.driver._emulate_execute()
        except Exception as why:
            print("engine: %s" % why, file=sys.stderr, flush=True)
            self.stop(Engine.at_work.gpu, Engine.at_work)
        if Engine.log:
            Engine.log.flush()


class Bridge(ctypes.Structure):
    """struct bridge of kfd_tinygrad.c."""

    _fields_ = [
        ("open", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
        ("close", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)),
        ("ioctl", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)),
        ("read", ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)),
        ("mmap", ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_long)),
    ]


def guarded(kernel, call):
    def answer(*args):
        try:
            with kernel.lock:
                return call(*args)
        except Exception:
            traceback.print_exc()
            return -errno.EIO

    return answer


def attach():
    global bridge
    if "KFD_LOG" in os.environ:
        Engine.log = open(os.environ["KFD_LOG"], "a", encoding="ascii")
    kernel = Kernel(int(os.environ.get("KFD_GPUS", "2")))
    bridge = Bridge(*[kind(guarded(kernel, getattr(kernel, name))) for name, kind in Bridge._fields_])
    LIBC.kfd_bridge(ctypes.byref(bridge))


def own_driver():
    """Copies to one GPU, from there to the next and back, by tinygrad."""
    from tinygrad import Tensor

    Engine.log = open(os.environ["KFD_LOG"], "a", encoding="ascii")
    for size in 4, 4096, 280000, 5 << 20:
        data = os.urandom(size)
        copy = Tensor(data, device="CPU").to("AMD").realize().to("AMD:1").realize()
        if copy.data().tobytes() != data:
            sys.exit("tinygrad's copy of %d bytes is wrong" % size)
    Engine.log.flush()


if __name__ == "__main__":
    own_driver()
