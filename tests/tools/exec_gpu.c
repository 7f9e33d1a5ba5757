/*
 * A program that gives memory of a GPU to a NIC, and a doorbell page to the GPU. test_exec.sh runs it under
 * `belfry exec` with a driver that stands for CUDA's (fake_cuda.c), and with the one of `belfry exec --gpu`; what it
 * found wrong first ends it with exit code 1.
 */
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 65536u
#define HALF (BYTES / 2)
#define HEAP (64u << 20)
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define REGISTER 7u /* CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP, _IOMEMORY */

static struct {
	int (*get)(const char *name, void **fn, int version, uint64_t flags, void *status);
	int (*alloc)(uint64_t *at, size_t size);
	int (*release)(uint64_t at);
	int (*down)(void *dst, uint64_t src, size_t len);
	int (*up)(uint64_t dst, const void *src, size_t len);
	int (*host_register)(void *p, size_t len, unsigned flags);
	int (*range)(void *handle, uint64_t at, size_t size, int type, unsigned long long flags);
	int (*retain)(void **context, int device);
	int (*push)(void *context);
} cuda;

#define NEED(good, what)                                                                                               \
	do {                                                                                                           \
		if (!(good)) {                                                                                         \
			printf("FAILED line %d: %s (errno %d)\n", __LINE__, what, errno);                              \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static bool launches; /* not a stand-in that runs no kernels */

/* As the CUDA runtime does: one function by dlsym(), the others by that. */
static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *self, *context_of;
	int (*start)(unsigned flags);

	NEED(library, dlerror());
	*(void **)&cuda.get = dlsym(library, "cuGetProcAddress_v2");
	NEED(cuda.get && !cuda.get("cuGetProcAddress", &self, 12000, 0, NULL), "cuGetProcAddress");
	*(void **)&cuda.get = self;
	NEED(!cuda.get("cuMemAlloc", (void **)&cuda.alloc, 3020, 0, NULL) &&
		 !cuda.get("cuMemFree", (void **)&cuda.release, 3020, 0, NULL) &&
		 !cuda.get("cuMemcpyDtoH", (void **)&cuda.down, 3020, 0, NULL) &&
		 !cuda.get("cuMemcpyHtoD", (void **)&cuda.up, 3020, 0, NULL) &&
		 !cuda.get("cuMemHostRegister", (void **)&cuda.host_register, 6050, 0, NULL) &&
		 !cuda.get("cuMemGetHandleForAddressRange", (void **)&cuda.range, 11070, 0, NULL) &&
		 !cuda.get("cuDevicePrimaryCtxRetain", (void **)&cuda.retain, 7000, 0, NULL) &&
		 !cuda.get("cuCtxPushCurrent", (void **)&cuda.push, 4000, 0, NULL),
	     "functions of the driver");
	launches = dlsym(library, "cuLaunchKernel") != NULL;
	/* One that is more than a stand-in wants to be started. */
	*(void **)&start = dlsym(library, "cuInit");
	if (start)
		NEED(!start(0) && !cuda.retain(&context_of, 0) && !cuda.push(context_of), "start of the driver");
}

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

/* One queue pair, connected to itself. */
static void connect_self(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = { 16, 16, 1, 1, 0 } };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS };

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	NEED(context, "no device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
	NEED(qp && !ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_1024,
				  .dest_qp_num = qp->qp_num,
				  .max_dest_rd_atomic = 4,
				  .min_rnr_timer = 12,
				  .ah_attr = {
				      .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } } };
	NEED(!ibv_query_gid(context, 1, 1, &a.ah_attr.grh.dgid), "GID 1");
	NEED(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .max_rd_atomic = 4 };
	NEED(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static int unfenced;    /* the kernel lacks its fences */
static uint32_t posted; /* entries of 64 bytes, one each */

static void complete(void)
{
	struct ibv_wc wc;
	int n = 0;

	for (int ms = 0; !n && ms < (unfenced ? 300 : 20000); ms++) {
		for (int i = 0; !n && i < 1000; i++)
			n = ibv_poll_cq(cq, 1, &wc);
		if (!n)
			usleep(1000);
	}
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS, n ? ibv_wc_status_str(wc.status) : "no completion");
}

static void run(struct ibv_send_wr *wr, uint64_t at, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { at, len, lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	NEED(!ibv_post_send(qp, wr, &bad), "post");
	posted++;
	complete();
}

static void write_to(uint64_t from, uint64_t to, uint32_t len, const struct ibv_mr *a, const struct ibv_mr *b)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = b->rkey;
	run(&wr, from, len, a->lkey);
}

/* In two registrations that overlap, of which each is good by itself. */
static void test_memory(void)
{
	struct ibv_send_wr add = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_mr *front, *all;
	uint64_t gpu, words[2];
	uint8_t bytes[BYTES];

	NEED(!cuda.alloc(&gpu, BYTES), "memory of the GPU");
	front = ibv_reg_mr(pd, (void *)(uintptr_t)gpu, HALF, RIGHTS);
	all = ibv_reg_mr(pd, (void *)(uintptr_t)gpu, BYTES, RIGHTS);
	NEED(front && all, "memory of the GPU is not registered");
	for (uint32_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	cuda.up(gpu, bytes, BYTES);
	write_to(gpu + 100, gpu + HALF + 3, 9000, front, all);
	cuda.down(bytes, gpu, BYTES);
	NEED(!memcmp(bytes + 100, bytes + HALF + 3, 9000), "write");
	NEED(bytes[HALF + 3 + 9000] == (uint8_t)((HALF + 9003) * 7 + (HALF + 9003) / 256), "write beyond its end");
	words[0] = 40;
	cuda.up(gpu + 4096, words, 8);
	add.wr.atomic.remote_addr = gpu + 4096;
	add.wr.atomic.rkey = all->rkey;
	add.wr.atomic.compare_add = 2;
	run(&add, gpu + 8192, 8, front->lkey);
	cuda.down(&words[0], gpu + 4096, 8);
	cuda.down(&words[1], gpu + 8192, 8);
	NEED(words[0] == 42 && words[1] == 40, "fetch-and-add");
	NEED(!ibv_dereg_mr(front) && !ibv_dereg_mr(all) && !cuda.release(gpu), "release");

	/* The address is the host's from now on. */
	NEED(mmap((void *)(uintptr_t)gpu, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) != MAP_FAILED,
	     "mmap");
	all = ibv_reg_mr(pd, (void *)(uintptr_t)gpu, BYTES, RIGHTS);
	NEED(all, "memory of the host is not registered");
	memset((void *)(uintptr_t)gpu, 0x5a, HALF);
	write_to(gpu, gpu + HALF, 4000, all, all);
	NEED(!memcmp((void *)(uintptr_t)gpu, (void *)(uintptr_t)(gpu + HALF), 4000),
	     "write after the GPU's memory went");
	NEED(!ibv_dereg_mr(all), "release");
}

/* Pages of files and the like that this process has in memory, in KiB. */
static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssShmem: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* A heap costs what is written of it, not what is registered: as NVSHMEM's, half a gigabyte and most of it unused. */
static void test_heap(void)
{
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	uint8_t bytes[4096], got[4096];
	struct ibv_mr *mr;
	long before;
	uint64_t gpu;

	NEED(!cuda.alloc(&gpu, HEAP), "memory of the GPU");
	before = resident_kib();
	mr = ibv_reg_mr(pd, (void *)(uintptr_t)gpu, HEAP, RIGHTS);
	NEED(mr, "a heap is not registered");
	memset(bytes, 0xa5, sizeof(bytes));
	cuda.up(gpu, bytes, sizeof(bytes));
	write_to(gpu, gpu + HEAP - sizeof(bytes), sizeof(bytes), mr, mr);
	read.wr.rdma.remote_addr = gpu + HEAP - sizeof(bytes);
	read.wr.rdma.rkey = mr->rkey;
	run(&read, gpu + HEAP / 2 + 100, sizeof(bytes), mr->lkey);
	cuda.down(got, gpu + HEAP / 2 + 100, sizeof(got));
	NEED(!memcmp(got, bytes, sizeof(got)), "write and read at a heap's ends");
	NEED(resident_kib() - before < (long)(HEAP >> 13), "a registered heap takes all of its memory");
	NEED(!ibv_dereg_mr(mr) && !cuda.release(gpu), "release");
}

/* What UCX 1.19 reads to know that its puts have arrived: 8 bytes at 0 of a key of one KSM, made through DEVX. */
static void test_flush_key(void)
{
	struct ibv_send_wr read = { .opcode = IBV_WR_RDMA_READ };
	struct mlx5dv_pd of = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &of } };
	const uint64_t word = 0x1122334455667788;
	uint32_t in[(272 + 16) / 4] = { 0 }, out[4] = { 0 };
	struct mlx5dv_devx_obj *key;
	struct ibv_mr *mr;
	uint64_t gpu, got = 0;

	NEED(!cuda.alloc(&gpu, BYTES), "memory of the GPU");
	mr = ibv_reg_mr(pd, (void *)(uintptr_t)gpu, BYTES, RIGHTS);
	NEED(mr && !mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), "memory of the GPU is not registered");
	in[0] = htobe32(0x200u << 16);     /* CREATE_MKEY */
	in[4] = htobe32(3u << 8 | 0x3c00); /* KSM; all rights */
	in[5] = htobe32(0xffffff00u);      /* for all queue pairs */
	in[7] = htobe32(of.pdn);
	in[11] = htobe32(8);            /* so long */
	in[4 + 0x34 / 4] = htobe32(1);  /* one entry */
	in[4 + 0x38 / 4] = htobe32(31); /* of 2 GiB */
	in[0x60 / 4] = htobe32(1);
	in[0x110 / 4 + 1] = htobe32(mr->lkey);
	in[0x110 / 4 + 2] = htobe32((uint32_t)((gpu + 4096) >> 32));
	in[0x110 / 4 + 3] = htobe32((uint32_t)(gpu + 4096));
	key = mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
	NEED(key, "a key of a KSM");
	cuda.up(gpu + 4096, &word, 8);
	read.wr.rdma.remote_addr = 0;
	read.wr.rdma.rkey = be32toh(out[2]) << 8;
	run(&read, gpu, 8, mr->lkey);
	cuda.down(&got, gpu, 8);
	NEED(got == word, "read by a key of a KSM");
	NEED(!mlx5dv_devx_obj_destroy(key) && !ibv_dereg_mr(mr) && !cuda.release(gpu), "release");
}

/* The same by DMA-BUF: at an offset, at an address of requests that is another one, and what is refused. */
static void test_dmabuf(void)
{
	const uint64_t iova = 0x7000000000ull;
	int fd = -1, elsewhere = memfd_create("elsewhere", 0);
	struct ibv_mr *a, *b;
	uint8_t bytes[BYTES];
	uint64_t gpu;
	void *context_of;

	NEED(!cuda.retain(&context_of, 0) && !cuda.push(context_of) && !cuda.alloc(&gpu, BYTES) &&
		 !cuda.range(&fd, gpu, BYTES, 1, 0),
	     "a DMA-BUF");
	a = ibv_reg_dmabuf_mr(pd, 0, HALF, gpu, fd, RIGHTS);
	b = ibv_reg_dmabuf_mr(pd, HALF, HALF, iova, dup(fd), RIGHTS);
	NEED(a && b, "a DMA-BUF is not registered");
	for (uint32_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 5 + i / 256);
	cuda.up(gpu, bytes, BYTES);
	write_to(gpu + 100, iova + 3, 9000, a, b);
	cuda.down(bytes, gpu, BYTES);
	NEED(!memcmp(bytes + 100, bytes + HALF + 3, 9000), "write by DMA-BUF");
	NEED(!ibv_reg_dmabuf_mr(pd, HALF, BYTES, gpu + HALF, fd, RIGHTS) && errno == EINVAL,
	     "more than the DMA-BUF has");
	NEED(!ibv_reg_dmabuf_mr(pd, 0, HALF, gpu + 1, fd, RIGHTS) && errno == EINVAL, "other offsets in a page");
	NEED(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0, elsewhere, RIGHTS) && errno == EOPNOTSUPP, "a file of somebody else");
	NEED(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 12345, RIGHTS) && errno == EBADF, "no file");
	NEED(!ibv_dereg_mr(a) && !ibv_dereg_mr(b) && !cuda.release(gpu) && !close(fd) && !close(elsewhere), "release");
}

static void test_nobodys(void)
{
	void *none = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t gpu;

	NEED(!ibv_reg_mr(pd, none, BYTES, RIGHTS) && errno == EFAULT, "memory of nobody is registered");
	NEED(!cuda.alloc(&gpu, BYTES), "memory of the GPU");
	NEED(!ibv_reg_mr(pd, (void *)(uintptr_t)(gpu + HALF), BYTES, RIGHTS) && errno == EFAULT,
	     "more memory is registered than there is");
	cuda.release(gpu);
}

/*
 * A kernel that posts: the entry is there, it fills the data, publishes the count and rings. FENCE stands where fences
 * belong.
 */
#define POST(fence)                                                                                                    \
	".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"post.cu\"\n"                                         \
	".visible .entry post(.param .u64 data, .param .u64 record, .param .u32 count,\n"                              \
	"	.param .u64 reg, .param .u64 ctrl)\n"                                                                        \
	"{\n	.reg .b32 %r<3>;\n	.reg .b64 %rd<5>;\n	.loc 1 10 1\n"                                                     \
	"	ld.param.u64 %rd1, [data];\n	ld.param.u64 %rd2, [record];\n	ld.param.u32 %r1, [count];\n"                    \
	"	ld.param.u64 %rd3, [reg];\n	ld.param.u64 %rd4, [ctrl];\n"                                                    \
	"	mov.u32 %r2, 0x12345678;\n	.loc 1 11 1\n	st.global.u32 [%rd1], %r2;\n" fence                    \
	"	.loc 1 12 1\n	st.relaxed.sys.global.u32 [%rd2], %r1;\n" fence                                        \
	"	.loc 1 13 1\n	st.mmio.relaxed.sys.global.u64 [%rd3], %rd4;\n	ret;\n}\n"

static const char post[] = POST("	fence.acq_rel.sys;\n"), post_unfenced[] = POST("");
static void test_kernel(const struct mlx5dv_qp *dv)
{
	int (*load_data)(void **module, const void *image), (*get)(void **f, void *module, const char *name);
	int (*launch)(void *f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream,
		      void **params, void **extra);
	uint32_t *wqe = (uint32_t *)((uint8_t *)dv->sq.buf + posted % dv->sq.wqe_cnt * dv->sq.stride);
	uint32_t count = htobe32(posted + 1), words[2] = { 0 };
	uint32_t *record = (uint32_t *)&dv->dbrec[MLX5_SND_DBR];
	void *module, *kernel, *reg = dv->bf.reg;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	uint64_t gpu, ctrl;
	void *params[] = { &gpu, &record, &count, &reg, &ctrl };
	struct ibv_mr *mr;

	*(void **)&load_data = dlsym(library, "cuModuleLoadData");
	*(void **)&get = dlsym(library, "cuModuleGetFunction");
	*(void **)&launch = dlsym(library, "cuLaunchKernel");
	if (!launches)
		return;
	NEED(!cuda.alloc(&gpu, BYTES), "memory of the GPU");
	cuda.up(gpu, words, 8);
	mr = ibv_reg_mr(pd, (void *)(uintptr_t)gpu, BYTES, RIGHTS);
	NEED(mr, "memory of the GPU is not registered");
	wqe[0] = htobe32((posted & 0xffff) << 8 | MLX5_OPCODE_RDMA_WRITE);
	wqe[1] = htobe32(qp->qp_num << 8 | 3);
	wqe[2] = htobe32(MLX5_WQE_CTRL_CQ_UPDATE);
	wqe[3] = 0;
	wqe[4] = htobe32((uint32_t)(gpu >> 32));
	wqe[5] = htobe32((uint32_t)gpu + 4);
	wqe[6] = htobe32(mr->rkey);
	wqe[7] = 0;
	wqe[8] = htobe32(4);
	wqe[9] = htobe32(mr->lkey);
	wqe[10] = htobe32((uint32_t)(gpu >> 32));
	wqe[11] = htobe32((uint32_t)gpu);
	memcpy(&ctrl, wqe, 8);
	NEED(!cuda.host_register(record, 4, 3), "the record is not registered");
	NEED(!load_data(&module, unfenced ? post_unfenced : post) && !get(&kernel, module, "post"), "a module");
	NEED(!launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
	complete();
	cuda.down(words, gpu, 8);
	NEED(words[0] == 0x12345678 && words[1] == 0x12345678, "what the kernel posted has not been done");
	NEED(!ibv_dereg_mr(mr) && !cuda.release(gpu), "release");
}

static void test_doorbell(void)
{
	struct mlx5dv_qp dv = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &dv } };
	uint64_t elsewhere;

	NEED(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) && dv.bf.reg, "the doorbell's address");
	NEED(!cuda.host_register(dv.bf.reg, 8, REGISTER), "a GPU gets no doorbell page");
	NEED(!cuda.host_register((uint8_t *)dv.bf.reg + 0x100, 8, REGISTER), "nor a second register on it");
	NEED(cuda.host_register(&elsewhere, 8, REGISTER) == 1, "memory is taken for a doorbell page");
	NEED(!cuda.host_register(&elsewhere, 8, REGISTER & 3), "memory is not registered");
	test_kernel(&dv);
}

int main(int argc, char **argv)
{
	unfenced = argc > 1 && !strcmp(argv[1], "unfenced");
	load();
	connect_self();
	test_memory();
	if (launches)
		test_heap();
	test_flush_key();
	test_dmabuf();
	test_nobodys();
	test_doorbell();
	NEED(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context), "close");
	puts("ok gpu");
	return 0;
}
