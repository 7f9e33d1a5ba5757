"""Trials: a setup function makes memory and queues and launches kernels, a verify function looks at what came of it."""

import collections
import ctypes

from ._library import ffi, lib

_ORDERINGS = ("sc", "tso", "gpu", "adversarial")
_DEVICES = {"mlx5": 1, "nvme": 2, "sdma": 4}
_PLACES = ("host", "gpu", "gpu-cached", "gpu-uc")
_EINVAL = 22

Tried = collections.namedtuple("Tried", "good verdict seed ordering runs reason rule findings text")
Told = collections.namedtuple("Told", "rule root at_ps where text")
Memory = collections.namedtuple("Memory", "address va size bytes")


def _text(p):
    return ffi.string(p).decode("utf-8", "replace")


def _memory(m):
    return Memory(int(ffi.cast("uintptr_t", m.ptr)), m.va, m.size, ffi.buffer(m.ptr, m.size))


def _fields(struct):
    """The struct's members by name; pointers as the numbers that a kernel takes."""
    members = ffi.typeof(struct).fields
    values = {}
    for name, member in members:
        value = getattr(struct, name)
        values[name] = int(ffi.cast("uintptr_t", value)) if member.type.kind == "pointer" else value
    return collections.namedtuple("Queue", values)(**values)


class _Failed(Exception):
    """A call of the machine failed; the trial knows why."""


class Machine:
    """What setup and verify get: the machine of one run."""

    def __init__(self, handle):
        self._t = handle
        self._libraries = {}

    def _must(self, rc):
        if rc:
            raise _Failed(rc)

    @property
    def seed(self):
        return lib.bf_trial_seed(self._t)

    def mlx5(self, **opts):
        """Connects all PEs: heap_bytes, queues, wqebbs, collapsed, rings_in_host, ack_timeout, retry_count."""
        self._must(lib.bf_trial_mlx5(self._t, ffi.new("struct bf_trial_mlx5_opts *", opts)))
        return self

    def queue(self, pe=0, peer=1, index=0):
        """A connection: qpn, sq, cq, dbrec, doorbell, local_va, lkey, remote_va, rkey, ... (drivers/trial/trial.h)."""
        q = ffi.new("struct bf_trial_mlx5_queue *")
        self._must(lib.bf_trial_mlx5_queue(self._t, pe, peer, index, q))
        return _fields(q[0])

    def heap(self, pe):
        """The registered memory of a PE: `address` for kernels, `va` for entries, `bytes` to read and write."""
        return _memory(lib.bf_trial_heap(self._t, pe))

    def nvme(self, pe=0, **opts):
        """Brings up the NVMe controller of a PE: queues, entries, place (0: in host memory)."""
        self._must(lib.bf_trial_nvme(self._t, pe, ffi.new("struct bf_trial_nvme_opts *", opts)))
        return self

    def nvme_queue(self, pe=0, index=0):
        q = ffi.new("struct bf_trial_nvme_queue *")
        self._must(lib.bf_trial_nvme_queue(self._t, pe, index, q))
        return _fields(q[0])

    def memory(self, pe, size, place="gpu", name="memory"):
        """Zeroed memory that devices reach, as heap() has it; place: host, gpu, gpu-cached or gpu-uc."""
        m = ffi.new("struct bf_memory *")
        self._must(lib.bf_trial_memory(self._t, pe, _PLACES.index(place), size, name.encode(), m))
        return _memory(m)

    def launch(self, files, kernel, args=(), pe=0, blocks=1, threads=1):
        """Starts a kernel of PTX modules, one file or a list, when setup has returned. `args` are numbers of up to 8
        bytes: addresses of memory and queues among them."""
        files = (files,) if isinstance(files, str) else tuple(files)
        if (pe, files) not in self._libraries:
            names = [ffi.new("char[]", f.encode()) for f in files]
            out = ffi.new("struct bf_ptx_library **")
            self._must(lib.bf_trial_ptx(self._t, pe, ffi.new("const char *[]", names), len(names), out))
            self._libraries[pe, files] = out[0]
        values = ffi.new("uint64_t[]", [int(a) & (1 << 64) - 1 for a in args])
        self._must(
            lib.bf_trial_ptx_launch(
                self._t, pe, self._libraries[pe, files], kernel.encode(), blocks, threads, values, len(values)
            )
        )

    def launch_c(self, library, function, arg=0, pe=0, blocks=1, warps=1, threads=None, cluster=1, shared_bytes=0,
                 cpu=False):
        """Starts code of a shared library (C or C++ by <belfry.h>, linked with libbelfry) when setup has returned:
        `blocks` of `warps` on the GPU, or with `cpu` so many threads. With `threads` it is a grid whose blocks have
        `shared_bytes` of shared memory, barriers, mbarriers and bulk copies. `arg`, an address, is the code's second
        argument."""
        code = ctypes.cast(getattr(ctypes.CDLL(library), function), ctypes.c_void_p).value
        code, arg = ffi.cast("bf_kernel_fn *", code), ffi.cast("void *", arg)
        if cpu:
            self._must(lib.bf_trial_launch_cpu(self._t, pe, blocks * warps, code, arg))
        elif threads is None:
            self._must(lib.bf_trial_launch(self._t, pe, blocks, warps, code, arg))
        else:
            grid = ffi.new("struct bf_grid_opts *", [blocks, cluster, threads, shared_bytes])
            self._must(lib.bf_trial_launch_grid(self._t, pe, grid, code, arg))


def _callback(function, raised):
    @ffi.callback("int(struct bf_trial *, void *)", error=-_EINVAL)
    def call(t, _):
        try:
            function(Machine(t))
        except _Failed as e:
            return e.args[0]
        except AssertionError as e:
            return lib.bf_trial_fail(t, -_EINVAL, b"%s", ffi.new("char[]", (str(e) or "an assertion").encode()))
        except BaseException as e:
            raised.append(e)
            return lib.bf_trial_fail(t, -_EINVAL, b"%s", ffi.new("char[]", repr(e).encode()))
        return 0

    return call


def trial(setup, verify=None, *, name="trial", pes=2, devices=("mlx5",), seed=1, seeds=50, orderings=_ORDERINGS,
          limit_ps=10**11, accept=None, trace=None):
    """Runs `setup(machine)`, the kernels that it launches and `verify(machine)` under each seed and memory ordering until
    a run fails, and makes that run small. An AssertionError in verify, bytes that a rule finds fault with, and threads
    that wait for good fail a run; any other exception is raised again. `trace`: the file for the records of that run."""
    raised = []
    kept = [_callback(setup, raised), name.encode()]
    spec = ffi.new("struct bf_trial_spec *")
    opts = ffi.new("struct bf_trial_search_opts *")
    result = ffi.new("struct bf_trial_result *")

    def text(value):
        kept.append(ffi.NULL if value is None else ffi.new("char[]", str(value).encode()))
        return kept[-1]

    spec.name = text(name)
    spec.world.npes, spec.world.seed, spec.world.limit_ps = pes, seed, limit_ps
    spec.world.devices = sum(_DEVICES[d] for d in devices)
    spec.setup = kept[0]
    if verify:
        kept.append(_callback(verify, raised))
        spec.verify = kept[-1]
    spec.accept, spec.trace = text(accept), text(trace)
    which = ffi.new("int[]", [_ORDERINGS.index(o) for o in ([orderings] if isinstance(orderings, str) else orderings)])
    opts.seeds, opts.orderings, opts.norderings = seeds, which, len(which)
    lib.bf_trial_search(spec, opts, result)
    if raised:
        raise raised[0]
    found = [
        Told(_text(f.rule.id), f.root, f.at_ps, _text(f.where), _text(f.text))
        for f in result.finding[0 : result.nfindings]
    ]
    return Tried(
        result.ok,
        _text(lib.bf_trial_verdict_name(result.verdict)),
        result.seed,
        _ORDERINGS[result.ordering],
        result.runs,
        _text(result.reason),
        None if result.root == ffi.NULL else _text(result.root.id),
        found,
        _text(result.text),
    )
