/* CUDA by source, part of cuda.h: libcu++'s cuda::atomic, cuda::atomic_ref and their fence. */
#ifndef BELFRY_TOOLS_PLAIN_CUDA_ATOMIC_H
#define BELFRY_TOOLS_PLAIN_CUDA_ATOMIC_H

namespace cuda
{

enum thread_scope {
	thread_scope_system = BELFRY_SYS,
	thread_scope_device = BELFRY_GPU,
	thread_scope_block = BELFRY_CTA,
	thread_scope_thread = BELFRY_CTA
};

namespace std
{
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
} // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

static __forceinline__ void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system)
{
	belfry_cuda_fence((int)order, scope);
}

template <class T, thread_scope S = thread_scope_system> class atomic_ref
{
	T *p;

	static int failed(memory_order order)
	{
		return order == memory_order_acq_rel   ? (int)memory_order_acquire
		       : order == memory_order_release ? (int)memory_order_relaxed
						       : (int)order;
	}

      public:
	explicit atomic_ref(T &object) : p(&object)
	{
	}
	T load(memory_order order = memory_order_seq_cst) const
	{
		return belfry::value<T>(belfry_cuda_load(p, sizeof(T), (int)order, S));
	}
	void store(T v, memory_order order = memory_order_seq_cst) const
	{
		belfry_cuda_store(p, sizeof(T), belfry::bits(v), (int)order, S);
	}
	T exchange(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, BELFRY_EXCHANGE, v, S, T(), (int)order);
	}
	bool compare_exchange_strong(T &expected, T v, memory_order order = memory_order_seq_cst) const
	{
		const T old = belfry::change(p, BELFRY_CAS, v, S, expected, (int)order);
		const bool same = belfry::bits(old) == belfry::bits(expected);

		if (!same)
			expected = old;
		return same;
	}
	bool compare_exchange_strong(T &expected, T v, memory_order order, memory_order) const
	{
		return compare_exchange_strong(expected, v, order);
	}
	bool compare_exchange_weak(T &expected, T v, memory_order order = memory_order_seq_cst) const
	{
		return compare_exchange_strong(expected, v, order);
	}
	bool compare_exchange_weak(T &expected, T v, memory_order order, memory_order) const
	{
		return compare_exchange_strong(expected, v, order);
	}
	T fetch_add(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, belfry::add_of<T>(), v, S, T(), (int)order);
	}
	T fetch_sub(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, BELFRY_SUB, v, S, T(), (int)order);
	}
	T fetch_and(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, BELFRY_AND, v, S, T(), (int)order);
	}
	T fetch_or(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, BELFRY_OR, v, S, T(), (int)order);
	}
	T fetch_xor(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, BELFRY_XOR, v, S, T(), (int)order);
	}
	T fetch_min(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, belfry::min_of<T>(), v, S, T(), (int)order);
	}
	T fetch_max(T v, memory_order order = memory_order_seq_cst) const
	{
		return belfry::change(p, belfry::max_of<T>(), v, S, T(), (int)order);
	}
	T operator++(int) const
	{
		return fetch_add(T(1));
	}
	T operator++() const
	{
		return fetch_add(T(1)) + T(1);
	}
	T operator+=(T v) const
	{
		return fetch_add(v) + v;
	}
	operator T() const
	{
		return load();
	}
	T operator=(T v) const
	{
		store(v);
		return v;
	}
};

template <class T, thread_scope S = thread_scope_system> class atomic
{
	mutable T object;

	atomic_ref<T, S> ref() const
	{
		return atomic_ref<T, S>(object);
	}

      public:
	atomic() = default;
	constexpr atomic(T v) : object(v)
	{
	}
	atomic(const atomic &) = delete;
	atomic &operator=(const atomic &) = delete;
	T load(memory_order order = memory_order_seq_cst) const
	{
		return ref().load(order);
	}
	void store(T v, memory_order order = memory_order_seq_cst)
	{
		ref().store(v, order);
	}
	T exchange(T v, memory_order order = memory_order_seq_cst)
	{
		return ref().exchange(v, order);
	}
	template <class... O> bool compare_exchange_strong(T &expected, T v, O... order)
	{
		return ref().compare_exchange_strong(expected, v, order...);
	}
	template <class... O> bool compare_exchange_weak(T &expected, T v, O... order)
	{
		return ref().compare_exchange_strong(expected, v, order...);
	}
#define BELFRY_FETCH(name)                                                                                             \
	T name(T v, memory_order order = memory_order_seq_cst)                                                         \
	{                                                                                                              \
		return ref().name(v, order);                                                                           \
	}
	BELFRY_FETCH(fetch_add)
	BELFRY_FETCH(fetch_sub)
	BELFRY_FETCH(fetch_and)
	BELFRY_FETCH(fetch_or)
	BELFRY_FETCH(fetch_xor)
	BELFRY_FETCH(fetch_min)
	BELFRY_FETCH(fetch_max)
#undef BELFRY_FETCH
	T operator++(int)
	{
		return ref().fetch_add(T(1));
	}
	T operator++()
	{
		return ref().fetch_add(T(1)) + T(1);
	}
	operator T() const
	{
		return load();
	}
	T operator=(T v)
	{
		store(v);
		return v;
	}
};

} // namespace cuda

#endif
