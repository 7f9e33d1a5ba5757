/*
 * CUDA by source: what a .cu file speaks of, for g++ and clang, on a modelled machine.
 *
 * A .cu without inline PTX compiles as it is when this header stands in front of it:
 *
 *	g++ -x c++ -fsanitize=thread --param=tsan-distinguish-volatile=1 -include tools/plain/cuda.h -I tools/plain/cuda
 *	clang++ -x c++ -fsanitize=thread -mllvm -tsan-distinguish-volatile=1 \
 *		-mllvm -tsan-instrument-read-before-write=1 -include ... (the same)
 *
 * and is linked with libbelfry-plain (CMake: belfry::cuda does all that). Its kernels then run in trials
 * (drivers/trial/trial.h): each thread is a simulated one, its plain, volatile and atomic accesses go through its view,
 * a store to a doorbell rings the device, and a debugger steps through it line by line. A trial starts a kernel by
 * belfry::launch(). Launches with <<<>>> and `extern __shared__` are not C++: tools/plain/cuda.sed writes them as
 * belfry_grid() and belfry_dynamic().
 *
 * What is as on a GPU: scopes of fences and atomics, volatile as relaxed accesses of system scope, __shared__ variables
 * of each block, block and warp barriers, shuffles and votes. What is not: __device__ and __constant__ variables are
 * the program's own, which no device reaches and no order applies to; lanes do not run in lock step, so __activemask()
 * has all that have not ended; clock64() and %globaltimer count nanoseconds.
 *
 * docs/cuda-source.md shows all of it.
 */
#ifndef BELFRY_TOOLS_PLAIN_CUDA_H
#define BELFRY_TOOLS_PLAIN_CUDA_H

#ifndef __cplusplus
#error "CUDA is C++"
#endif

/* In front of the macros below, which take names that these use. */
#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/plain/plain.h"

namespace std
{
using ::belfry_plain_memcpy;
using ::belfry_plain_memmove;
using ::belfry_plain_memset;
} // namespace std

#define BELFRY_CUDA 1

/* ---- words of the language ---- */

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __cluster_dims__(...)
/* `__shared__ alignas(16) T x` is CUDA's order of words, not C++'s. */
#define alignas(n) __attribute__((aligned(n)))

/* ---- vectors ---- */

#define BELFRY_VECTORS(name, T)                                                                                        \
	struct name##1                                                                                                 \
	{                                                                                                              \
		T x;                                                                                                   \
	};                                                                                                             \
	struct __attribute__((aligned(2 * sizeof(T)))) name##2                                                         \
	{                                                                                                              \
		T x, y;                                                                                                \
	};                                                                                                             \
	struct name##3                                                                                                 \
	{                                                                                                              \
		T x, y, z;                                                                                             \
	};                                                                                                             \
	struct __attribute__((aligned(sizeof(T) == 8 ? 16 : 4 * sizeof(T)))) name##4                                   \
	{                                                                                                              \
		T x, y, z, w;                                                                                          \
	};                                                                                                             \
	static __forceinline__ name##1 make_##name##1(T x)                                                             \
	{                                                                                                              \
		return { x };                                                                                          \
	}                                                                                                              \
	static __forceinline__ name##2 make_##name##2(T x, T y)                                                        \
	{                                                                                                              \
		return { x, y };                                                                                       \
	}                                                                                                              \
	static __forceinline__ name##3 make_##name##3(T x, T y, T z)                                                   \
	{                                                                                                              \
		return { x, y, z };                                                                                    \
	}                                                                                                              \
	static __forceinline__ name##4 make_##name##4(T x, T y, T z, T w)                                              \
	{                                                                                                              \
		return { x, y, z, w };                                                                                 \
	}
BELFRY_VECTORS(char, signed char)
BELFRY_VECTORS(uchar, unsigned char)
BELFRY_VECTORS(short, short)
BELFRY_VECTORS(ushort, unsigned short)
BELFRY_VECTORS(int, int)
BELFRY_VECTORS(uint, unsigned)
BELFRY_VECTORS(long, long)
BELFRY_VECTORS(ulong, unsigned long)
BELFRY_VECTORS(longlong, long long)
BELFRY_VECTORS(ulonglong, unsigned long long)
BELFRY_VECTORS(float, float)
BELFRY_VECTORS(double, double)

struct dim3 {
	unsigned x, y, z;

	constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
	{
	}
	dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
	{
	}
	operator uint3() const
	{
		return { x, y, z };
	}
};

#include "tools/plain/cuda_calls.h"

#define threadIdx (belfry_cuda_self()->thread)
#define blockIdx (belfry_cuda_self()->block)
#define blockDim (belfry_cuda_self()->threads)
#define gridDim (belfry_cuda_self()->blocks)
static const int warpSize = 32;

/* ---- launches ---- */

namespace belfry
{

template <class... P> struct call {
	void (*kernel)(P...);
	std::tuple<std::decay_t<P>...> args;

	static void run(void *self)
	{
		const call *c = static_cast<const call *>(self);
		auto own = c->args; /* each thread has parameters of its own */

		std::apply(c->kernel, own);
	}
	static void drop(void *self)
	{
		delete static_cast<call *>(self);
	}
};

/* In setup: a kernel on the GPU of `pe`, `blocks` of `threads` with `shared` bytes of dynamic shared memory. */
template <class... P, class... A>
int launch(struct bf_trial *t, uint32_t pe, dim3 blocks, dim3 threads, size_t shared, void (*kernel)(P...), A &&...args)
{
	const unsigned b[] = { blocks.x, blocks.y, blocks.z }, n[] = { threads.x, threads.y, threads.z };

	return belfry_cuda_start(t, pe, b, n, shared, call<P...>::run,
				 new call<P...>{ kernel, std::tuple<std::decay_t<P>...>(static_cast<P>(args)...) },
				 call<P...>::drop, reinterpret_cast<const void *>(kernel));
}

/* For launches with <<<>>>, as cuda.sed writes them: they go to the trial and PE of belfry::host. */
struct host {
	host(struct bf_trial *t, uint32_t pe) : before(now())
	{
		now() = this;
		trial = t;
		this->pe = pe;
	}
	~host()
	{
		now() = before;
	}
	static host *&now()
	{
		static thread_local host *h;

		return h;
	}
	struct bf_trial *trial;
	uint32_t pe;
	int error = 0;
	host *before;
};

template <class... P> struct grid {
	void (*kernel)(P...);
	dim3 blocks, threads;
	size_t shared;

	template <class... A> void operator()(A &&...args) const
	{
		host *h = host::now();

		if (!h) {
			std::fprintf(stderr, "belfry: <<<>>> outside of belfry::host\n");
			std::abort();
		}
		const int rc = launch(h->trial, h->pe, blocks, threads, shared, kernel, std::forward<A>(args)...);
		h->error = h->error ? h->error : rc;
	}
};

template <class... P> grid<P...> make_grid(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared = 0, ...)
{
	return { kernel, blocks, threads, shared };
}

template <class T> uint64_t bits(T v)
{
	uint64_t b = 0;

	static_assert(sizeof(T) <= 8, "at most 8 bytes");
	__builtin_memcpy(&b, &v, sizeof(v));
	return b;
}
template <class T> T value(uint64_t b)
{
	T v;

	__builtin_memcpy(&v, &b, sizeof(v));
	return v;
}

template <class T> T change(T *p, enum belfry_change what, T v, int scope, T compare = T(), int order = 0)
{
	return value<T>(belfry_cuda_change(p, sizeof(T), what, bits(v), bits(compare), order, scope));
}

template <class T> constexpr enum belfry_change add_of()
{
	return std::is_same_v<T, float> ? BELFRY_ADD_FLOAT : std::is_same_v<T, double> ? BELFRY_ADD_DOUBLE : BELFRY_ADD;
}
template <class T> constexpr enum belfry_change min_of()
{
	return std::is_signed_v<T> ? BELFRY_MIN_SIGNED : BELFRY_MIN;
}
template <class T> constexpr enum belfry_change max_of()
{
	return std::is_signed_v<T> ? BELFRY_MAX_SIGNED : BELFRY_MAX;
}

template <class T> struct same {
	typedef T type;
};

} // namespace belfry

#define belfry_grid(kernel, ...) belfry::make_grid(kernel, __VA_ARGS__)
#define belfry_dynamic(T, name) T *const name = static_cast<T *>(belfry_cuda_dynamic())

/* ---- fences and barriers ---- */

#define __threadfence_block() belfry_cuda_fence(__ATOMIC_SEQ_CST, BELFRY_CTA)
#define __threadfence() belfry_cuda_fence(__ATOMIC_SEQ_CST, BELFRY_GPU)
#define __threadfence_system() belfry_cuda_fence(__ATOMIC_SEQ_CST, BELFRY_SYS)
#define __syncthreads() belfry_cuda_sync_block()

static __forceinline__ void __syncwarp(unsigned mask = 0xffffffffu)
{
	belfry_cuda_sync_warp(mask);
}
static __forceinline__ int __syncthreads_count(int predicate)
{
	return belfry_cuda_sync_count(predicate, nullptr);
}
static __forceinline__ int __syncthreads_or(int predicate)
{
	return belfry_cuda_sync_count(predicate, nullptr) != 0;
}
static __forceinline__ int __syncthreads_and(int predicate)
{
	int threads;

	return belfry_cuda_sync_count(predicate, &threads) == threads;
}

/* ---- warps ---- */

static __forceinline__ unsigned __activemask()
{
	return belfry_cuda_active();
}
static __forceinline__ unsigned __ballot_sync(unsigned mask, int predicate)
{
	return belfry_cuda_ballot(mask, predicate);
}
static __forceinline__ int __any_sync(unsigned mask, int predicate)
{
	return belfry_cuda_ballot(mask, predicate) != 0;
}
static __forceinline__ int __all_sync(unsigned mask, int predicate)
{
	return belfry_cuda_ballot(mask, !predicate) == 0;
}
template <class T> static __forceinline__ unsigned __match_any_sync(unsigned mask, T v)
{
	return belfry_cuda_match(mask, belfry::bits(v));
}
template <class T> static __forceinline__ unsigned __match_all_sync(unsigned mask, T v, int *all)
{
	*all = belfry_cuda_match(mask, belfry::bits(v)) == mask;
	return *all ? mask : 0;
}
/* A lane that is not in `mask`, or not there, gives what it may give on hardware: here one's own value. */
template <class T> static __forceinline__ T __shfl_sync(unsigned mask, T v, int lane, int width = 32)
{
	const unsigned me = belfry_cuda_lane(),
		       from = (me & ~(unsigned)(width - 1)) | ((unsigned)lane & (unsigned)(width - 1));

	return belfry::value<T>(belfry_cuda_shuffle(mask, belfry::bits(v), mask >> from & 1 ? from : me));
}
template <class T> static __forceinline__ T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32)
{
	const unsigned me = belfry_cuda_lane(), at = me & (unsigned)(width - 1), from = at >= delta ? me - delta : me;

	return belfry::value<T>(belfry_cuda_shuffle(mask, belfry::bits(v), mask >> from & 1 ? from : me));
}
template <class T> static __forceinline__ T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32)
{
	const unsigned me = belfry_cuda_lane(), at = me & (unsigned)(width - 1);
	const unsigned from = at + delta < (unsigned)width ? me + delta : me;

	return belfry::value<T>(belfry_cuda_shuffle(mask, belfry::bits(v), mask >> from & 1 ? from : me));
}
template <class T> static __forceinline__ T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32)
{
	const unsigned me = belfry_cuda_lane(), to = (me & (unsigned)(width - 1)) ^ (unsigned)lanes;
	const unsigned from = to < (unsigned)width ? (me & ~(unsigned)(width - 1)) | to : me;

	return belfry::value<T>(belfry_cuda_shuffle(mask, belfry::bits(v), mask >> from & 1 ? from : me));
}
#define BELFRY_REDUCE(name, T, expression)                                                                             \
	static __forceinline__ T __reduce_##name##_sync(unsigned mask, T v)                                            \
	{                                                                                                              \
		bool any = false;                                                                                      \
		T sum = v;                                                                                             \
                                                                                                                       \
		for (unsigned i = 0; i < 32; i++)                                                                      \
			if (mask >> i & 1) {                                                                           \
				const T b = __shfl_sync(mask, v, (int)i);                                              \
				const T a = sum;                                                                       \
                                                                                                                       \
				sum = any ? (expression) : b;                                                          \
				any = true;                                                                            \
			}                                                                                              \
		return sum;                                                                                            \
	}
BELFRY_REDUCE(add, unsigned, a + b)
BELFRY_REDUCE(add, int, a + b)
BELFRY_REDUCE(min, unsigned, a < b ? a : b)
BELFRY_REDUCE(min, int, a < b ? a : b)
BELFRY_REDUCE(max, unsigned, a > b ? a : b)
BELFRY_REDUCE(max, int, a > b ? a : b)
BELFRY_REDUCE(and, unsigned, a &b)
BELFRY_REDUCE(or, unsigned, a | b)
BELFRY_REDUCE(xor, unsigned, a ^ b)

/* ---- atomics: relaxed, at the GPU's scope, the block's, or the system's ---- */

#define BELFRY_ATOMIC(name, suffix, scope, what)                                                                       \
	template <class T> static __forceinline__ T name##suffix(T *p, typename belfry::same<T>::type v)               \
	{                                                                                                              \
		return belfry::change(p, what, v, scope);                                                              \
	}
#define BELFRY_ATOMICS(suffix, scope)                                                                                  \
	BELFRY_ATOMIC(atomicAdd, suffix, scope, belfry::add_of<T>())                                                   \
	BELFRY_ATOMIC(atomicSub, suffix, scope, BELFRY_SUB)                                                            \
	BELFRY_ATOMIC(atomicExch, suffix, scope, BELFRY_EXCHANGE)                                                      \
	BELFRY_ATOMIC(atomicMin, suffix, scope, belfry::min_of<T>())                                                   \
	BELFRY_ATOMIC(atomicMax, suffix, scope, belfry::max_of<T>())                                                   \
	BELFRY_ATOMIC(atomicAnd, suffix, scope, BELFRY_AND)                                                            \
	BELFRY_ATOMIC(atomicOr, suffix, scope, BELFRY_OR)                                                              \
	BELFRY_ATOMIC(atomicXor, suffix, scope, BELFRY_XOR)                                                            \
	BELFRY_ATOMIC(atomicInc, suffix, scope, BELFRY_INC)                                                            \
	BELFRY_ATOMIC(atomicDec, suffix, scope, BELFRY_DEC)                                                            \
	template <class T>                                                                                             \
	static __forceinline__ T atomicCAS##suffix(T *p, typename belfry::same<T>::type compare,                       \
						   typename belfry::same<T>::type v)                                   \
	{                                                                                                              \
		return belfry::change(p, BELFRY_CAS, v, scope, compare);                                               \
	}
BELFRY_ATOMICS(, BELFRY_GPU)
BELFRY_ATOMICS(_block, BELFRY_CTA)
BELFRY_ATOMICS(_system, BELFRY_SYS)

/* ---- loads and stores by name: hints to caches are none here; cv and wt are volatile ones ---- */

#define BELFRY_LOAD(name)                                                                                              \
	template <class T> static __forceinline__ T name(const T *p)                                                   \
	{                                                                                                              \
		return *p;                                                                                             \
	}
BELFRY_LOAD(__ldg)
BELFRY_LOAD(__ldca)
BELFRY_LOAD(__ldcg)
BELFRY_LOAD(__ldcs)
BELFRY_LOAD(__ldlu)
template <class T> static __forceinline__ T __ldcv(const T *p)
{
	return *static_cast<const volatile T *>(p);
}
#define BELFRY_STORE(name)                                                                                             \
	template <class T> static __forceinline__ void name(T *p, typename belfry::same<T>::type v)                    \
	{                                                                                                              \
		*p = v;                                                                                                \
	}
BELFRY_STORE(__stwb)
BELFRY_STORE(__stcg)
BELFRY_STORE(__stcs)
template <class T> static __forceinline__ void __stwt(T *p, typename belfry::same<T>::type v)
{
	*static_cast<volatile T *>(p) = v;
}

/* ---- arithmetic and time ---- */

static __forceinline__ int __popc(unsigned v)
{
	return __builtin_popcount(v);
}
static __forceinline__ int __popcll(unsigned long long v)
{
	return __builtin_popcountll(v);
}
static __forceinline__ int __ffs(int v)
{
	return __builtin_ffs(v);
}
static __forceinline__ int __ffsll(long long v)
{
	return __builtin_ffsll(v);
}
static __forceinline__ int __clz(int v)
{
	return v ? __builtin_clz((unsigned)v) : 32;
}
static __forceinline__ int __clzll(long long v)
{
	return v ? __builtin_clzll((unsigned long long)v) : 64;
}
static __forceinline__ unsigned __brev(unsigned v)
{
	unsigned r = 0;

	for (unsigned i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}
/* Bytes of y:x by the low three bits of each digit of `s`; bit 3 of a digit asks for eight copies of the sign. */
static __forceinline__ unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
	const uint64_t all = (uint64_t)y << 32 | x;
	unsigned r = 0;

	for (unsigned i = 0; i < 4; i++) {
		const unsigned digit = s >> (4 * i) & 15, byte = (unsigned)(all >> (digit & 7) * 8) & 0xff;

		r |= (digit & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
	}
	return r;
}
static __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n)
{
	return (unsigned)(((uint64_t)high << 32 | low) << (n & 31) >> 32);
}
static __forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n)
{
	return (unsigned)(((uint64_t)high << 32 | low) >> (n & 31));
}
static __forceinline__ unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((uint64_t)a * b >> 32);
}
static __forceinline__ int __float_as_int(float v)
{
	return belfry::value<int>(belfry::bits(v));
}
static __forceinline__ unsigned __float_as_uint(float v)
{
	return belfry::value<unsigned>(belfry::bits(v));
}
static __forceinline__ float __int_as_float(int v)
{
	return belfry::value<float>(belfry::bits(v));
}
static __forceinline__ float __uint_as_float(unsigned v)
{
	return belfry::value<float>(belfry::bits(v));
}
static __forceinline__ float rsqrtf(float v)
{
	return 1.0f / std::sqrt(v);
}
static __forceinline__ float __fdividef(float a, float b)
{
	return a / b;
}
using std::max;
using std::min;
template <class A, class B> static __forceinline__ auto min(A a, B b) -> std::common_type_t<A, B>
{
	return (std::common_type_t<A, B>)a < (std::common_type_t<A, B>)b ? a : b;
}
template <class A, class B> static __forceinline__ auto max(A a, B b) -> std::common_type_t<A, B>
{
	return (std::common_type_t<A, B>)a > (std::common_type_t<A, B>)b ? a : b;
}
static __forceinline__ long long clock64()
{
	return (long long)belfry_cuda_clock();
}
#define clock() ((clock_t)belfry_cuda_clock())
static __forceinline__ unsigned long long __globaltimer()
{
	return belfry_cuda_clock();
}
static __forceinline__ void __nanosleep(unsigned ns)
{
	belfry_cuda_sleep(ns);
}
static __forceinline__ void __trap()
{
	std::fprintf(stderr, "belfry: __trap()\n");
	std::abort();
}

/* ---- libcu++ and cooperative groups, which use all of the above ---- */

#include "tools/plain/cuda_atomic.h"
#include "tools/plain/cuda_groups.h"

#endif
