/*
 * Kernels of bench_ptx: one source, for nvcc (bench_ptx.ptx is what it made of them) and for the CPU's own compiler.
 * EACH(t) is a stretch of a block's code between barriers: on the GPU every thread goes through it, on the CPU a loop
 * over the threads does. What lives longer than a stretch is an array of OWN(threads), one element a thread.
 *
 *     nvcc -arch=sm_90 -ptx -o bench_ptx.ptx -x cu ptx_kernels.h
 */
#ifdef __CUDACC__
typedef unsigned int u32;
#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#define EACH(t) for (u32 t = threadIdx.x, once_##t = 1; once_##t; once_##t = 0, __syncthreads())
#define OWN(threads) 1
#define AT(t) 0
#define BLOCK blockIdx.x
#define SHARED __shared__
#define TABLE __constant__
#else
typedef uint32_t u32;
#define KERNEL(name, ...) static void name(u32 block_, __VA_ARGS__)
#define EACH(t) for (u32 t = 0; t < THREADS; t++)
#define OWN(threads) threads
#define AT(t) t
#define BLOCK block_
#define SHARED
#define TABLE static const
#endif
#define THREADS 256

TABLE u32 sha_table[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define ROTATE(x, n) ((x) >> (n) | (x) << (32 - (n)))

/* SHA-256 of one block of 16 words a thread; n words of input, a power of two. */
KERNEL(sha256, const u32 *in, u32 *out, u32 n)
{
	EACH(t)
	{
		const u32 id = BLOCK * THREADS + t;
		u32 w[64], s[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
		u32 a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
		for (u32 i = 0; i < 16; i++)
			w[i] = in[(id * 16 + i) & (n - 1)];
		for (u32 i = 16; i < 64; i++) {
			const u32 x = w[i - 15], y = w[i - 2];
			w[i] = w[i - 16] + w[i - 7] + (ROTATE(x, 7) ^ ROTATE(x, 18) ^ x >> 3) +
			       (ROTATE(y, 17) ^ ROTATE(y, 19) ^ y >> 10);
		}
		for (u32 i = 0; i < 64; i++) {
			const u32 t1 = h + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & f) ^ (~e & g)) +
				       sha_table[i] + w[i];
			const u32 t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
			h = g;
			g = f;
			f = e;
			e = d + t1;
			d = c;
			c = b;
			b = a;
			a = t1 + t2;
		}
		out[id * 2] = s[0] + a + b + c + d;
		out[id * 2 + 1] = s[4] + e + f + g + h;
	}
}

/* C = A * B of n x n floats in tiles of 16 x 16 through shared memory, a tile a block; n a multiple of 16. */
KERNEL(matmul, const float *in, float *out, u32 n)
{
	SHARED float a[16][16], b[16][16];
	float sum[OWN(THREADS)];
	const u32 row0 = BLOCK / (n / 16) * 16, col0 = BLOCK % (n / 16) * 16;

	EACH(t) sum[AT(t)] = 0;
	for (u32 k = 0; k < n; k += 16) {
		EACH(t)
		{
			a[t / 16][t % 16] = in[(row0 + t / 16) * n + k + t % 16];
			b[t / 16][t % 16] = in[n * n + (k + t / 16) * n + col0 + t % 16];
		}
		EACH(t)
		{
			for (u32 i = 0; i < 16; i++)
				sum[AT(t)] += a[t / 16][i] * b[i][t % 16];
		}
	}
	EACH(t) out[(row0 + t / 16) * n + col0 + t % 16] = sum[AT(t)];
}

/*
 * The shape of code that posts work: one lane of each warp goes through entries, branches by what they say, keeps ring
 * indices and decides when to ring; the other lanes wait. Then all lanes look for their entries.
 */
KERNEL(control, const u32 *in, u32 *out, u32 n)
{
	SHARED u32 ring[THREADS / 32][64];

	EACH(t)
	{
		ring[t / 32][t % 32] = 0;
		ring[t / 32][t % 32 + 32] = 0;
	}
	EACH(t)
	{
		const u32 warp = t / 32, queue = BLOCK * (THREADS / 32) + warp;
		if (t % 32 == 0) {
			u32 head = 0, tail = 0, credits = 16, rung = 0, check = 0;
			for (u32 i = 0; i < 256; i++) {
				const u32 entry = in[(queue * 256 + i) & (n - 1)], op = entry & 7;
				if (op < 3) {
					if (head - tail == 64 || credits == 0) {
						tail = head;
						credits = 16;
						rung++;
					}
					ring[warp][head & 63] = entry >> 3 ^ head;
					head++;
					credits--;
				} else if (op == 3) {
					if (head != tail)
						tail += (entry >> 3 & 3) < head - tail ? entry >> 3 & 3 : head - tail;
				} else if (op == 4) {
					check = check * 33 + (ring[warp][entry >> 3 & 63] & 0xff);
				} else if (op == 5 && (entry & 0x100) != 0) {
					credits = credits < 8 ? credits + 4 : 16;
				} else {
					check ^= entry;
				}
				if ((head & 7) == 7 && (check & 1) != 0)
					rung += head - tail;
			}
			out[queue * 64] = check + rung;
			out[queue * 64 + 1] = head ^ tail << 16;
			for (u32 i = 0; i < 64; i++)
				if (i >= head)
					ring[warp][i] = i;
		}
	}
	EACH(t)
	{
		const u32 warp = t / 32, queue = BLOCK * (THREADS / 32) + warp, lane = t % 32;
		u32 found = 0;
		for (u32 i = 0; i < 64; i++) {
			const u32 word = ring[warp][i];
			if ((word & 31) == lane)
				found += word >> 5 | 1;
			else if ((word >> 5 & 31) == lane)
				found ^= word;
		}
		out[queue * 64 + 32 + lane] = found;
	}
}
