"""Belfry's traces for analysis: records, findings of the rules, and times of stages.

    import belfry

    t = belfry.Trace("run.bft")
    t.meta["command"]                           # the command that made it
    for r in t.records("cqe"):                  # in order; without names: all records
        print(r.time_ps, r.actor, r["qpn"], r["index"])
    c = t.columns("dma_read", "len", "iova")    # {"time_ps": ..., "actor": ..., "len": ..., "iova": ...}
    for f in belfry.findings("run.bft"):        # the root cause first
        print(f.rule, f.where, f.text)
    for q in belfry.stages("run.bft"):
        print(q.name, {s.name: s.quantile(0.5) for s in q.stages})

Columns are numpy arrays if numpy is installed, otherwise arrays of the standard library. Times are picoseconds. Names of
record types and fields are those of the trace: t.types lists them.

Runs and searches are those of the program, which is found beside the library, in PATH or by BELFRY_PROGRAM:

    r = belfry.run("ibgda-put", seed=3, ordering="adversarial", bug="no-wqe-fence", trace="bad.bft")
    r.good, r.data["cause"]                     # what `belfry run --json` says
    belfry.explore("ibgda-put", bug="no-wqe-fence").data

Trials of compiled kernels (PTX) are functions of yours:

    def setup(m):
        q = m.mlx5().queue(0, 1)
        m.launch("put.ptx", "put", [q.sq, q.dbrec, q.doorbell, q.qpn], threads=32)
    r = belfry.trial(setup, lambda m: ..., seeds=20)
    r.good, r.rule, r.text
"""

import array
import collections
import difflib
import functools
import json
import os
import pathlib
import shutil
import subprocess
import warnings

from ._library import ffi, lib
from ._trial import Machine, Memory, Told, Tried, trial

try:
    import numpy
except ImportError:
    numpy = None

__all__ = ["Error", "Field", "Finding", "Machine", "Memory", "Queue", "Record", "Rule", "Run", "Stage", "Told", "Trace",
           "Tried", "explore", "findings", "rules", "run", "stages", "trial"]
__version__ = ffi.string(lib.bf_version()).decode()

_EBADMSG = 74
_INT, _HEX, _TEXT, _ENUM = 2, 3, 5, 6  # enum bf_field_kind


class Error(Exception):
    """What the library refused; `code` is a negative errno."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def _text(p):
    return None if p == ffi.NULL else ffi.string(p).decode("utf-8", "replace")


def _fail(code, err):
    raise Error(code, _text(err.text) or os.strerror(-code))


Field = collections.namedtuple("Field", "name unit kind offset size names")


def _field(f):
    names = {}
    if f.kind == _ENUM and f.names != ffi.NULL:
        for part in _text(f.names).split(";"):
            value, _, name = part.partition("=")
            names[int(value, 0)] = name
    return Field(_text(f.name), _text(f.unit), f.kind, f.offset, f.size, names)


class _Type:
    """A record type of one trace: its fields, and how to unpack them."""

    def __init__(self, schema):
        self.name = _text(schema.name)
        self.size = schema.size
        self.fields = {}
        for i in range(schema.nfields):
            f = _field(schema.fields[i])
            self.fields[f.name] = f

    def read(self, fixed, field):
        raw = fixed[field.offset : field.offset + field.size]
        if field.kind == _TEXT:
            return raw.split(b"\0", 1)[0].decode("utf-8", "replace")
        return int.from_bytes(raw, "little", signed=field.kind == _INT)


class Record:
    """One record: `number`, `time_ps`, `type` and `actor` (names), `tail` (bytes), and its fields by name."""

    __slots__ = ("number", "time_ps", "type", "actor", "tail", "_type", "_fixed")

    def __getitem__(self, name):
        return self._type.read(self._fixed, self._type.fields[name])

    def __contains__(self, name):
        return name in self._type.fields

    def name_of(self, name):
        """The name of an enumerated field's value, or the value as text."""
        value = self[name]
        return self._type.fields[name].names.get(value, str(value))

    def _shown(self, name):
        return hex(self[name]) if self._type.fields[name].kind == _HEX else self.name_of(name)

    def asdict(self):
        d = {"number": self.number, "time_ps": self.time_ps, "type": self.type, "actor": self.actor}
        d.update((name, self[name]) for name in self._type.fields)
        return d

    def __repr__(self):
        fields = " ".join("%s=%s" % (n, self._shown(n)) for n in self._type.fields)
        return "<%d ps %s %s %s>" % (self.time_ps, self.actor, self.type, fields)


@functools.lru_cache(maxsize=None)
def _known():
    """Names of the record types that the library knows."""
    names, i = set(), 0
    while lib.bf_record_type_at(i) != ffi.NULL:
        names.add(_text(lib.bf_record_type_at(i)))
        i += 1
    return names


class Trace:
    """A trace file, either form. Each walk over it reads it from the start."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._types = {}
        self._actors = {}
        t, _ = self._open()
        self.meta = {}
        self.types = {}
        i = 0
        while lib.bf_trace_meta_at(t, i) != ffi.NULL:
            entry = lib.bf_trace_meta_at(t, i)
            self.meta[_text(entry.key)] = _text(entry.value)
            i += 1
        i = 0
        while lib.bf_trace_type_at(t, i) != ffi.NULL:
            kind = _Type(lib.bf_trace_type_at(t, i))
            self.types[kind.name] = kind.fields
            i += 1

    def _open(self):
        out, err = ffi.new("struct bf_trace **"), ffi.new("struct bf_error *")
        rc = lib.bf_trace_open(self.path.encode(), ffi.NULL, out, err)
        if rc:
            _fail(rc, err)
        # `err` takes the texts of later failures, so it lives as long as the reader.
        return ffi.gc(out[0], lib.bf_trace_close), err

    def _walk(self, names, begin_ps):
        """(record, its _Type) for each wanted record; damage is a warning, and reading goes on behind it."""
        wanted = set(names)
        for name in wanted - _known() - self.types.keys():
            near = difflib.get_close_matches(name, _known() | self.types.keys(), 1)
            raise ValueError("no record type %r%s" % (name, ", did you mean %r?" % near[0] if near else ""))
        t, err = self._open()
        rec = ffi.new("struct bf_trace_record *")
        types, actors = {}, {}
        if begin_ps:
            rc = lib.bf_trace_seek_time(t, begin_ps)
            if rc:
                _fail(rc, err)
        while True:
            rc = lib.bf_trace_next(t, rec)
            if rc == 0:
                return
            if rc == -_EBADMSG:
                warnings.warn("%s: %s" % (self.path, _text(err.text)), stacklevel=3)
                continue
            if rc < 0:
                _fail(rc, err)
            key = int(ffi.cast("uintptr_t", rec.type))
            kind = types.get(key)
            if kind is None:
                kind = types[key] = _Type(rec.type)
            if wanted and kind.name not in wanted:
                continue
            actor = actors.get(rec.actor)
            if actor is None:
                actor = actors[rec.actor] = _text(lib.bf_trace_actor_name(t, rec.actor))
            yield rec, kind, actor

    def records(self, *names, begin_ps=0, end_ps=None):
        """Records of the named types (all if none is named) with begin_ps <= time_ps < end_ps, in order."""
        for rec, kind, actor in self._walk(names, begin_ps):
            if end_ps is not None and rec.time_ps >= end_ps:
                continue
            r = Record()
            r.number, r.time_ps, r.type, r.actor = rec.number, rec.time_ps, kind.name, actor
            r._type = kind
            r._fixed = ffi.buffer(rec.fixed, kind.size)[:]
            r.tail = ffi.buffer(rec.tail, rec.tail_len)[:] if rec.tail_len else b""
            yield r

    __iter__ = records

    def columns(self, name, *fields):
        """All records of type `name`: "time_ps", "actor" (a list of names) and the fields (all if none is named)."""
        formats = {1: "bB", 2: "hH", 4: "iI", 8: "qQ"}
        out, take = {"time_ps": array.array("Q"), "actor": []}, None
        for rec, kind, actor in self._walk((name,), 0):
            if take is None:
                take = []
                for f in fields or kind.fields:
                    field = kind.fields[f]
                    if field.kind == _TEXT:
                        out[f] = []
                    else:
                        code = formats[field.size][field.kind != _INT]
                        out[f] = array.array(code)
                    take.append((field, out[f].append))
            out["time_ps"].append(rec.time_ps)
            out["actor"].append(actor)
            fixed = ffi.buffer(rec.fixed, kind.size)[:]
            for field, append in take:
                append(kind.read(fixed, field))
        for f in fields:
            out.setdefault(f, array.array("Q"))
        if numpy is not None:
            out = {k: numpy.asarray(v) if isinstance(v, array.array) else v for k, v in out.items()}
        return out


Rule = collections.namedtuple("Rule", "id family title severity hardware wrong fix sources")
Finding = collections.namedtuple("Finding", "rule severity title root where index at_ps begin_ps end_ps more text fix")


def rules():
    """The catalogue of rules."""
    i = 0
    while lib.bf_rule_at(i) != ffi.NULL:
        a = lib.bf_rule_at(i)
        yield Rule(
            _text(a.id),
            _text(a.family),
            _text(a.title),
            _text(lib.bf_severity_name(a.severity)),
            *(_text(x) for x in (a.hardware, a.wrong, a.fix, a.sources)),
        )
        i += 1


def _finding(f):
    a = f.rule
    return Finding(
        _text(a.id),
        _text(lib.bf_severity_name(a.severity)),
        _text(a.title),
        bool(f.root),
        _text(f.where),
        f.index if f.has_index else None,
        f.at_ps,
        f.begin_ps,
        f.end_ps,
        f.more,
        _text(f.text),
        _text(a.fix),
    )


def _checked(rc, err, path):
    if rc == -_EBADMSG:
        warnings.warn("%s: %s" % (path, _text(err.text)), stacklevel=3)
    elif rc:
        _fail(rc, err)


def findings(path, complete=True):
    """What the rules find in a trace, the root cause first. `complete`: the run had ended when its trace did."""
    t, _ = Trace(path)._open()
    out, err = ffi.new("struct bf_rules **"), ffi.new("struct bf_error *")
    rc = lib.bf_rules_create(ffi.NULL, out, err)
    if rc:
        _fail(rc, err)
    r = ffi.gc(out[0], lib.bf_rules_destroy)
    _checked(lib.bf_rules_trace(r, t, err), err, path)
    lib.bf_rules_finish(r, complete)
    return [_finding(lib.bf_rules_found(r, i)) for i in range(lib.bf_rules_count(r))]


class Stage:
    """How long entries took from the point before to this one: `name`, `count`, `mean_ps`, `min_ps`, `max_ps`."""

    def __init__(self, name, hist):
        self.name, self.count, self.min_ps, self.max_ps = name, hist.count, hist.min, hist.max
        self.mean_ps = hist.sum / hist.count if hist.count else 0.0
        self._hist = ffi.new("struct bf_hist *", hist)

    def quantile(self, q):
        """The time that a share `q` (0..1) of the entries did not exceed."""
        return lib.bf_hist_quantile(self._hist, round(q * 1000000))


Queue = collections.namedtuple("Queue", "name kind entries unfinished stages whole")


def stages(path):
    """For each queue of a trace the stages that its entries went through."""
    t, _ = Trace(path)._open()
    out, err = ffi.new("struct bf_stages **"), ffi.new("struct bf_error *")
    rc = lib.bf_stages_read(t, out, err)
    if out[0] == ffi.NULL:
        _fail(rc, err)
    s = ffi.gc(out[0], lib.bf_stages_destroy)
    _checked(rc, err, path)
    queues, i = [], 0
    while lib.bf_stages_queue(s, i) != ffi.NULL:
        q = lib.bf_stages_queue(s, i)
        each = [Stage(_text(q.stage[k]), q.hist[k]) for k in range(q.nstages)]
        queues.append(Queue(_text(q.name), _text(q.kind), q.entries, q.unfinished, each, Stage("whole", q.whole)))
        i += 1
    return queues


Run = collections.namedtuple("Run", "good code data text")


def _program():
    named = os.environ.get("BELFRY_PROGRAM")
    if named:
        return named
    for above in pathlib.Path(__file__).resolve().parents:
        if (above / "bin" / "belfry").is_file():
            return str(above / "bin" / "belfry")
    found = shutil.which("belfry")
    if not found:
        raise FileNotFoundError("the program belfry is not in PATH; name it in BELFRY_PROGRAM")
    return found


def _words(options):
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for v in value if isinstance(value, (list, tuple)) else (value,):
            if v is True:
                yield flag
            elif v is not False and v is not None:
                yield from (flag, os.fspath(v) if isinstance(v, os.PathLike) else str(v))


def _call(command, workload, options):
    words = [_program(), command, workload, "--json", *_words(options)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    if done.returncode not in (0, 1, 3):
        raise Error(-done.returncode, done.stderr.strip() or "%s ended with %d" % (" ".join(words), done.returncode))
    return Run(done.returncode == 0, done.returncode, json.loads(done.stdout), done.stderr)


def run(workload, **options):
    """`belfry run WORKLOAD --json` with options by name: seed=3, bug=["a", "b"], qp_choice="first", lint=True."""
    return _call("run", workload, options)


def explore(workload, **options):
    """`belfry explore`: searches for a seed and an ordering under which the run fails, and makes that run small."""
    return _call("explore", workload, options)
