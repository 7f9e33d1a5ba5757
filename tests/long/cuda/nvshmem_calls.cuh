/* NVSHMEM's calls by its own device functions: see tests/drivers/nvshmem_calls.h, which goes before. */
#ifndef BELFRY_TESTS_NVSHMEM_CALLS_CUH
#define BELFRY_TESTS_NVSHMEM_CALLS_CUH

__device__ static void nvshmem_theirs(const struct nvshmem_work &w, int call)
{
	const int lane = threadIdx.x % 32, pe = w.pe;
	char *dst = w.dst, *src = w.src;
	uint64_t *u64 = w.words;
	unsigned *u32 = (unsigned *)(w.words + 8);
	int *i32 = (int *)(w.words + 8);

	switch (call) {
	case PUT:
		return nvshmem_putmem_nbi(dst, src, 64, pe);
	case PUT_WARP:
		return nvshmemx_putmem_nbi_warp(dst, src, 4096, pe);
	case PUT_LANES:
		return nvshmem_putmem_nbi(dst + 64 * lane, src + 128 * lane, 8 + lane, pe);
	case PUT_SIGNAL_SET:
		return nvshmem_putmem_signal_nbi(dst, src, 256, u64, 77, NVSHMEM_SIGNAL_SET, pe);
	case PUT_SIGNAL_ADD_WARP:
		return nvshmemx_putmem_signal_nbi_warp(dst, src, 1024, u64, 5, NVSHMEM_SIGNAL_ADD, pe);
	case P4:
		return nvshmem_int_p((int *)dst, 0x12345678, pe);
	case P8_LANES:
		return nvshmem_uint64_p((uint64_t *)dst + 3 * lane, 0x1122334455667788ull * (lane + 1), pe);
	case GET_NBI:
		return nvshmem_getmem_nbi(dst, src, 128, pe);
	case GET:
		return nvshmem_getmem(dst, src, 256, pe);
	case GET_WARP:
		return nvshmemx_getmem_warp(dst, src, 512, pe);
	case G4:
		(void)nvshmem_int_g((int *)src, pe);
		return;
	case ADD4:
		return nvshmem_int_atomic_add(i32, 5, pe);
	case ADD8:
		return nvshmem_uint64_atomic_add(u64, 0x100000005ull, pe);
	case INC8:
		return nvshmem_uint64_atomic_inc(u64, pe);
	case SET4:
		return nvshmem_int_atomic_set(i32, 0x1234567, pe);
	case SET8:
		return nvshmem_uint64_atomic_set(u64, 0x123456789abcdefull, pe);
	case AND4:
		return nvshmem_uint_atomic_and(u32, 0xff00ffu, pe);
	case OR8:
		return nvshmem_uint64_atomic_or(u64, 0x10000000001ull, pe);
	case XOR4:
		return nvshmem_uint_atomic_xor(u32, 0x1001u, pe);
	case FETCH_ADD4:
		(void)nvshmem_int_atomic_fetch_add(i32, 5, pe);
		return;
	case FETCH_ADD8:
		(void)nvshmem_uint64_atomic_fetch_add(u64, 0x500000001ull, pe);
		return;
	case FETCH_INC8:
		(void)nvshmem_uint64_atomic_fetch_inc(u64, pe);
		return;
	case FETCH8:
		(void)nvshmem_uint64_atomic_fetch(u64, pe);
		return;
	case SWAP4:
		(void)nvshmem_int_atomic_swap(i32, 0x7654321, pe);
		return;
	case SWAP8:
		(void)nvshmem_uint64_atomic_swap(u64, 0x76543210fedcba98ull, pe);
		return;
	case FETCH_AND8:
		(void)nvshmem_uint64_atomic_fetch_and(u64, 0xffff00000000ffffull, pe);
		return;
	case FETCH_OR4:
		(void)nvshmem_uint_atomic_fetch_or(u32, 0x110u, pe);
		return;
	case FETCH_XOR8:
		(void)nvshmem_uint64_atomic_fetch_xor(u64, 0x1010101010101010ull, pe);
		return;
	case CAS4:
		(void)nvshmem_int_atomic_compare_swap(i32, 3, 4, pe);
		return;
	case CAS8:
		(void)nvshmem_uint64_atomic_compare_swap(u64, 0x300000003ull, 0x400000004ull, pe);
		return;
	case SIGNAL_SET:
		return nvshmemx_signal_op(u64, 9, NVSHMEM_SIGNAL_SET, pe);
	case SIGNAL_ADD:
		return nvshmemx_signal_op(u64, 9, NVSHMEM_SIGNAL_ADD, pe);
	case ADD8_LANES:
		return nvshmem_uint64_atomic_add(u64 + lane, lane, pe);
	case FETCH_ADD8_LANES:
		(void)nvshmem_uint64_atomic_fetch_add(u64 + lane, lane, pe);
		return;
	case QUIET_AFTER_GET:
		nvshmem_getmem_nbi(dst, src, 32, pe);
		return nvshmem_quiet();
	case PUT_ODD:
		return nvshmem_putmem_nbi(dst + 1, src + 3, 4097, pe);
	case PUT_WAITS:
		return nvshmem_putmem(dst, src, 3, pe);
	case PUT_PIECES:
		return nvshmem_putmem_nbi(dst + 5, src + 7, 300001, pe);
	case PUT_PIECES_WARP:
		return nvshmemx_putmem_nbi_warp(dst + 5, src + 7, 300001, pe);
	case PUT_BLOCK:
		return nvshmemx_putmem_nbi_block(dst, src, 12345, pe);
	case PUT_PIECES_BLOCK:
		return nvshmemx_putmem_block(dst, src + 1, 200003, pe);
	case GET_PIECES:
		return nvshmem_getmem(dst + 2, src, 200003, pe);
	case GET_PIECES_NBI:
		return nvshmem_getmem_nbi(dst, src, 140000, pe);
	case GET_PIECES_WARP:
		return nvshmemx_getmem_nbi_warp(dst, src + 9, 300001, pe);
	case GET_BLOCK:
		return nvshmemx_getmem_block(dst, src, 777, pe);
	case PUT_SIGNAL_PIECES:
		return nvshmem_putmem_signal_nbi(dst, src, 150001, u64, 0x1122334455667788ull, NVSHMEM_SIGNAL_SET, pe);
	case PUT_SIGNAL_PIECES_WARP:
		return nvshmemx_putmem_signal_nbi_warp(dst, src, 150001, u64, 3, NVSHMEM_SIGNAL_ADD, pe);
	case PUT_SIGNAL_BLOCK:
		return nvshmemx_putmem_signal_block(dst, src, 5, u64, 1, NVSHMEM_SIGNAL_SET, pe);
	case P1:
		return nvshmem_char_p(dst + 3, 0x5a, pe);
	case P2:
		return nvshmem_short_p((short *)(dst + 2), 0x1234, pe);
	case P8:
		return nvshmem_double_p((double *)dst, 1.5, pe);
	case P4_ROW:
		return nvshmem_int_p((int *)dst + lane, 0x01010101 * (lane + 1), pe);
	case P8_ROW:
		return nvshmem_uint64_p((uint64_t *)dst + lane, 0x0101010101010101ull * (lane + 1), pe);
	case G1:
		(void)nvshmem_char_g(src + 1, pe);
		return;
	case G8:
		(void)nvshmem_uint64_g((uint64_t *)src, pe);
		return;
	case G4_ROW:
		(void)nvshmem_int_g((int *)src + lane, pe);
		return;
	case G8_LANES:
		(void)nvshmem_uint64_g((uint64_t *)src + 5 * lane, pe);
		return;
	case FETCH_ADD4_LANES:
		(void)nvshmem_int_atomic_fetch_add((int *)(u64 + lane), lane, pe);
		return;
	case CAS8_LANES:
		(void)nvshmem_uint64_atomic_compare_swap(u64 + lane, lane, lane + 100, pe);
		return;
	default:
		return;
	}
}

#endif
