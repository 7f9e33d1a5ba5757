// What compilers make of C++: templates, virtual calls, function pointers, switches, recursion, local arrays, printf.
#include <cstdio>
#include <cassert>
struct Shape { __device__ virtual float area(int n) const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float a; __device__ Square(float x) : a(x) {} __device__ float area(int n) const override { return a * a * n; } };
struct Circle : Shape { float r; __device__ Circle(float x) : r(x) {} __device__ float area(int n) const override { return 3.0f * r * r + n; } };
__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
typedef int (*op_t)(int, int);
__device__ op_t table[2] = { add, sub };
__constant__ const char *words[2] = { "one", "two" };
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
struct big { double d[4]; char c; };
__device__ __noinline__ big twice(big b) { for (double &d : b.d) d *= 2; return b; }
template <int N, typename T> __global__ void sum(const T *in, T *out) {
	__shared__ T part[N];
	part[threadIdx.x] = in[blockIdx.x * N + threadIdx.x];
	__syncthreads();
	for (int s = N / 2; s; s >>= 1) { if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s]; __syncthreads(); }
	if (!threadIdx.x) out[blockIdx.x] = part[0];
}
template __global__ void sum<128, float>(const float *, float *);
template __global__ void sum<64, unsigned long long>(const unsigned long long *, unsigned long long *);
__global__ void polymorph(float *out, int which) {
	Square q(2); Circle c(3); Shape *s = which ? (Shape *)&q : (Shape *)&c;
	out[threadIdx.x] = s->area(threadIdx.x);
}
__global__ void pointers(int *out, int which) { out[threadIdx.x] = table[which](threadIdx.x, 3) + fib(threadIdx.x & 7); }
__global__ void choose(int *out, const int *in) {
	int v = in[threadIdx.x], r;
	switch (v) {
	case 0: r = 5; break; case 1: r = out[1] * 3; break; case 2: r = v << out[2]; break; case 3: r = __popc(out[3]); break;
	case 4: r = __clz(out[4]); break; case 5: r = out[5] % 7; break; case 6: r = out[6] / 3; break; case 7: r = -out[7]; break;
	case 8: r = out[8] ^ 99; break; case 9: r = out[9] | 1; break; default: r = 0;
	}
	out[threadIdx.x] = r;
}
__global__ void structs(big *b) { b[threadIdx.x] = twice(b[threadIdx.x]); }
__global__ void messages(int n) { printf("%d %s\n", n, words[n & 1]); assert(n < 5); }
extern __shared__ int dynamic[];
__global__ void __launch_bounds__(256, 2) grows(int *out) { dynamic[threadIdx.x] = out[threadIdx.x]; __syncwarp(); out[threadIdx.x] = dynamic[threadIdx.x ^ 1]; }
__global__ void asms(unsigned *p) {
	unsigned r;
	asm volatile("{\n .reg .pred %%p;\n .reg .b32 %%r1;\n setp.ne.u32 %%p, %1, 0;\n @%%p bra L1;\n mov.u32 %%r1, 7;\n L1: mov.u32 %0, %%r1;\n}" : "=r"(r) : "r"(p[0]));
	asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(r) : "memory");
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}
__global__ void locals(int *out, int n) { int a[40]; for (int i = 0; i < 40; i++) a[i] = i * n; out[0] = a[n]; long long *p = (long long *)alloca(n * 8); p[0] = n; p[n - 1] = 2; out[1] = (int)p[n / 2]; }
