#!/usr/bin/env python3
"""Prints PTX kernels for `belfry check ptx`, one JSON object a line, without the checksums that a GPU gives.

    ptx_kernels.py forms              one kernel for each form of an instruction
    ptx_kernels.py random FIRST N     N kernels at random; kernel k follows from k alone

No kernel has a result that the PTX ISA leaves open or that ptxas may choose: no approximation, no race, no contraction,
no full-mask instruction among warps that diverge, no register that shows which NaN an f32 or f64 is.
"""
import json
import re
import sys

MASK = (1 << 64) - 1


class Rng:
    """splitmix64."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        x = self.state
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        return x ^ x >> 31

    def below(self, n):
        return self.next() % n

    def pick(self, items):
        return items[self.below(len(items))]

    def chance(self, percent):
        return self.below(100) < percent


# ---- forms of instructions: (text, class of the destination, classes of the sources) ----
# Classes: h r rd f fd p are registers of 16, 32, 64 bits, f32, f64 and predicates; s is an r that holds a small number.

CLASS = {"u8": "r", "s8": "r", "b16": "h", "u16": "h", "s16": "h", "f16": "h", "bf16": "h", "b32": "r", "u32": "r",
         "s32": "r", "f16x2": "r", "bf16x2": "r", "u16x2": "r", "s16x2": "r", "b64": "rd", "u64": "rd", "s64": "rd",
         "f32": "f", "f64": "fd", "pred": "p"}
ROUND = ("rn", "rz", "rm", "rp")
WHOLE = ("rni", "rzi", "rmi", "rpi")


def integer_forms(add):
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for op in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            add(f"{op}.{t}", t, t, t)
        for op in ("mad.lo", "mad.hi", "sad"):
            add(f"{op}.{t}", t, t, t, t)
        add(f"shr.{t}", t, t, "s")
        add(f"shr.{t}", t, t, "u32")
    for t, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        add(f"mul.wide.{t}", wide, t, t)
        add(f"mad.wide.{t}", wide, t, t, wide)
    for t in ("s16", "s32", "s64"):
        add(f"abs.{t}", t, t)
        add(f"neg.{t}", t, t)
    for t in ("u32", "s32"):
        for half in ("lo", "hi"):
            add(f"mul24.{half}.{t}", t, t, t)
            add(f"mad24.{half}.{t}", t, t, t, t)
        for mode in ("clamp", "wrap"):
            add(f"szext.{mode}.{t}", t, t, "s")
    for op in ("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"):
        add(op, "s32", "s32", "s32")
    for op in ("mad.hi.sat.s32", "mad24.hi.sat.s32"):
        add(op, "s32", "s32", "s32", "s32")
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            add(f"{op}.{t}", t, t, t)
    for op in ("min.relu", "max.relu"):
        add(f"{op}.s16x2", "s16x2", "s16x2", "s16x2")
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            add(f"dp4a.{a}.{b}", "b32", "b32", "b32", "b32")
            for half in ("lo", "hi"):
                add(f"dp2a.{half}.{a}.{b}", "b32", "b32", "b32", "b32")


def bit_forms(add):
    for t in ("b16", "b32", "b64"):
        for op in ("and", "or", "xor"):
            add(f"{op}.{t}", t, t, t)
        for op in ("not", "cnot"):
            add(f"{op}.{t}", t, t)
        add(f"shl.{t}", t, t, "s")
        add(f"shl.{t}", t, t, "u32")
    for op in ("and", "or", "xor"):
        add(f"{op}.pred", "pred", "pred", "pred")
    add("not.pred", "pred", "pred")
    for way in ("l", "r"):
        for mode in ("clamp", "wrap"):
            add(f"shf.{way}.{mode}.b32", "b32", "b32", "b32", "s")
    for t in ("u32", "s32", "u64", "s64"):
        add(f"bfe.{t}", t, t, "s", "s")
        add(f"bfind.{t}", "u32", t)
        add(f"bfind.shiftamt.{t}", "u32", t)
    for t in ("b32", "b64"):
        add(f"bfi.{t}", t, t, t, "s", "s")
        for op in ("popc", "clz"):
            add(f"{op}.{t}", "u32", t)
        add(f"brev.{t}", t, t)
    add("fns.b32", "b32", "b32", "s", "s")
    for mode in ("clamp", "wrap"):
        add(f"bmsk.{mode}.b32", "b32", "s", "s")
    for table in (0x00, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xFE):
        add(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};", "b32", "b32", "b32", "b32")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        add(f"prmt.b32{mode}", "b32", "b32", "b32", "b32")
    for t in ("b16", "b32", "b64", "s32", "u64", "f32", "f64"):
        add(f"slct.{t}.s32", t, t, t, "s32")
        add(f"slct.{t}.f32", t, t, t, "f32")
        add(f"slct.ftz.{t}.f32", t, t, t, "f32")
    for t in ("b16", "b32", "b64", "f32", "f64"):
        add(f"selp.{t}", t, t, t, "pred")
    add("mov.b32 {d}, {{{a}, {b}}};", "b32", "b16", "b16")
    add("mov.b64 {d}, {{{a}, {b}}};", "b64", "b32", "b32")
    add("mov.b64 {d}, {{{a}, {b}, {c}, {c}}};", "b64", "b16", "b16", "b16")
    add("{{ .reg .b32 lo; mov.b64 {{lo, {d}}}, {a}; }}", "b32", "b64")
    add("{{ .reg .b16 hi; mov.b32 {{{d}, hi}}, {a}; }}", "b16", "b32")


def carry_forms(add):
    for first, second in (("add.cc", "addc"), ("sub.cc", "subc"), ("add.cc", "subc"), ("sub.cc", "addc")):
        for t, d in (("u32", "b64"),):
            add("{{ .reg .b32 x, y; " + f"{first}.{t} x, {{a}}, {{b}}; {second}.{t} y, {{c}}, {{b}}; "
                "mov.b64 {d}, {{x, y}}; }}", d, "b32", "b32", "b32")
        add("{{ .reg .b64 x; " + f"{first}.u64 x, {{a}}, {{b}}; {second}.u64 {{d}}, x, {{c}}; }}}}", "b64", "b64",
            "b64", "b64")
    for t in ("u32", "s32"):
        add("{{ .reg .b32 x, y; " + f"mad.lo.cc.{t} x, {{a}}, {{b}}, {{c}}; madc.hi.{t} y, {{a}}, {{b}}, {{c}}; "
            "mov.b64 {d}, {{x, y}}; }}", "b64", "b32", "b32", "b32")


def float_forms(add):
    for r in ROUND:
        for ftz in ("", ".ftz"):
            for sat in ("", ".sat"):
                for op in ("add", "sub", "mul"):
                    add(f"{op}.{r}{ftz}{sat}.f32", "f32", "f32", "f32")
                for op in ("fma", "mad"):
                    add(f"{op}.{r}{ftz}{sat}.f32", "f32", "f32", "f32", "f32")
            add(f"div.{r}{ftz}.f32", "f32", "f32", "f32")
            for op in ("rcp", "sqrt"):
                add(f"{op}.{r}{ftz}.f32", "f32", "f32")
        for op in ("add", "sub", "mul", "div"):
            add(f"{op}.{r}.f64", "f64", "f64", "f64")
        for op in ("rcp", "sqrt"):
            add(f"{op}.{r}.f64", "f64", "f64")
        add(f"fma.{r}.f64", "f64", "f64", "f64", "f64")
    for op in ("min", "max"):
        add(f"{op}.f64", "f64", "f64", "f64")
        for ftz in ("", ".ftz"):
            for nan in ("", ".NaN"):
                for sign in ("", ".xorsign.abs"):
                    add(f"{op}{ftz}{nan}{sign}.f32", "f32", "f32", "f32")
    for op in ("neg", "abs"):
        add(f"{op}.f32", "f32", "f32")
        add(f"{op}.ftz.f32", "f32", "f32")
        add(f"{op}.f64", "f64", "f64")
    for t in ("f32", "f64"):
        for what in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            add(f"testp.{what}.{t}", "pred", t)


def half_forms(add):
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        brain = t[0] == "b"
        for ftz in ("",) if brain else ("", ".ftz"):
            for sat in ("",) if brain else ("", ".sat"):
                for op in ("add", "sub", "mul"):
                    add(f"{op}.rn{ftz}{sat}.{t}", t, t, t)
                add(f"fma.rn{ftz}{sat}.{t}", t, t, t, t)
            add(f"fma.rn{ftz}.relu.{t}", t, t, t, t)
            for op in ("min", "max"):
                for nan in ("", ".NaN"):
                    for sign in ("", ".xorsign.abs"):
                        add(f"{op}{ftz}{nan}{sign}.{t}", t, t, t)
            for op in ("neg", "abs"):
                add(f"{op}{ftz}.{t}", t, t)


def compare_forms(add):
    order = ("eq", "ne", "lt", "le", "gt", "ge")
    for t in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64"):
        for c in order[:2] if t[0] == "b" else order:
            add(f"setp.{c}.{t}", "pred", t, t)
        if t[0] == "u":
            for c in ("lo", "ls", "hi", "hs"):
                add(f"setp.{c}.{t}", "pred", t, t)
    floats = order + ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    for c in floats:
        for t in ("f32", "f64", "f16", "bf16"):
            add(f"setp.{c}.{t}", "pred", t, t)
            if t in ("f32", "f16"):
                add(f"setp.{c}.ftz.{t}", "pred", t, t)
        for t in ("f16x2", "bf16x2"):
            add("{{ .reg .pred x, y; .reg .b32 z; " + f"setp.{c}.{t} x|y, {{a}}, {{b}}; "
                "selp.b32 {d}, 1, 0, x; selp.b32 z, 2, 0, y; or.b32 {d}, {d}, z; }}", "b32", t, t)
    for c in order:
        for op in ("and", "or", "xor"):
            add(f"setp.{c}.{op}.u32 {{d}}, {{a}}, {{b}}, {{c}};", "pred", "u32", "u32", "pred")
        for d in ("u32", "s32", "f32"):
            for t in ("s16", "s32", "u64", "f32", "f64"):
                add(f"set.{c}.{d}.{t}", d, t, t)
    for c in ("lt", "geu", "nan"):
        for t in ("f16", "bf16"):
            for d in ("u16", "s32", t):
                add(f"set.{c}.{d}.{t}", d, t, t)
            add(f"set.{c}.{t}x2.{t}x2", f"{t}x2", f"{t}x2", f"{t}x2")


def convert_integer_forms(add):
    low = {"u8": 0, "s8": -2**7, "u16": 0, "s16": -2**15, "u32": 0, "s32": -2**31, "u64": 0, "s64": -2**63}
    high = {"u8": 2**8, "s8": 2**7, "u16": 2**16, "s16": 2**15, "u32": 2**32, "s32": 2**31, "u64": 2**64, "s64": 2**63}
    for d in low:
        for s in low:
            add(f"cvt.{d}.{s}", d, s)
            if low[s] < low[d] or high[s] > high[d]:
                add(f"cvt.sat.{d}.{s}", d, s)
        for f in ("f16", "bf16", "f32", "f64"):
            if f == "bf16" and d[1:] == "8":
                continue
            for r in WHOLE:
                add(f"cvt.{r}.{d}.{f}", d, f)
                if f != "bf16":
                    add(f"cvt.{r}.sat.{d}.{f}", d, f)
                if f == "f32":
                    add(f"cvt.{r}.ftz.{d}.{f}", d, f)
            for r in ROUND:
                add(f"cvt.{r}.{f}.{d}", f, d)
                if f != "bf16":
                    add(f"cvt.{r}.sat.{f}.{d}", f, d)
    for d in ("u16", "s16"):
        add(f"cvt.pack.sat.{d}.s32", "b32", "s32", "s32")
    for d in ("u8", "s8", "u4", "s4", "u2", "s2"):
        add(f"cvt.pack.sat.{d}.s32.b32", "b32", "s32", "s32", "b32")


def convert_float_forms(add):
    for t in ("f16", "bf16", "f32", "f64"):
        for r in WHOLE:
            add(f"cvt.{r}.{t}.{t}", t, t)
            if t != "bf16":
                add(f"cvt.{r}.sat.{t}.{t}", t, t)
        if t != "f32":
            add(f"cvt.f32.{t}" if t != "f64" else "cvt.rn.f32.f64", "f32", t)
    for r in ROUND:
        for ftz in ("", ".ftz"):
            add(f"cvt.{r}{ftz}.f32.f64", "f32", "f64")
            add(f"cvt.{r}{ftz}.sat.f32.f64", "f32", "f64")
            add(f"cvt.{r}{ftz}.f16.f32", "f16", "f32")
            add(f"cvt.{r}{ftz}.sat.f16.f32", "f16", "f32")
        add(f"cvt.{r}.bf16.f32", "bf16", "f32")
        add(f"cvt.{r}.bf16.f16", "bf16", "f16")
        add(f"cvt.{r}.f16.bf16", "f16", "bf16")
    for t in ("f64.f32", "f32.f16", "f32.f32", "f64.f64", "f64.f16"):
        d, s = t.split(".")
        add(f"cvt.{t}", d, s)
        add(f"cvt.sat.{t}", d, s)
    for t in ("f64.f32", "f32.f16", "f32.f32"):
        d, s = t.split(".")
        add(f"cvt.ftz.{t}", d, s)
    add("cvt.f64.bf16", "f64", "bf16")
    for r in ("rn", "rz"):
        for mode in ("", ".relu", ".satfinite", ".satfinite.relu"):
            for t in ("f16", "bf16"):
                add(f"cvt.{r}{mode}.{t}x2.f32", "b32", "f32", "f32")
                add(f"cvt.{r}{mode}.{t}.f32", t, "f32")
        add(f"cvt.{r}.tf32.f32", "b32", "f32")
        add(f"cvt.{r}.relu.tf32.f32", "b32", "f32")
    for t in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            add(f"cvt.rn.satfinite{relu}.{t}.f32", "b16", "f32", "f32")
            add(f"cvt.rn.satfinite{relu}.{t}.f16x2", "b16", "b32")
            add(f"cvt.rn{relu}.f16x2.{t}", "b32", "b16")


def video_forms(add):
    for types in ("u32.u32.u32", "s32.s32.s32", "u32.s32.s32"):
        for mode in ("", ".sat", ".add"):
            add(f"vabsdiff4.{types}{mode}", "b32", "b32", "b32", "b32")


def all_forms():
    forms = []

    def add(text, d, *sources):
        if "{d}" not in text:
            text += " {d}, " + ", ".join("{%s}" % n for n in "abce"[:len(sources)]) + ";"
        forms.append((text, CLASS[d], [s if s == "s" else CLASS[s] for s in sources]))

    for part in (integer_forms, bit_forms, carry_forms, float_forms, half_forms, compare_forms, convert_integer_forms,
                 convert_float_forms, video_forms):
        part(add)
    return forms


# ---- the frame of a kernel: a row of registers in, the same row out ----

COLUMNS = (("r", 8, 4), ("rd", 4, 8), ("f", 4, 4), ("fd", 3, 8), ("h", 4, 2))
COUNT = {"r": 8, "rd": 4, "f": 4, "fd": 3, "h": 4, "p": 4}
ROW = 128
HEAD = """.version 8.6
.target sm_90
.address_size 64
"""
REGISTERS = """  .reg .b32 %r<8>, %t<8>, %c<8>, %k, %own, %lane, %mask, %loc;
  .reg .b64 %rd<4>, %td<4>, %in, %to, %gen, %tab;
  .reg .f32 %f<4>, %tf<4>;
  .reg .f64 %fd<3>, %tfd<3>;
  .reg .b16 %h<4>, %th<4>;
  .reg .pred %p<4>, %tp<4>, %q;
"""


def places():
    offset = 0
    for name, count, size in COLUMNS:
        for i in range(count):
            yield f"%{name}{i}", size, offset
            offset += size


def load_rows():
    lines = ["mov.u32 %k, %tid.x;", "ld.param.u64 %in, [in];", "ld.param.u64 %to, [out];",
             "cvta.to.global.u64 %in, %in;", "cvta.to.global.u64 %to, %to;", f"mul.wide.u32 %td0, %k, {ROW};",
             "add.u64 %in, %in, %td0;", "add.u64 %to, %to, %td0;"]
    lines += [f"ld.global.b{size * 8} {name}, [%in+{offset}];" for name, size, offset in places()]
    lines += [f"setp.lt.u32 %p{i}, %r{i}, {(i + 1) * 0x40000000 - 1:#x};" for i in range(4)]
    return lines


def store_rows():
    lines = [f"st.global.b{size * 8} [%to+{offset}], {name};" for name, size, offset in places()]
    lines.append("mov.u32 %t0, 0;")
    for i in range(4):
        lines += [f"selp.u32 %t1, {1 << i}, 0, %p{i};", "or.b32 %t0, %t0, %t1;"]
    return lines + [f"st.global.b32 [%to+{ROW - 4}], %t0;", "ret;"]


def line(number, block, seed, ptx):
    return json.dumps({"id": number, "block": block, "row": ROW, "input_seed": seed, "ptx": ptx})


# ---- one form a kernel ----

def form_kernel(text, d, sources):
    """As many results as the class has registers, of operands that differ."""
    body = load_rows()
    temps = {"r": "%t", "rd": "%td", "f": "%tf", "fd": "%tfd", "h": "%th", "p": "%tp"}
    for i in range(min(COUNT[d], 4)):
        operands = {}
        for j, s in enumerate(sources):
            if s == "s":
                body.append(f"and.b32 %c{j}, %r{(i * 3 + j * 5 + 1) % 8}, {63 if i % 2 else 31};")
                operands["abce"[j]] = f"%c{j}"
            else:
                operands["abce"[j]] = f"%{s}{(i + j) % COUNT[s]}"
        body.append(text.format(d=f"{temps[d]}{i}", **operands))
    move = {"r": "b32", "rd": "b64", "f": "f32", "fd": "f64", "h": "b16", "p": "pred"}[d]
    body += [f"mov.{move} %{d}{i}, {temps[d]}{i};" for i in range(min(COUNT[d], 4))]
    body += store_rows()
    return HEAD + ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" + REGISTERS + "".join(
        f"  {x}\n" for x in body) + "}\n"


# ---- kernels at random ----

SLOT = 32
BLOCKS = (1, 7, 32, 33, 40, 64, 96, 100, 128)


def functions(rng):
    """Functions with parameters in registers and in .param space, a structure, recursion, and a table of functions."""
    k = [rng.next() & 0xFFFF for _ in range(8)]
    return f"""
.const .align 4 .u32 knobs[16] = {{ {", ".join(str(rng.next() & 0xFFFFFFFF) for _ in range(13))} }};
.global .align 8 .u64 table[3] = {{ twist, fold, spin }};
.global .align 4 .b8 letters[24] = {{ {", ".join(str(rng.below(256)) for _ in range(21))} }};

.func (.reg .u32 %out) helper(.reg .u32 %a, .reg .u32 %b)
{{
  .reg .pred %p;
  setp.{rng.pick(("lt", "ge", "ne"))}.u32 %p, %a, %b;
  @%p bra SMALL;
  mad.lo.u32 %out, %a, {k[0]}, %b;
  ret;
SMALL:
  xor.b32 %out, %a, %b;
  ret;
}}

.func (.param .b32 result) twist(.param .b32 x, .param .b32 y)
{{
  .reg .b32 %r<4>;
  ld.param.u32 %r0, [x];
  ld.param.u32 %r1, [y];
  shf.l.wrap.b32 %r2, %r0, %r1, {k[1] & 31};
  add.u32 %r2, %r2, {k[2]};
  st.param.b32 [result], %r2;
  ret;
}}
.func (.param .b32 result) fold(.param .b32 x, .param .b32 y)
{{
  .reg .b32 %r<4>;
  .reg .pred %p;
  ld.param.u32 %r0, [x];
  ld.param.u32 %r1, [y];
  and.b32 %r2, %r0, 1;
  setp.eq.u32 %p, %r2, 0;
  @%p bra EVEN;
  mul.lo.u32 %r1, %r1, {k[3]};
EVEN:
  lop3.b32 %r2, %r0, %r1, {k[4]}, {k[5] & 255};
  st.param.b32 [result], %r2;
  ret;
}}
.func (.param .b32 result) spin(.param .b32 x, .param .b32 y)
{{
  .reg .b32 %r<6>;
  .reg .pred %p;
  ld.param.u32 %r0, [x];
  ld.param.u32 %r1, [y];
  and.b32 %r2, %r0, 15;
AGAIN:
  setp.eq.u32 %p, %r2, 0;
  @%p bra DONE;
  mad.lo.u32 %r1, %r1, {k[6] | 1}, %r0;
  sub.u32 %r2, %r2, 1;
  bra AGAIN;
DONE:
  st.param.b32 [result], %r1;
  ret;
}}

.func (.param .align 8 .b8 result[16]) pair(.param .align 8 .b8 s[16])
{{
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .b16 %h;
  ld.param.u64 %rd0, [s];
  ld.param.u32 %r0, [s+8];
  ld.param.u16 %h, [s+12];
  cvt.u32.u16 %r1, %h;
  mad.wide.u32 %rd1, %r0, %r1, %rd0;
  st.param.b64 [result], %rd1;
  add.u32 %r0, %r0, %r1;
  st.param.b32 [result+8], %r0;
  and.b32 %r1, %r1, 127;
  st.param.b8 [result+12], %r1;
  ret;
}}

.func (.param .b32 result) climb(.param .b32 n, .param .b32 x)
{{
  .reg .b32 %r<8>;
  .reg .pred %p<2>;
  ld.param.u32 %r0, [n];
  ld.param.u32 %r1, [x];
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra BOTTOM;
  sub.u32 %r2, %r0, 1;
  mad.lo.u32 %r3, %r1, {k[7] | 1}, %r0;
  {{
    .param .b32 a;
    .param .b32 b;
    .param .b32 c;
    st.param.b32 [a+0], %r2;
    st.param.b32 [b+0], %r3;
    call (c), climb, (a, b);
    ld.param.b32 %r4, [c+0];
  }}
  xor.b32 %r1, %r4, %r0;
BOTTOM:
  st.param.b32 [result+0], %r1;
  ret;
}}
"""


DECLARED = """
.func (.param .b32 result) twist(.param .b32 x, .param .b32 y);
.func (.param .b32 result) fold(.param .b32 x, .param .b32 y);
.func (.param .b32 result) spin(.param .b32 x, .param .b32 y);
"""


class Kernel:
    def __init__(self, seed, forms):
        self.rng = Rng(seed)
        self.forms = forms
        self.lines = []
        self.labels = 0
        self.loops = 0
        self.block = self.rng.pick(BLOCKS)

    def out(self, text):
        self.lines.append(text)

    def reg(self, kind):
        return f"%{kind}{self.rng.below(COUNT[kind])}"

    def label(self, name):
        self.labels += 1
        return f"{name}{self.labels}"

    def guard(self):
        if not self.rng.chance(20):
            return ""
        return "@" + ("!" if self.rng.chance(50) else "") + self.reg("p") + " "

    # Instructions without memory.

    def plain(self):
        text, d, sources = self.rng.pick(self.forms)
        operands = {}
        for name, s in zip("abce", sources):
            if s == "s":
                self.out(f"and.b32 %c{'abce'.index(name)}, {self.reg('r')}, {self.rng.pick((31, 63))};")
                operands[name] = f"%c{'abce'.index(name)}"
            else:
                operands[name] = self.reg(s)
        if text.startswith(("min", "max")) and operands["a"] == operands["b"]:
            return  # the compiler takes it for a move, which shows a NaN
        # ptxas 13.0 loses the guard of testp and of most forms of set.
        bare = text.startswith(("{{", "testp", "set."))
        self.out(("" if bare else self.guard()) + text.format(d=self.reg(d), **operands))

    # Memory of the thread's own: its slot in shared memory, its row of the output, .local, .const.

    def address(self, size):
        """An address in 8 * 4 bytes of the thread's own, in one of three spaces, plain or generic."""
        offset = self.rng.below(SLOT // size) * size
        kind = self.rng.below(5)
        if kind == 0:
            return ".shared", f"%own+{offset}"
        if kind == 1:
            return ".global", f"%to+{offset}"
        if kind == 2:
            return ".local", f"%loc+{offset}"
        self.out("cvt.u64.u32 %td1, " + ("%own;" if kind == 3 else "%loc;"))
        self.out(f"cvta{'.shared' if kind == 3 else '.local'}.u64 %gen, %td1;")
        return "", f"%gen+{offset}"

    def memory(self):
        form = self.rng.below(6)
        width, kind = self.rng.pick((("b8", "r"), ("b16", "h"), ("b32", "r"), ("b64", "rd"), ("u16", "r"), ("u8", "r")))
        size = int(width[1:]) // 8
        if form == 0:
            lanes, width, kind, size = self.rng.pick(((2, "b32", "r", 8), (4, "b32", "r", 16), (2, "b64", "rd", 16),
                                                      (4, "b16", "h", 8), (2, "f32", "f", 8)))
            space, at = self.address(size)
            self.out(f"st{space}.v{lanes}.{width} [{at}], {{{', '.join(self.reg(kind) for _ in range(lanes))}}};")
        elif form == 1:
            lanes, width, kind, size = self.rng.pick(((2, "b32", "r", 8), (4, "b32", "r", 16), (2, "b64", "rd", 16),
                                                      (4, "b16", "h", 8)))
            space, at = self.address(size)
            first = self.rng.below(COUNT[kind])
            names = [f"%{kind}{(first + i) % COUNT[kind]}" for i in range(lanes)]
            self.out(f"ld{space}.v{lanes}.{width} {{{', '.join(names)}}}, [{at}];")
        elif form == 2:
            space, at = self.address(size)
            self.out(f"{self.guard()}st{space}.{width} [{at}], {self.reg(kind)};")
        elif form == 3:
            signed, kind = self.rng.pick((("s8", "r"), ("s16", "r"), ("s8", "h"), ("s16", "rd"), ("s32", "rd"),
                                          ("u8", "rd"), ("u32", "rd"), ("u8", "r"), ("s64", "rd"), ("f32", "f"),
                                          ("f64", "fd")))
            space, at = self.address(int(signed[1:]) // 8)
            self.out(f"{self.guard()}ld{space}.{signed} {self.reg(kind)}, [{at}];")
        elif form == 4:
            self.out(f"and.b32 %t0, {self.reg('r')}, 15;")
            self.out("mul.wide.u32 %td0, %t0, 4;")
            self.out("mov.u64 %td1, knobs;")
            self.out("add.u64 %td0, %td0, %td1;")
            self.out(f"ld.const.u32 {self.reg('r')}, [%td0];")
        else:
            self.out(f"and.b32 %t0, {self.reg('r')}, 15;")
            self.out("cvt.u64.u32 %td0, %t0;")
            self.out("mov.u64 %td1, letters;")
            self.out("add.u64 %td0, %td0, %td1;")
            self.out(f"ld.global{self.rng.pick(('', '.nc'))}.s8 {self.reg('r')}, [%td0+{self.rng.below(8)}];")

    def atomic(self):
        op, width, kind = self.rng.pick((
            ("add.u32", 4, "r"), ("min.s32", 4, "r"), ("max.u32", 4, "r"), ("and.b32", 4, "r"), ("or.b32", 4, "r"),
            ("xor.b32", 4, "r"), ("exch.b32", 4, "r"), ("inc.u32", 4, "r"), ("dec.u32", 4, "r"), ("add.u64", 8, "rd"),
            ("min.s64", 8, "rd"), ("max.u64", 8, "rd"), ("exch.b64", 8, "rd"), ("xor.b64", 8, "rd"),
            ("add.noftz.f16x2", 4, "r"), ("add.noftz.bf16x2", 4, "r"), ("cas.b32", 4, "r"), ("cas.b64", 8, "rd"),
            ("add.noftz.f16", 2, "h"), ("cas.b16", 2, "h")))
        space, at = self.rng.pick(((".shared", "%own"), (".global", "%to")))
        at += f"+{self.rng.below(SLOT // width) * width}"
        more = f", {self.reg(kind)}" if op.startswith("cas") else ""
        if more and self.rng.chance(60):
            self.out(f"ld{space}.b{width * 8} {self.reg(kind)}, [{at}];")
        self.out(f"{self.guard()}atom{self.rng.pick(('', '.relaxed.gpu', '.acq_rel.cta'))}{space}.{op} "
                 f"{self.reg(kind)}, [{at}], {self.reg(kind)}{more};")

    # Calls.

    def call(self):
        kind = self.rng.below(5)
        if kind == 0:
            self.out(f"call ({self.reg('r')}), helper, ({self.reg('r')}, {self.reg('r')});")
        elif kind == 1:
            self.call_param(self.rng.pick(("twist", "fold", "spin")), self.reg("r"), "")
        elif kind == 2:
            self.out(f"and.b32 %t0, {self.reg('r')}, 7;")
            self.call_param("climb", "%t0", "")
        elif kind == 3:
            self.out(f"and.b32 %t0, {self.reg('r')}, 3;")
            self.out("min.u32 %t0, %t0, 2;")
            self.out("mov.u64 %tab, table;")
            self.out("mad.wide.u32 %tab, %t0, 8, %tab;")
            self.out("ld.global.u64 %td2, [%tab];")
            self.call_param("%td2", self.reg("r"), self.label("prototype_"))
        else:
            self.out("{")
            self.out(".param .align 8 .b8 s[16];")
            self.out(".param .align 8 .b8 result[16];")
            self.out(f"st.param.b64 [s+0], {self.reg('rd')};")
            self.out(f"st.param.b32 [s+8], {self.reg('r')};")
            self.out(f"st.param.b16 [s+12], {self.reg('h')};")
            self.out("call (result), pair, (s);")
            self.out(f"ld.param.b64 {self.reg('rd')}, [result+0];")
            self.out(f"ld.param.b32 {self.reg('r')}, [result+8];")
            self.out(f"ld.param.s8 {self.reg('r')}, [result+12];")
            self.out("}")

    def call_param(self, callee, first, prototype):
        self.out("{")
        self.out(".param .b32 param0;")
        self.out(".param .b32 param1;")
        self.out(".param .b32 retval0;")
        self.out(f"st.param.b32 [param0+0], {first};")
        self.out(f"st.param.b32 [param1+0], {self.reg('r')};")
        if prototype:
            self.out(f"{prototype} : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);")
        self.out(f"call (retval0), {callee}, (param0, param1)"
                 f"{', ' + prototype if prototype else ''};")
        self.out(f"ld.param.b32 {self.reg('r')}, [retval0+0];")
        self.out("}")

    # Control flow.

    def branch(self, depth):
        then, join = self.label("THEN"), self.label("JOIN")
        self.out(f"@{self.rng.pick(('', '!'))}{self.reg('p')} bra {then};")
        self.code(depth + 1)
        if self.rng.chance(70):
            self.out(f"bra {join};")
            self.out(then + ":")
            self.code(depth + 1)
            self.out(join + ":")
        else:
            self.out(then + ":")

    def loop(self, depth):
        if self.loops >= 3 or depth > 2:
            return self.plain()
        again, leave = self.label("LOOP"), self.label("LEAVE")
        counter = f"%c{4 + self.loops}"
        self.loops += 1
        self.out(f"and.b32 {counter}, {self.reg('r')}, {self.rng.pick((3, 7, 15) if depth else (7, 15, 31))};")
        self.out(again + ":")
        self.code(depth + 1)
        if self.rng.chance(40):
            self.out(f"@{self.reg('p')} bra {leave};")
        if self.rng.chance(25):
            self.code(depth + 1)
        self.out(f"sub.u32 {counter}, {counter}, 1;")
        self.out(f"setp.gt.s32 %q, {counter}, 0;")
        self.out(f"@%q bra {again};")
        self.out(leave + ":")
        self.loops -= 1

    def switch(self, depth):
        ways = [self.label("WAY") for _ in range(4)]
        join, targets = self.label("JOIN"), self.label("TARGETS")
        self.out(f"and.b32 %t0, {self.reg('r')}, 3;")
        self.out(f"{targets}: .branchtargets {', '.join(ways)};")
        self.out(f"brx.idx %t0, {targets};")
        for way in ways:
            self.out(way + ":")
            self.code(depth + 1)
            if not self.rng.chance(25):
                self.out(f"bra {join};")
        self.out(join + ":")

    # Instructions among the lanes of a warp; all are there.

    def warp(self, mask="%mask"):
        kind = self.rng.below(8)
        self.out(f"bar.warp.sync {mask};")
        r, q = self.reg("r"), self.reg("r")
        if kind == 0:
            mode, clamp = self.rng.pick((("up", 0), ("down", 31), ("bfly", 31), ("idx", 31), ("up", 0x1000),
                                         ("down", 0x181F), ("bfly", 0x1C1F), ("idx", 0x101F)))
            if mask == "%mask" and self.block % 32 == 0:
                lane = self.rng.pick((str(self.rng.below(32)), q))
                self.out(f"shfl.sync.{mode}.b32 {r}|{self.reg('p')}, {self.reg('r')}, {lane}, {clamp}, {mask};")
            else:  # only from lanes that are there
                self.out(f"shfl.sync.idx.b32 {r}, {self.reg('r')}, 0, 31, {mask};")
        elif kind == 1:
            self.out(f"vote.sync.{self.rng.pick(('all', 'any', 'uni'))}.pred {self.reg('p')}, "
                     f"{self.rng.pick(('', '!'))}{self.reg('p')}, {mask};")
        elif kind == 2:
            self.out(f"vote.sync.ballot.b32 {r}, {self.reg('p')}, {mask};")
        elif kind == 3:
            self.out(f"and.b32 %t1, {q}, {self.rng.pick((1, 3, 0xFFFF))};")
            self.out(f"match.any.sync.b32 {r}, %t1, {mask};")
        elif kind == 4:
            self.out(f"match.all.sync.b64 {r}|{self.reg('p')}, {self.reg('rd')}, {mask};")
        elif kind == 5:
            op = self.rng.pick(("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32",
                                "xor.b32"))
            self.out(f"redux.sync.{op} {r}, {q}, {mask};")
        elif kind == 6:
            self.out(f"elect.sync {r}|{self.reg('p')}, {mask};")
        else:
            self.out(f"bar.warp.sync {mask};")

    def part_of_warp(self):
        """The first lanes of each warp alone."""
        lanes, skip = self.rng.pick((1, 5, 7, 16)), self.label("SKIP")
        self.out(f"setp.ge.u32 %q, %lane, {lanes};")
        self.out(f"and.b32 %t2, %mask, {(1 << lanes) - 1};")
        self.out(f"@%q bra {skip};")
        for _ in range(1 + self.rng.below(4)):
            self.warp("%t2")
            self.plain()
        self.out(skip + ":")
        self.out("bar.warp.sync %mask;")

    # Among the threads of a block.

    def block_wide(self):
        kind = self.rng.below(4)
        self.out("bar.warp.sync %mask;")
        if kind == 0:
            op = self.rng.pick(("add.u32", "min.u32", "max.s32", "and.b32", "or.b32", "xor.b32"))
            how = self.rng.pick(("red", "atom"))
            self.out("bar.sync 0;")
            self.out(f"{how}.shared.{op} {'%t0, ' if how == 'atom' else ''}[sum], {self.reg('r')};")
            self.out("barrier.sync 1;")
            self.out(f"ld.shared.b32 {self.reg('r')}, [sum];")
            self.out("bar.sync 0;")
        elif kind == 1:
            self.out(f"bar.red.popc.u32 {self.reg('r')}, {self.rng.pick((0, 2))}, {self.reg('p')};")
        elif kind == 2:
            self.out(f"bar.red.{self.rng.pick(('and', 'or'))}.pred {self.reg('p')}, 0, {self.rng.pick(('', '!'))}"
                     f"{self.reg('p')};")
        else:
            self.out(f"st.shared.b32 [%own], {self.reg('r')};")
            self.out("bar.sync 0;")
            self.out(f"add.u32 %t0, %k, {self.rng.below(128)};")
            self.out(f"rem.u32 %t0, %t0, {self.block};")
            self.out("mov.u32 %t1, slots;")
            self.out(f"mad.lo.u32 %t0, %t0, {SLOT}, %t1;")
            self.out(f"ld{self.rng.pick(('', '.volatile'))}.shared.b32 {self.reg('r')}, [%t0];")
            self.out("bar.sync 0;")

    def code(self, depth):
        for _ in range(2 + self.rng.below(4 if depth else 1)):
            what = self.rng.below(100)
            if what < 62:
                self.plain()
            elif what < 76:
                self.memory()
            elif what < 82:
                self.atomic()
            elif what < 87:
                self.call()
            elif depth > 2:
                self.plain()
            elif what < 93:
                self.branch(depth)
            elif what < 98:
                self.loop(depth)
            else:
                self.switch(depth)

    def text(self):
        for _ in range(6 + self.rng.below(16)):
            what = self.rng.below(100)
            if what < 70:
                self.code(0)
            elif what < 84:
                self.warp()
            elif what < 90:
                self.part_of_warp()
            else:
                self.block_wide()
        head = ["mov.u32 %own, slots;", f"mad.lo.u32 %own, %k, {SLOT}, %own;", "mov.u32 %loc, mine;",
                "mov.u32 %lane, %laneid;", "and.b32 %t0, %k, 0xffffffe0;", f"sub.u32 %t0, {self.block}, %t0;",
                "bmsk.clamp.b32 %mask, 0, %t0;"]
        for space, at in ((".shared", "%own"), (".local", "%loc"), (".global", "%to")):
            head += [f"st{space}.v2.b64 [{at}], {{%rd0, %rd1}};", f"st{space}.v2.b64 [{at}+16], {{%rd2, %rd3}};"]
        head += ["mov.u32 %t0, 0;", "st.shared.u32 [sum], %t0;", "bar.sync 0;"]
        body = load_rows() + head + self.lines + store_rows()
        return (HEAD + DECLARED + functions(self.rng) + "\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
                REGISTERS +
                f"  .shared .align 16 .b8 slots[{SLOT * self.block}];\n  .shared .align 4 .u32 sum;\n"
                f"  .local .align 16 .b8 mine[{SLOT}];\n" +
                "".join(f"{'' if x.endswith(':') else '  '}{x}\n" for x in body) + "}\n")


def usable(text, brain):
    """Not: results with the sign of an operand that may be a NaN; and what ptxas 13.0 gets wrong at every level of its
    optimiser or at some, because it takes a register for what was last written there: f16 for bf16 and the other way
    round, the -1 of set.s32 for signed, the 1.0 of set.f32 and the bits of tf32 for a number, and what lies above the 8
    bits of a conversion for what it was before. (A byte stored from a register of 16 bits is the same, and one that a
    function returns from a wider value: what was not stored comes out when the call is inlined.)"""
    other = re.search(r"(?<!b)f16" if brain else "bf16", text)
    return (not other and ".xorsign" not in text and ".tf32." not in text and
            not re.match(r"set\.\w+\.[sf]32", text) and not re.match(r"cvt(\.\w+)*\.[us]8\.[a-z0-9]+", text))


def main():
    forms = all_forms()
    if sys.argv[1:2] == ["forms"]:
        for number, (text, d, sources) in enumerate(forms):
            print(line(number, 128, number + 1, form_kernel(text, d, sources)))
    elif sys.argv[1:2] == ["random"] and len(sys.argv) == 4:
        forms = [[f for f in forms if usable(f[0], brain)] for brain in (False, True)]
        for number in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
            kernel = Kernel(number * 0x1F123BB5 + 7, forms[number % 2])
            print(line(number, kernel.block, number, kernel.text()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
