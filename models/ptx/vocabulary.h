/*
 * The words of PTX instructions: mnemonics and modifiers, with what each means to a decoder. One list for each; the
 * enumerations, the reader's tables and the texts of refusals come from it.
 *
 * An operation is the longest run of leading words that stands in BF_PTX_OPS: `bar.warp.sync` is one operation,
 * `mul.wide.u32` is `mul` with a modifier and a type. Words: PTX ISA 9.2, chapter 9 (as "PTX ISA" in models/ptx).
 */
#ifndef BELFRY_PTX_VOCABULARY_H
#define BELFRY_PTX_VOCABULARY_H

#include <stdint.h>

/*
 * X(NAME, "words", least operands, most operands, state). Operands are counted as struct bf_ptx_stmt has them: d|p and
 * {a, b} are one. States: RUN is within the machine's scope; REFUSE is known and refused once a launched kernel can
 * reach it.
 */
#define BF_PTX_OPS(X)                                                                                                  \
	X(ABS, "abs", 2, 2, RUN)                                                                                       \
	X(ACTIVEMASK, "activemask", 1, 1, RUN)                                                                         \
	X(ADD, "add", 3, 3, RUN)                                                                                       \
	X(ADDC, "addc", 3, 3, RUN)                                                                                     \
	X(ALLOCA, "alloca", 2, 3, RUN)                                                                                 \
	X(AND, "and", 3, 3, RUN)                                                                                       \
	X(APPLYPRIORITY, "applypriority", 2, 2, RUN)                                                                   \
	X(ATOM, "atom", 3, 5, RUN)                                                                                     \
	X(BAR_ARRIVE, "bar.arrive", 2, 2, RUN)                                                                         \
	X(BAR_RED, "bar.red", 3, 4, RUN)                                                                               \
	X(BAR_SYNC, "bar.sync", 1, 2, RUN)                                                                             \
	X(BAR_WARP_SYNC, "bar.warp.sync", 1, 1, RUN)                                                                   \
	X(BARRIER_ARRIVE, "barrier.arrive", 2, 2, RUN)                                                                 \
	X(BARRIER_RED, "barrier.red", 3, 4, RUN)                                                                       \
	X(BARRIER_SYNC, "barrier.sync", 1, 2, RUN)                                                                     \
	X(BARRIER_CLUSTER_ARRIVE, "barrier.cluster.arrive", 0, 0, RUN)                                                 \
	X(BARRIER_CLUSTER_WAIT, "barrier.cluster.wait", 0, 0, RUN)                                                     \
	X(BFE, "bfe", 4, 4, RUN)                                                                                       \
	X(BFI, "bfi", 5, 5, RUN)                                                                                       \
	X(BFIND, "bfind", 2, 2, RUN)                                                                                   \
	X(BMSK, "bmsk", 3, 3, RUN)                                                                                     \
	X(BRA, "bra", 1, 1, RUN)                                                                                       \
	X(BREV, "brev", 2, 2, RUN)                                                                                     \
	X(BRKPT, "brkpt", 0, 0, RUN)                                                                                   \
	X(BRX_IDX, "brx.idx", 2, 2, RUN)                                                                               \
	X(CALL, "call", 3, 4, RUN)                                                                                     \
	X(CLZ, "clz", 2, 2, RUN)                                                                                       \
	X(CLUSTERLAUNCHCONTROL_TRY_CANCEL, "clusterlaunchcontrol.try_cancel", 2, 2, RUN)                               \
	X(CLUSTERLAUNCHCONTROL_QUERY_CANCEL, "clusterlaunchcontrol.query_cancel", 2, 2, RUN)                           \
	X(CNOT, "cnot", 2, 2, RUN)                                                                                     \
	X(COPYSIGN, "copysign", 3, 3, RUN)                                                                             \
	X(COS, "cos", 2, 2, RUN)                                                                                       \
	X(CP_ASYNC, "cp.async", 3, 5, RUN)                                                                             \
	X(CP_ASYNC_COMMIT_GROUP, "cp.async.commit_group", 0, 0, RUN)                                                   \
	X(CP_ASYNC_WAIT_GROUP, "cp.async.wait_group", 1, 1, RUN)                                                       \
	X(CP_ASYNC_WAIT_ALL, "cp.async.wait_all", 0, 0, RUN)                                                           \
	X(CP_ASYNC_MBARRIER_ARRIVE, "cp.async.mbarrier.arrive", 1, 1, RUN)                                             \
	X(CP_ASYNC_BULK, "cp.async.bulk", 3, 7, RUN)                                                                   \
	X(CP_ASYNC_BULK_COMMIT_GROUP, "cp.async.bulk.commit_group", 0, 0, RUN)                                         \
	X(CP_ASYNC_BULK_WAIT_GROUP, "cp.async.bulk.wait_group", 1, 1, RUN)                                             \
	X(CP_ASYNC_BULK_PREFETCH, "cp.async.bulk.prefetch", 2, 3, RUN)                                                 \
	X(CP_REDUCE_ASYNC_BULK, "cp.reduce.async.bulk", 3, 5, RUN)                                                     \
	X(CREATEPOLICY, "createpolicy", 1, 4, RUN)                                                                     \
	X(CVT, "cvt", 2, 4, RUN)                                                                                       \
	X(CVT_PACK, "cvt.pack", 3, 4, RUN)                                                                             \
	X(CVTA, "cvta", 2, 2, RUN)                                                                                     \
	X(DISCARD, "discard", 2, 2, RUN)                                                                               \
	X(DIV, "div", 3, 3, RUN)                                                                                       \
	X(DP2A, "dp2a", 4, 4, RUN)                                                                                     \
	X(DP4A, "dp4a", 4, 4, RUN)                                                                                     \
	X(ELECT, "elect", 2, 2, RUN)                                                                                   \
	X(EX2, "ex2", 2, 2, RUN)                                                                                       \
	X(EXIT, "exit", 0, 0, RUN)                                                                                     \
	X(FENCE, "fence", 0, 0, RUN)                                                                                   \
	X(FENCE_MBARRIER_INIT, "fence.mbarrier_init", 0, 0, RUN)                                                       \
	X(FENCE_PROXY, "fence.proxy", 0, 2, RUN)                                                                       \
	X(FMA, "fma", 4, 4, RUN)                                                                                       \
	X(FNS, "fns", 4, 4, RUN)                                                                                       \
	X(GETCTARANK, "getctarank", 2, 2, RUN)                                                                         \
	X(GRIDDEPCONTROL_LAUNCH_DEPENDENTS, "griddepcontrol.launch_dependents", 0, 0, RUN)                             \
	X(GRIDDEPCONTROL_WAIT, "griddepcontrol.wait", 0, 0, RUN)                                                       \
	X(ISSPACEP, "isspacep", 2, 2, RUN)                                                                             \
	X(LD, "ld", 2, 3, RUN)                                                                                         \
	X(LDU, "ldu", 2, 2, RUN)                                                                                       \
	X(LG2, "lg2", 2, 2, RUN)                                                                                       \
	X(LOP3, "lop3", 5, 6, RUN)                                                                                     \
	X(MAD, "mad", 4, 4, RUN)                                                                                       \
	X(MAD24, "mad24", 4, 4, RUN)                                                                                   \
	X(MADC, "madc", 4, 4, RUN)                                                                                     \
	X(MAPA, "mapa", 3, 3, RUN)                                                                                     \
	X(MATCH, "match", 3, 3, RUN)                                                                                   \
	X(MAX, "max", 3, 4, RUN)                                                                                       \
	X(MBARRIER_ARRIVE, "mbarrier.arrive", 2, 3, RUN)                                                               \
	X(MBARRIER_ARRIVE_DROP, "mbarrier.arrive_drop", 2, 3, RUN)                                                     \
	X(MBARRIER_COMPLETE_TX, "mbarrier.complete_tx", 2, 2, RUN)                                                     \
	X(MBARRIER_EXPECT_TX, "mbarrier.expect_tx", 2, 2, RUN)                                                         \
	X(MBARRIER_INIT, "mbarrier.init", 2, 2, RUN)                                                                   \
	X(MBARRIER_INVAL, "mbarrier.inval", 1, 1, RUN)                                                                 \
	X(MBARRIER_PENDING_COUNT, "mbarrier.pending_count", 2, 2, RUN)                                                 \
	X(MBARRIER_TEST_WAIT, "mbarrier.test_wait", 3, 4, RUN)                                                         \
	X(MBARRIER_TRY_WAIT, "mbarrier.try_wait", 3, 4, RUN)                                                           \
	X(MEMBAR, "membar", 0, 0, RUN)                                                                                 \
	X(MEMBAR_PROXY, "membar.proxy", 0, 0, RUN)                                                                     \
	X(MIN, "min", 3, 4, RUN)                                                                                       \
	X(MOV, "mov", 2, 2, RUN)                                                                                       \
	X(MUL, "mul", 3, 3, RUN)                                                                                       \
	X(MUL24, "mul24", 3, 3, RUN)                                                                                   \
	X(MULTIMEM_LD_REDUCE, "multimem.ld_reduce", 2, 3, RUN)                                                         \
	X(MULTIMEM_RED, "multimem.red", 2, 3, RUN)                                                                     \
	X(MULTIMEM_ST, "multimem.st", 2, 3, RUN)                                                                       \
	X(NANOSLEEP, "nanosleep", 1, 1, RUN)                                                                           \
	X(NEG, "neg", 2, 2, RUN)                                                                                       \
	X(NOT, "not", 2, 2, RUN)                                                                                       \
	X(OR, "or", 3, 3, RUN)                                                                                         \
	X(PMEVENT, "pmevent", 1, 1, RUN)                                                                               \
	X(POPC, "popc", 2, 2, RUN)                                                                                     \
	X(PREFETCH, "prefetch", 1, 2, RUN)                                                                             \
	X(PREFETCHU, "prefetchu", 1, 1, RUN)                                                                           \
	X(PRMT, "prmt", 4, 4, RUN)                                                                                     \
	X(RCP, "rcp", 2, 2, RUN)                                                                                       \
	X(RED, "red", 2, 4, RUN)                                                                                       \
	X(RED_ASYNC, "red.async", 2, 4, RUN)                                                                           \
	X(REDUX, "redux", 3, 3, RUN)                                                                                   \
	X(REM, "rem", 3, 3, RUN)                                                                                       \
	X(RET, "ret", 0, 0, RUN)                                                                                       \
	X(RSQRT, "rsqrt", 2, 2, RUN)                                                                                   \
	X(SAD, "sad", 4, 4, RUN)                                                                                       \
	X(SELP, "selp", 4, 4, RUN)                                                                                     \
	X(SET, "set", 3, 4, RUN)                                                                                       \
	X(SETMAXNREG, "setmaxnreg", 1, 1, RUN)                                                                         \
	X(SETP, "setp", 3, 4, RUN)                                                                                     \
	X(SHF, "shf", 4, 4, RUN)                                                                                       \
	X(SHFL, "shfl", 4, 5, RUN)                                                                                     \
	X(SHL, "shl", 3, 3, RUN)                                                                                       \
	X(SHR, "shr", 3, 3, RUN)                                                                                       \
	X(SIN, "sin", 2, 2, RUN)                                                                                       \
	X(SLCT, "slct", 4, 4, RUN)                                                                                     \
	X(SQRT, "sqrt", 2, 2, RUN)                                                                                     \
	X(ST, "st", 2, 3, RUN)                                                                                         \
	X(ST_ASYNC, "st.async", 2, 3, RUN)                                                                             \
	X(ST_BULK, "st.bulk", 3, 3, RUN)                                                                               \
	X(STACKRESTORE, "stackrestore", 1, 1, RUN)                                                                     \
	X(STACKSAVE, "stacksave", 1, 1, RUN)                                                                           \
	X(SUB, "sub", 3, 3, RUN)                                                                                       \
	X(SUBC, "subc", 3, 3, RUN)                                                                                     \
	X(SZEXT, "szext", 3, 3, RUN)                                                                                   \
	X(TANH, "tanh", 2, 2, RUN)                                                                                     \
	X(TESTP, "testp", 2, 2, RUN)                                                                                   \
	X(TRAP, "trap", 0, 0, RUN)                                                                                     \
	X(VABSDIFF4, "vabsdiff4", 4, 4, RUN)                                                                           \
	X(VOTE, "vote", 2, 3, RUN)                                                                                     \
	X(XOR, "xor", 3, 3, RUN)                                                                                       \
	/* Known, and refused where a launched kernel can reach them. */                                               \
	X(CLMAD, "clmad", 0, 8, REFUSE)                                                                                \
	X(CP_ASYNC_BULK_PREFETCH_TENSOR, "cp.async.bulk.prefetch.tensor", 0, 8, REFUSE)                                \
	X(CP_ASYNC_BULK_TENSOR, "cp.async.bulk.tensor", 0, 8, REFUSE)                                                  \
	X(CP_REDUCE_ASYNC_BULK_TENSOR, "cp.reduce.async.bulk.tensor", 0, 8, REFUSE)                                    \
	X(FABRIC, "fabric", 0, 8, REFUSE)                                                                              \
	X(ISTYPEP, "istypep", 0, 8, REFUSE)                                                                            \
	X(LDMATRIX, "ldmatrix", 0, 8, REFUSE)                                                                          \
	X(MMA, "mma", 0, 16, REFUSE)                                                                                   \
	X(MOVMATRIX, "movmatrix", 0, 8, REFUSE)                                                                        \
	X(MULTIMEM_CP_ASYNC_BULK, "multimem.cp.async.bulk", 0, 8, REFUSE)                                              \
	X(MULTIMEM_CP_REDUCE_ASYNC_BULK, "multimem.cp.reduce.async.bulk", 0, 8, REFUSE)                                \
	X(SPCOMPRESS, "spcompress", 0, 8, REFUSE)                                                                      \
	X(STMATRIX, "stmatrix", 0, 8, REFUSE)                                                                          \
	X(SULD, "suld", 0, 8, REFUSE)                                                                                  \
	X(SUQ, "suq", 0, 8, REFUSE)                                                                                    \
	X(SURED, "sured", 0, 8, REFUSE)                                                                                \
	X(SUST, "sust", 0, 8, REFUSE)                                                                                  \
	X(TCGEN05, "tcgen05", 0, 16, REFUSE)                                                                           \
	X(TENSORMAP, "tensormap", 0, 8, REFUSE)                                                                        \
	X(TEX, "tex", 0, 8, REFUSE)                                                                                    \
	X(TLD4, "tld4", 0, 8, REFUSE)                                                                                  \
	X(TXQ, "txq", 0, 8, REFUSE)                                                                                    \
	X(VABSDIFF, "vabsdiff", 0, 8, REFUSE)                                                                          \
	X(VABSDIFF2, "vabsdiff2", 0, 8, REFUSE)                                                                        \
	X(VADD, "vadd", 0, 8, REFUSE)                                                                                  \
	X(VADD2, "vadd2", 0, 8, REFUSE)                                                                                \
	X(VADD4, "vadd4", 0, 8, REFUSE)                                                                                \
	X(VAVRG2, "vavrg2", 0, 8, REFUSE)                                                                              \
	X(VAVRG4, "vavrg4", 0, 8, REFUSE)                                                                              \
	X(VMAD, "vmad", 0, 8, REFUSE)                                                                                  \
	X(VMAX, "vmax", 0, 8, REFUSE)                                                                                  \
	X(VMAX2, "vmax2", 0, 8, REFUSE)                                                                                \
	X(VMAX4, "vmax4", 0, 8, REFUSE)                                                                                \
	X(VMIN, "vmin", 0, 8, REFUSE)                                                                                  \
	X(VMIN2, "vmin2", 0, 8, REFUSE)                                                                                \
	X(VMIN4, "vmin4", 0, 8, REFUSE)                                                                                \
	X(VSET, "vset", 0, 8, REFUSE)                                                                                  \
	X(VSET2, "vset2", 0, 8, REFUSE)                                                                                \
	X(VSET4, "vset4", 0, 8, REFUSE)                                                                                \
	X(VSHL, "vshl", 0, 8, REFUSE)                                                                                  \
	X(VSHR, "vshr", 0, 8, REFUSE)                                                                                  \
	X(VSUB, "vsub", 0, 8, REFUSE)                                                                                  \
	X(VSUB2, "vsub2", 0, 8, REFUSE)                                                                                \
	X(VSUB4, "vsub4", 0, 8, REFUSE)                                                                                \
	X(WGMMA, "wgmma", 0, 16, REFUSE)                                                                               \
	X(WMMA, "wmma", 0, 16, REFUSE)

enum bf_ptx_op {
	BF_PTX_OP_UNKNOWN, /* refused by its own name, like those of state REFUSE */
#define X(name, words, least, most, state) BF_PTX_OP_##name,
	BF_PTX_OPS(X)
#undef X
	    BF_PTX_OPS_COUNT
};

/* X(NAME, "word", bits, letter): fundamental types and packed ones, .pred among them. Letters: b u s f p, m (fp8 and
 * smaller, tensor formats). */
#define BF_PTX_TYPES(X)                                                                                                \
	X(PRED, "pred", 1, 'p')                                                                                        \
	X(B8, "b8", 8, 'b')                                                                                            \
	X(B16, "b16", 16, 'b')                                                                                         \
	X(B32, "b32", 32, 'b')                                                                                         \
	X(B64, "b64", 64, 'b')                                                                                         \
	X(B128, "b128", 128, 'b')                                                                                      \
	X(U8, "u8", 8, 'u')                                                                                            \
	X(U16, "u16", 16, 'u')                                                                                         \
	X(U32, "u32", 32, 'u')                                                                                         \
	X(U64, "u64", 64, 'u')                                                                                         \
	X(S8, "s8", 8, 's')                                                                                            \
	X(S16, "s16", 16, 's')                                                                                         \
	X(S32, "s32", 32, 's')                                                                                         \
	X(S64, "s64", 64, 's')                                                                                         \
	X(F16, "f16", 16, 'f')                                                                                         \
	X(F32, "f32", 32, 'f')                                                                                         \
	X(F64, "f64", 64, 'f')                                                                                         \
	X(BF16, "bf16", 16, 'f')                                                                                       \
	X(F16X2, "f16x2", 32, 'f')                                                                                     \
	X(BF16X2, "bf16x2", 32, 'f')                                                                                   \
	X(F32X2, "f32x2", 64, 'f')                                                                                     \
	X(TF32, "tf32", 32, 'f')                                                                                       \
	X(U16X2, "u16x2", 32, 'u')                                                                                     \
	X(S16X2, "s16x2", 32, 's')                                                                                     \
	X(U8X4, "u8x4", 32, 'u')                                                                                       \
	X(S8X4, "s8x4", 32, 's')                                                                                       \
	X(E4M3, "e4m3", 8, 'm')                                                                                        \
	X(E5M2, "e5m2", 8, 'm')                                                                                        \
	X(E4M3X2, "e4m3x2", 16, 'm')                                                                                   \
	X(E5M2X2, "e5m2x2", 16, 'm')                                                                                   \
	X(E4M3X4, "e4m3x4", 32, 'm')                                                                                   \
	X(E5M2X4, "e5m2x4", 32, 'm')                                                                                   \
	X(E2M1, "e2m1", 4, 'm')                                                                                        \
	X(E2M3, "e2m3", 6, 'm')                                                                                        \
	X(E3M2, "e3m2", 6, 'm')                                                                                        \
	X(E2M1X2, "e2m1x2", 8, 'm')                                                                                    \
	X(E2M3X2, "e2m3x2", 16, 'm')                                                                                   \
	X(E3M2X2, "e3m2x2", 16, 'm')                                                                                   \
	X(E2M1X4, "e2m1x4", 16, 'm')                                                                                   \
	X(E2M3X4, "e2m3x4", 32, 'm')                                                                                   \
	X(E3M2X4, "e3m2x4", 32, 'm')                                                                                   \
	X(UE8M0, "ue8m0", 8, 'm')                                                                                      \
	X(UE4M3, "ue4m3", 8, 'm')                                                                                      \
	X(UE8M0X2, "ue8m0x2", 16, 'm')                                                                                 \
	X(S2F6X2, "s2f6x2", 16, 'm')                                                                                   \
	X(B1, "b1", 1, 'm')                                                                                            \
	X(B1024, "b1024", 1024, 'm')                                                                                   \
	X(U4, "u4", 4, 'm')                                                                                            \
	X(S4, "s4", 4, 'm')                                                                                            \
	X(U2, "u2", 2, 'm')                                                                                            \
	X(S2, "s2", 2, 'm')                                                                                            \
	X(TEXREF, "texref", 64, 'm')                                                                                   \
	X(SAMPLERREF, "samplerref", 64, 'm')                                                                           \
	X(SURFREF, "surfref", 64, 'm')

enum bf_ptx_type {
	BF_PTX_TYPE_NONE,
#define X(name, word, bits, letter) BF_PTX_##name,
	BF_PTX_TYPES(X)
#undef X
	    BF_PTX_TYPES_COUNT
};

/* State spaces. In an instruction without one, NONE means generic addresses. */
#define BF_PTX_SPACES(X)                                                                                               \
	X(REG, "reg")                                                                                                  \
	X(SREG, "sreg")                                                                                                \
	X(CONST, "const")                                                                                              \
	X(GLOBAL, "global")                                                                                            \
	X(LOCAL, "local")                                                                                              \
	X(PARAM, "param")                                                                                              \
	X(PARAM_ENTRY, "param::entry")                                                                                 \
	X(PARAM_FUNC, "param::func")                                                                                   \
	X(SHARED, "shared")                                                                                            \
	X(SHARED_CTA, "shared::cta")                                                                                   \
	X(SHARED_CLUSTER, "shared::cluster")                                                                           \
	X(TEX_SPACE, "tex")

enum bf_ptx_space {
	BF_PTX_SPACE_NONE,
#define X(name, word) BF_PTX_##name,
	BF_PTX_SPACES(X)
#undef X
	    BF_PTX_SPACES_COUNT
};

/* How an access orders others, as written; NONE for instructions that do not say. */
#define BF_PTX_SEMS(X)                                                                                                 \
	X(WEAK, "weak")                                                                                                \
	X(VOLATILE, "volatile")                                                                                        \
	X(RELAXED, "relaxed")                                                                                          \
	X(ACQUIRE, "acquire")                                                                                          \
	X(RELEASE, "release")                                                                                          \
	X(ACQ_REL, "acq_rel")                                                                                          \
	X(SC, "sc")

enum bf_ptx_sem {
	BF_PTX_SEM_NONE,
#define X(name, word) BF_PTX_##name,
	BF_PTX_SEMS(X)
#undef X
};

/* GL is membar's word for what the others call gpu: the reader gives GPU for it. */
#define BF_PTX_SCOPES(X)                                                                                               \
	X(CTA, "cta")                                                                                                  \
	X(CLUSTER, "cluster")                                                                                          \
	X(GPU, "gpu")                                                                                                  \
	X(SYS, "sys")

enum bf_ptx_scope {
	BF_PTX_SCOPE_NONE,
#define X(name, word) BF_PTX_SCOPE_##name,
	BF_PTX_SCOPES(X)
#undef X
};

#define BF_PTX_ROUNDS(X)                                                                                               \
	X(RN, "rn")                                                                                                    \
	X(RZ, "rz")                                                                                                    \
	X(RM, "rm")                                                                                                    \
	X(RP, "rp")                                                                                                    \
	X(RNA, "rna")                                                                                                  \
	X(RNI, "rni")                                                                                                  \
	X(RZI, "rzi")                                                                                                  \
	X(RMI, "rmi")                                                                                                  \
	X(RPI, "rpi")                                                                                                  \
	X(RS, "rs")

enum bf_ptx_round {
	BF_PTX_ROUND_NONE,
#define X(name, word) BF_PTX_##name,
	BF_PTX_ROUNDS(X)
#undef X
};

/* Comparisons of setp and set. Their .lo and .hi stand here; those of mul and mad are flags. */
#define BF_PTX_CMPS(X)                                                                                                 \
	X(EQ, "eq")                                                                                                    \
	X(NE, "ne")                                                                                                    \
	X(LT, "lt")                                                                                                    \
	X(LE, "le")                                                                                                    \
	X(GT, "gt")                                                                                                    \
	X(GE, "ge")                                                                                                    \
	X(LO, "lo")                                                                                                    \
	X(LS, "ls")                                                                                                    \
	X(HI, "hi")                                                                                                    \
	X(HS, "hs")                                                                                                    \
	X(EQU, "equ")                                                                                                  \
	X(NEU, "neu")                                                                                                  \
	X(LTU, "ltu")                                                                                                  \
	X(LEU, "leu")                                                                                                  \
	X(GTU, "gtu")                                                                                                  \
	X(GEU, "geu")                                                                                                  \
	X(NUM, "num")                                                                                                  \
	X(NAN, "nan")

enum bf_ptx_cmp {
	BF_PTX_CMP_NONE,
#define X(name, word) BF_PTX_CMP_##name,
	BF_PTX_CMPS(X)
#undef X
};

/*
 * What an operation does among its variants: the operator of atom, red, redux, bar.red and bulk reductions, the second
 * operator of setp and set, modes of vote, match, shfl, prmt, testp and createpolicy.
 */
#define BF_PTX_SUBS(X)                                                                                                 \
	X(ADD, "add")                                                                                                  \
	X(MIN, "min")                                                                                                  \
	X(MAX, "max")                                                                                                  \
	X(AND, "and")                                                                                                  \
	X(OR, "or")                                                                                                    \
	X(XOR, "xor")                                                                                                  \
	X(INC, "inc")                                                                                                  \
	X(DEC, "dec")                                                                                                  \
	X(EXCH, "exch")                                                                                                \
	X(CAS, "cas")                                                                                                  \
	X(POPC, "popc")                                                                                                \
	X(ALL, "all")                                                                                                  \
	X(ANY, "any")                                                                                                  \
	X(UNI, "uni")                                                                                                  \
	X(BALLOT, "ballot")                                                                                            \
	X(UP, "up")                                                                                                    \
	X(DOWN, "down")                                                                                                \
	X(BFLY, "bfly")                                                                                                \
	X(IDX, "idx")                                                                                                  \
	X(F4E, "f4e")                                                                                                  \
	X(B4E, "b4e")                                                                                                  \
	X(RC8, "rc8")                                                                                                  \
	X(ECL, "ecl")                                                                                                  \
	X(ECR, "ecr")                                                                                                  \
	X(RC16, "rc16")                                                                                                \
	X(FINITE, "finite")                                                                                            \
	X(INFINITE, "infinite")                                                                                        \
	X(NUMBER, "number")                                                                                            \
	X(NOTANUMBER, "notanumber")                                                                                    \
	X(NORMAL, "normal")                                                                                            \
	X(SUBNORMAL, "subnormal")                                                                                      \
	X(FRACTIONAL, "fractional")                                                                                    \
	X(RANGE, "range")                                                                                              \
	X(CVT_POLICY, "cvt")                                                                                           \
	X(IS_CANCELED, "is_canceled")                                                                                  \
	X(GET_FIRST_CTAID, "get_first_ctaid")                                                                          \
	X(GET_FIRST_CTAID_X, "get_first_ctaid::x")                                                                     \
	X(GET_FIRST_CTAID_Y, "get_first_ctaid::y")                                                                     \
	X(GET_FIRST_CTAID_Z, "get_first_ctaid::z")

enum bf_ptx_sub {
	BF_PTX_SUB_NONE,
#define X(name, word) BF_PTX_SUB_##name,
	BF_PTX_SUBS(X)
#undef X
};

/* Modifiers that are there or not. At most 64. */
#define BF_PTX_FLAGS(X)                                                                                                \
	X(FTZ, "ftz")                                                                                                  \
	X(SAT, "sat")                                                                                                  \
	X(SATFINITE, "satfinite")                                                                                      \
	X(RELU, "relu")                                                                                                \
	X(NAN_OUT, "NaN")                                                                                              \
	X(XORSIGN, "xorsign")                                                                                          \
	X(ABS_MOD, "abs")                                                                                              \
	X(APPROX, "approx")                                                                                            \
	X(FULL, "full")                                                                                                \
	X(OOB, "oob")                                                                                                  \
	X(NOFTZ, "noftz")                                                                                              \
	X(CC, "cc")                                                                                                    \
	X(LO_HALF, "lo")                                                                                               \
	X(HI_HALF, "hi")                                                                                               \
	X(WIDE, "wide")                                                                                                \
	X(UNIFORM, "uni")                                                                                              \
	X(SYNC, "sync")                                                                                                \
	X(ALIGNED, "aligned")                                                                                          \
	X(TO, "to")                                                                                                    \
	X(LEFT, "l")                                                                                                   \
	X(RIGHT, "r")                                                                                                  \
	X(CLAMP, "clamp")                                                                                              \
	X(WRAP, "wrap")                                                                                                \
	X(SHIFTAMT, "shiftamt")                                                                                        \
	X(MMIO, "mmio")                                                                                                \
	X(NC, "nc")                                                                                                    \
	X(CA, "ca")                                                                                                    \
	X(CG, "cg")                                                                                                    \
	X(CACHE_HINT, "L2::cache_hint")                                                                                \
	X(NOINC, "noinc")                                                                                              \
	X(NOCOMPLETE, "noComplete")                                                                                    \
	X(EXPECT_TX, "expect_tx")                                                                                      \
	X(PARITY, "parity")                                                                                            \
	X(COMPLETE_TX, "mbarrier::complete_tx::bytes")                                                                 \
	X(BULK_GROUP, "bulk_group")                                                                                    \
	X(MULTICAST, "multicast::cluster")                                                                             \
	X(MULTICAST_ALL, "multicast::cluster::all")                                                                    \
	X(CP_MASK, "cp_mask")                                                                                          \
	X(IGNORE_OOB, "ignore_oob")                                                                                    \
	X(READ, "read")                                                                                                \
	X(ASYNC, "async")                                                                                              \
	X(ALIAS, "alias")                                                                                              \
	X(TENSORMAP_GENERIC, "tensormap::generic")                                                                     \
	X(ASYNC_GENERIC, "async::generic")                                                                             \
	X(SYNC_RESTRICT_CTA, "sync_restrict::shared::cta")                                                             \
	X(SYNC_RESTRICT_CLUSTER, "sync_restrict::shared::cluster")                                                     \
	X(ACC_F32, "acc::f32")                                                                                         \
	X(ACC_F16, "acc::f16")                                                                                         \
	X(SCALED_N2, "scaled::n2::ue8m0")

enum bf_ptx_flag_bit {
#define X(name, word) BF_PTX_FLAG_BIT_##name,
	BF_PTX_FLAGS(X)
#undef X
	    BF_PTX_FLAGS_COUNT
};

/* BF_PTX_FLAG(FTZ): the bit in struct bf_ptx_form's flags. */
#define BF_PTX_FLAG(name) (UINT64_C(1) << BF_PTX_FLAG_BIT_##name)

/* Modifiers that change nothing that a program can observe: caches, evictions, prefetch sizes. */
#define BF_PTX_HINTS(X)                                                                                                \
	X("cs")                                                                                                        \
	X("lu")                                                                                                        \
	X("cv")                                                                                                        \
	X("wb")                                                                                                        \
	X("wt")                                                                                                        \
	X("L1")                                                                                                        \
	X("L2")                                                                                                        \
	X("L1::evict_normal")                                                                                          \
	X("L1::evict_unchanged")                                                                                       \
	X("L1::evict_first")                                                                                           \
	X("L1::evict_last")                                                                                            \
	X("L1::no_allocate")                                                                                           \
	X("L2::evict_last")                                                                                            \
	X("L2::evict_normal")                                                                                          \
	X("L2::evict_first")                                                                                           \
	X("L2::evict_unchanged")                                                                                       \
	X("L2::64B")                                                                                                   \
	X("L2::128B")                                                                                                  \
	X("L2::256B")                                                                                                  \
	X("tensormap")                                                                                                 \
	X("mask")

/*
 * Special registers: X(NAME, "name", bits, parts). Parts: 1 for one value, 4 for .x .y .z .w. Numbered families
 * (%pm0, %envreg31) take their number from the operand's `offset`.
 */
#define BF_PTX_SREGS(X)                                                                                                \
	X(TID, "%tid", 32, 4)                                                                                          \
	X(NTID, "%ntid", 32, 4)                                                                                        \
	X(CTAID, "%ctaid", 32, 4)                                                                                      \
	X(NCTAID, "%nctaid", 32, 4)                                                                                    \
	X(CLUSTERID, "%clusterid", 32, 4)                                                                              \
	X(NCLUSTERID, "%nclusterid", 32, 4)                                                                            \
	X(CLUSTER_CTAID, "%cluster_ctaid", 32, 4)                                                                      \
	X(CLUSTER_NCTAID, "%cluster_nctaid", 32, 4)                                                                    \
	X(CLUSTER_CTARANK, "%cluster_ctarank", 32, 1)                                                                  \
	X(CLUSTER_NCTARANK, "%cluster_nctarank", 32, 1)                                                                \
	X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", 1, 1)                                                           \
	X(LANEID, "%laneid", 32, 1)                                                                                    \
	X(WARPID, "%warpid", 32, 1)                                                                                    \
	X(NWARPID, "%nwarpid", 32, 1)                                                                                  \
	X(SMID, "%smid", 32, 1)                                                                                        \
	X(NSMID, "%nsmid", 32, 1)                                                                                      \
	X(GRIDID, "%gridid", 64, 1)                                                                                    \
	X(LANEMASK_EQ, "%lanemask_eq", 32, 1)                                                                          \
	X(LANEMASK_LE, "%lanemask_le", 32, 1)                                                                          \
	X(LANEMASK_LT, "%lanemask_lt", 32, 1)                                                                          \
	X(LANEMASK_GE, "%lanemask_ge", 32, 1)                                                                          \
	X(LANEMASK_GT, "%lanemask_gt", 32, 1)                                                                          \
	X(CLOCK, "%clock", 32, 1)                                                                                      \
	X(CLOCK_HI, "%clock_hi", 32, 1)                                                                                \
	X(CLOCK64, "%clock64", 64, 1)                                                                                  \
	X(GLOBALTIMER, "%globaltimer", 64, 1)                                                                          \
	X(GLOBALTIMER_LO, "%globaltimer_lo", 32, 1)                                                                    \
	X(GLOBALTIMER_HI, "%globaltimer_hi", 32, 1)                                                                    \
	X(PM, "%pm", 32, 1)                                                                                            \
	X(PM_64, "%pm_64", 64, 1)                                                                                      \
	X(ENVREG, "%envreg", 32, 1)                                                                                    \
	X(TOTAL_SMEM_SIZE, "%total_smem_size", 32, 1)                                                                  \
	X(AGGR_SMEM_SIZE, "%aggr_smem_size", 32, 1)                                                                    \
	X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", 32, 1)                                                              \
	X(RESERVED_SMEM_OFFSET_BEGIN, "%reserved_smem_offset_begin", 32, 1)                                            \
	X(RESERVED_SMEM_OFFSET_END, "%reserved_smem_offset_end", 32, 1)                                                \
	X(RESERVED_SMEM_OFFSET_CAP, "%reserved_smem_offset_cap", 32, 1)                                                \
	X(RESERVED_SMEM_OFFSET, "%reserved_smem_offset_", 32, 1)                                                       \
	X(CURRENT_GRAPH_EXEC, "%current_graph_exec", 64, 1)

enum bf_ptx_sreg {
#define X(name, word, bits, parts) BF_PTX_SREG_##name,
	BF_PTX_SREGS(X)
#undef X
	    BF_PTX_SREGS_COUNT
};

/* The word, without a dot, for messages; "?" for what is none. Static memory. */
const char *bf_ptx_op_text(enum bf_ptx_op op);
const char *bf_ptx_type_text(enum bf_ptx_type type);
const char *bf_ptx_space_text(enum bf_ptx_space space);
const char *bf_ptx_sreg_text(enum bf_ptx_sreg sreg);

/* Bits of a value of this type (a predicate has 1), 0 for BF_PTX_TYPE_NONE; its letter as in BF_PTX_TYPES, or 0. */
uint32_t bf_ptx_type_bits(enum bf_ptx_type type);
char bf_ptx_type_letter(enum bf_ptx_type type);

#endif
