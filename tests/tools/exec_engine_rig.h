/*
 * The engine inside a test, its kernel's half replaced by a small one: opening a device makes a protection domain, a
 * doorbell page and a key for a buffer of this process; ioctl() calls a function of the test's inside the engine.
 */
#ifndef BELFRY_TESTS_TOOLS_EXEC_ENGINE_RIG_H
#define BELFRY_TESTS_TOOLS_EXEC_ENGINE_RIG_H

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/models/mlx5_rig.h"
#include "tools/exec/engine_internal.h"

#define CQE 8u /* of every work request */

/* ---- the kernel's half ---- */

struct bf_uverbs {
	struct bf_sim *sim;
	struct bf_uverbs_opts opts;
};

struct bf_uverbs_file {
	struct bf_uverbs *u;
	struct rig_node node;
	struct bf_region memory; /* stands for this process's buffer in what the rig does */
};

int bf_uverbs_create(struct bf_sim *sim, const struct bf_uverbs_opts *opts, struct bf_uverbs **out)
{
	*out = calloc(1, sizeof(**out));
	**out = (struct bf_uverbs){ .sim = sim, .opts = *opts };
	return 0;
}

void bf_uverbs_destroy(struct bf_uverbs *u)
{
	free(u);
}

void bf_uverbs_irq(void *uverbs, uint32_t vector)
{
	(void)uverbs, (void)vector;
}

int bf_uverbs_open(struct bf_uverbs *u, struct bf_uverbs_file **out)
{
	struct bf_uverbs_file *f = calloc(1, sizeof(*f));
	struct rig_node *n = &f->node;
	uint8_t in[16] = { 0 };

	f->u = u;
	f->memory.size = RIG_MEM;
	f->memory.bytes = mmap(NULL, RIG_MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	RIG_MUST(f->memory.bytes != MAP_FAILED);
	f->memory.va = (uintptr_t)f->memory.bytes;
	n->mem = &f->memory;
	n->dev = u->opts.device;
	n->ipv4 = u->opts.ipv4;
	n->pd = rig_do(n, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in));
	memset(in, 0, sizeof(in));
	n->uar = rig_do(n, BF_MLX5_CMD_ALLOC_UAR, in, sizeof(in));
	n->data = rig_alloc(n, RIG_DATA);
	n->data_va = rig_va(n, n->data);
	n->key = rig_mkey(n, n->pd, n->data_va, RIG_DATA, RIG_ALL_RIGHTS, 0x11);
	*out = f;
	return 0;
}

void bf_uverbs_close(struct bf_uverbs_file *f)
{
	munmap(f->memory.bytes, RIG_MEM);
	free(f);
}

typedef void call_fn(struct bf_uverbs_file *f, void *arg);
struct call {
	call_fn *fn;
	void *arg;
};

int bf_uverbs_ioctl(struct bf_uverbs_file *f, uint64_t request, uint64_t arg)
{
	const struct call *c = (const struct call *)(uintptr_t)arg;

	(void)request;
	c->fn(f, c->arg);
	return 0;
}

int64_t bf_uverbs_write(struct bf_uverbs_file *f, uint64_t address, uint64_t len)
{
	uint8_t bytes[16];
	const struct bf_uverbs_host *h = &f->u->opts.host;

	return h->copy_in(h->arg, bytes, address, len < 16 ? (uint32_t)len : 16) ? -EFAULT : (int64_t)len;
}

int bf_uverbs_mmap(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out)
{
	static const uint8_t clock[BF_UVERBS_PAGE] = "tick";

	*out = (struct bf_uverbs_mapping){ .page = clock };
	if (offset == BF_UVERBS_PAGE)
		return 0;
	if (offset || len != 4096)
		return -EINVAL;
	*out = (struct bf_uverbs_mapping){ .region = bf_mlx5_uar(f->node.dev, f->node.uar), .uar = f->node.uar };
	return 0;
}

/* No management: the connection manager has a test of its own. */
int bf_uverbs_mad_open(struct bf_uverbs *u, bf_uverbs_mad_fn *receive, void *owner)
{
	(void)u, (void)receive, (void)owner;
	return -ENODEV;
}

int bf_uverbs_mad_send(struct bf_uverbs *u, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD])
{
	(void)u, (void)ipv4, (void)mad;
	return -ENODEV;
}

void bf_uverbs_mad_close(struct bf_uverbs *u)
{
	(void)u;
}

uint8_t bf_uverbs_active_mtu(const struct bf_uverbs *u)
{
	(void)u;
	return 5; /* 4096 bytes */
}

/* ---- the program ---- */

static struct {
	struct bf_engine *e;
	struct bf_uverbs_file *f;
	uint8_t *page;
	struct bf_uverbs_host host;
	uint32_t own; /* faults that were not the engine's */
} t;

static inline void on_fault(int sig, siginfo_t *info, void *context)
{
	if (bf_engine_fault(t.e, sig, info, context))
		return;
	t.own++;
	if (sig != SIGSEGV || mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE))
		abort();
}

static bool on_alternate_stack;

static inline void handle_faults(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (on_alternate_stack)
		act.sa_flags |= SA_ONSTACK;
	sigfillset(&act.sa_mask);
	sigdelset(&act.sa_mask, SIGSEGV);
	sigdelset(&act.sa_mask, SIGBUS);
	sigdelset(&act.sa_mask, SIGTRAP);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGTRAP, &act, NULL);
}

static inline void call(call_fn *fn, void *arg)
{
	struct call c = { fn, arg };

	ck_assert_int_eq(bf_engine_ioctl(t.e, t.f, 0, (uintptr_t)&c), 0);
}

static inline void begin(const char *doorbells)
{
	char why[256] = "", net[32];

	snprintf(net, sizeof(net), "test-%d", (int)getpid());
	setenv(BF_EXEC_ENV_NET, net, 1);
	setenv(BF_EXEC_ENV_DOORBELLS, doorbells, 1);
	ck_assert_msg(!bf_engine_start(&t.e, why, sizeof(why)), "%s", why);
	handle_faults();
	ck_assert_int_eq(bf_engine_open(t.e, 0, &t.f), 0);
	t.page = bf_engine_mmap(t.e, t.f, NULL, 4096, PROT_WRITE, MAP_SHARED, 0);
	ck_assert_ptr_ne(t.page, MAP_FAILED);
}

static inline void end(void)
{
	bf_engine_close(t.e, t.f);
	bf_engine_stop(t.e);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	munmap(t.page, 4096);
	free(t.e->pages);
	free(t.e);
	memset(&t, 0, sizeof(t));
}

/* Two queue pairs that are connected to each other; the first one sends. */
struct pair {
	struct rig_cq cq;
	struct rig_qp q[2];
};

static inline void open_pair(struct bf_uverbs_file *f, void *arg)
{
	const struct rig_qp_opts opts = {
		.log_sq = 7, .log_rq = 4, .log_stride = 0, .mtu = 5, .log_rd = 2, .timeout = 14
	};
	struct pair *p = arg;

	rig_cq_open(&f->node, &p->cq, 8, 0);
	rig_qp_open(&f->node, &p->q[0], &p->cq, &p->cq, &opts);
	rig_qp_open(&f->node, &p->q[1], &p->cq, &p->cq, &opts);
	rig_connect(&p->q[0], &p->q[1], &opts);
	rig_connect(&p->q[1], &p->q[0], &opts);
}

static inline uint64_t bell_of(const struct rig_qp *q)
{
	uint8_t bell[8];

	bf_put_be32(bell, (uint32_t)q->sq_pi << 8);
	bf_put_be32(bell + 4, q->qpn << 8);
	return bf_get_le64(bell);
}

/* A work request and its doorbell record. */
static inline void post(struct rig_qp *q, uint64_t from, uint64_t to, uint32_t len)
{
	rig_rdma(q, BF_MLX5_OP_RDMA_WRITE, from, t.f->node.data_va + to, t.f->node.key, len, CQE);
	__atomic_store_n((uint32_t *)(void *)(q->dbr + 4), bf_swap32(q->sq_pi), __ATOMIC_RELEASE);
}

static inline void ring(const struct rig_qp *q, uint32_t offset)
{
	*(volatile uint64_t *)(void *)(t.page + offset) = bell_of(q);
}

#endif
