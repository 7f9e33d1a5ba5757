/*
 * The engine inside a program, this one: stores to doorbell pages that fault and stores that are looked for, from
 * several threads, from inside the engine and after its end; memory that goes away; fork.
 */
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "tests/tools/exec_engine_rig.h"
#include "traces/import/capture.h"
#include "traces/container/trace.h"

#define WRITES 2000u

/* Waits for a completion, as a program does: it looks at memory. */
static void wait_for_cqe(struct rig_cq *cq)
{
	const struct bf_mlx5_cqe *c;

	for (;;) {
		__asm__ volatile("" ::: "memory");
		c = rig_poll(cq);
		if (c)
			break;
		usleep(1);
	}
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ);
}

static void count_doorbells(struct bf_uverbs_file *f, void *arg)
{
	struct bf_mlx5_qp_info info;
	uint32_t *qpn_and_count = arg;

	RIG_MUST(!bf_mlx5_qp_info(f->node.dev, *qpn_and_count, &info));
	*qpn_and_count = info.doorbells;
}

START_TEST(a_store_that_faults_is_carried_out_before_it_returns)
{
	struct pair p;
	uint32_t bells;

	begin("trap");
	call(open_pair, &p);
	for (uint32_t i = 0; i < WRITES; i++) {
		bf_put_le32(t.f->node.data, i);
		post(&p.q[0], 0, 4096, 64);
		ring(&p.q[0], 0x800 + i % 2 * 0x100);
		ck_assert_ptr_nonnull(rig_poll(&p.cq)); /* nothing takes time, so the completion is here already */
		ck_assert_uint_eq(bf_get_le32(t.f->node.data + 4096), i);
	}
	bells = p.q[0].qpn;
	call(count_doorbells, &bells);
	ck_assert_uint_eq(bells, WRITES);
	ck_assert_uint_eq(t.e->count.stores, WRITES);
	ck_assert_uint_eq(t.e->count.steps, 0);
	ck_assert_uint_eq(t.own, 0);
	end();
}
END_TEST

/* x87 stores are in no table: FISTP m64 stores any 64 bits as they are. */
START_TEST(an_unknown_store_runs_by_itself)
{
	struct pair p;

	begin("trap");
	call(open_pair, &p);
#ifdef __x86_64__
	for (uint32_t i = 0; i < 100; i++) {
		int64_t bell;

		post(&p.q[0], 0, 4096, 64);
		bell = (int64_t)bell_of(&p.q[0]);
		__asm__ volatile("fildll %1\n\tfistpll %0" : "=m"(*(int64_t *)(void *)(t.page + 0x800)) : "m"(bell));
		ck_assert_ptr_nonnull(rig_poll(&p.cq));
	}
	ck_assert_uint_eq(t.e->count.steps, 100);
	ck_assert_uint_eq(t.e->count.stores, 100);
	/* And a load of that kind reads zeros. */
	{
		int64_t value = 77, got = 0;

		__asm__ volatile("fildll %1\n\tfistpll %0" : "=m"(got) : "m"(*(int64_t *)(void *)(t.page + 0x800)));
		value = got;
		ck_assert_int_eq(value, 0);
	}
#endif
	ck_assert_uint_eq(*(volatile uint32_t *)(void *)(t.page + 0x100), 0);
	end();
}
END_TEST

/* A program's own handlers may have a small stack; ours runs on it as well. */
START_TEST(handlers_may_have_a_small_stack)
{
	const size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 8192;
	const size_t mapped = (size + 4095) & ~4095ul;
	uint8_t *stack = mmap(NULL, mapped + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t small = { .ss_sp = stack + 4096, .ss_size = mapped }, none = { .ss_flags = SS_DISABLE };
	struct pair p;

	mprotect(stack, 4096, PROT_NONE);
	begin("trap");
	on_alternate_stack = true;
	handle_faults();
	call(open_pair, &p);
	ck_assert_int_eq(sigaltstack(&small, NULL), 0);
	for (uint32_t i = 0; i < 100; i++) {
		if (i == 50)
			munmap(t.f->node.data, 4096); /* a fault on top of it */
		post(&p.q[0], 0, 8192, 64);
		ring(&p.q[0], 0x800);
		ck_assert_ptr_nonnull(rig_poll(&p.cq));
	}
	sigaltstack(&none, NULL);
	ck_assert_uint_eq(t.e->count.missing, 1);
	end();
	on_alternate_stack = false;
	munmap(stack, mapped + 4096);
}
END_TEST

START_TEST(stores_are_looked_for)
{
	struct pair p;

	begin("poll");
	call(open_pair, &p);
	for (uint32_t i = 0; i < WRITES; i++) {
		post(&p.q[0], 0, 4096, 64);
		ring(&p.q[0], 0x800);
		wait_for_cqe(&p.cq);
	}
	end();
}
END_TEST

static void hold(struct bf_uverbs_file *f, void *arg)
{
	struct pair *p = arg;

	(void)f; /* nobody looks at the page now: the second ring replaces the first */
	for (uint32_t i = 0; i < 2; i++)
		ring(&p[i].q[0], 0x800);
}

static void expect_cqe(struct bf_uverbs_file *f, void *arg)
{
	struct pair *p = arg;

	(void)f;
	RIG_MUST(rig_poll(&p->cq) != NULL);
}

/* What rang before a call is done when the kernel's half sees it, although the engine's thread sleeps. */
START_TEST(rings_are_before_calls)
{
	struct pair p;

	setenv(BF_EXEC_ENV_IDLE, "100000", 1);
	begin("poll");
	call(open_pair, &p);
	for (uint32_t i = 0; i < 20; i++) {
		usleep(1000);
		post(&p.q[0], 0, 4096, 64);
		ring(&p.q[0], 0x800);
		call(expect_cqe, &p);
	}
	unsetenv(BF_EXEC_ENV_IDLE);
	end();
}
END_TEST

/* A timer that sets itself anew, as time-outs do until their retries are used up. */
struct chain {
	struct bf_event ev;
	struct bf_sim *sim;
	uint32_t fired;
};

static void fire_again(struct bf_event *ev)
{
	struct chain *c = BF_CONTAINER_OF(ev, struct chain, ev);

	c->fired++;
	bf_sim_after(c->sim, ev, 5 * BF_MS);
}

/* The second is not over because the process slept through the first: whoever was to answer had no time. */
START_TEST(timers_that_follow_each_other_do_not_fire_at_once)
{
	struct chain c = { 0 };

	begin("trap");
	bf_event_init(&c.ev, fire_again);
	ck_assert(bf_engine_lock(t.e));
	c.sim = t.e->sim;
	bf_sim_after(c.sim, &c.ev, BF_MS);
	usleep(50000);
	bf_engine_catch_up(t.e);
	ck_assert_uint_eq(c.fired, 1);
	ck_assert_uint_ge(bf_sim_next(c.sim), c.sim->now_ps + 5 * BF_MS);
	bf_sim_cancel(c.sim, &c.ev);
	bf_engine_unlock(t.e);
	end();
}
END_TEST

/* A thread that looks again and again takes its rings along, although the engine's thread sleeps. */
START_TEST(who_polls_takes_rings_along)
{
	struct pair p;

	setenv(BF_EXEC_ENV_IDLE, "100000", 1);
	begin("poll");
	call(open_pair, &p);
	post(&p.q[0], 0, 4096, 64);
	ring(&p.q[0], 0x800);
	call(expect_cqe, &p); /* that cell is known from now on */
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t looks = 0;

		usleep(1000);
		post(&p.q[0], 0, 4096, 64);
		ring(&p.q[0], 0x800);
		while (!rig_poll(&p.cq) && looks++ < 1000)
			bf_engine_glance(t.e);
		ck_assert_uint_lt(looks, 1000);
	}
	unsetenv(BF_EXEC_ENV_IDLE);
	end();
}
END_TEST

START_TEST(of_two_rings_in_one_cell_none_is_lost)
{
	struct pair p[2];

	begin("poll");
	call(open_pair, &p[0]);
	call(open_pair, &p[1]);
	for (uint32_t i = 0; i < 100; i++) {
		post(&p[0].q[0], 0, 4096, 64);
		post(&p[1].q[0], 0, 8192, 64);
		call(hold, p);
		wait_for_cqe(&p[0].cq);
		wait_for_cqe(&p[1].cq);
	}
	end();
}
END_TEST

/* What QUERY_CQ says of its arming; the states are those of cmd_cq.c. */
enum { CQ_SOLICITED = 6, CQ_ARMED = 9 };

static void query_arming(struct bf_uverbs_file *f, void *arg)
{
	uint8_t in[16] = { 0 }, out[16 + BF_CQC_LEN];
	uint32_t *cqn_and_state = arg;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_CQ);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, *cqn_and_state);
	RIG_MUST(!rig_cmd(&f->node, in, sizeof(in), out, sizeof(out)));
	*cqn_and_state = BF_MLX5_GET(out + 16, BF_CQC_ST);
}

/* Arms: the record, then the cell that all CQs of the page share. */
static void arm(const struct rig_cq *cq, uint32_t word)
{
	uint8_t bell[8];

	bf_put_be32(cq->dbr + 4, word);
	bf_put_be32(bell, word);
	bf_put_be32(bell + 4, cq->cqn);
	*(volatile uint64_t *)(void *)(t.page + BF_MLX5_UAR_CQ_ARM) = bf_get_le64(bell);
}

static void arm_both(struct bf_uverbs_file *f, void *arg)
{
	const struct pair *p = arg;

	(void)f; /* nobody looks meanwhile: the second replaces the first */
	arm(&p[0].cq, 1u << 28 | 1u << 24);
	arm(&p[1].cq, 0);
}

START_TEST(of_two_armings_in_one_cell_none_is_lost)
{
	uint32_t state[2];
	struct pair p[2];

	begin("direct");
	call(open_pair, &p[0]);
	call(open_pair, &p[1]);
	call(arm_both, p);
	bf_engine_ring(t.e);
	for (uint32_t i = 0; i < 2; i++) {
		state[i] = p[i].cq.cqn;
		call(query_arming, &state[i]);
	}
	ck_assert_uint_eq(state[0], CQ_SOLICITED);
	ck_assert_uint_eq(state[1], CQ_ARMED);
	end();
}
END_TEST

START_TEST(a_program_says_when_it_rang)
{
	struct pair p;

	begin("direct");
	call(open_pair, &p);
	post(&p.q[0], 0, 4096, 64);
	ring(&p.q[0], 0x800);
	usleep(2000);
	ck_assert_ptr_null(rig_poll(&p.cq));
	bf_engine_ring(t.e);
	ck_assert_ptr_nonnull(rig_poll(&p.cq));
	end();
}
END_TEST

static void *write_many(void *arg)
{
	struct pair *p = arg;

	for (uint32_t i = 0; i < WRITES; i++) {
		post(&p->q[0], 0, 4096, 64);
		ring(&p->q[0], 0x800);
		wait_for_cqe(&p->cq);
	}
	return NULL;
}

START_TEST(threads_ring_at_the_same_time)
{
	struct pair p[4];
	pthread_t thread[4];

	begin(_i ? "poll" : "trap");
	for (uint32_t i = 0; i < 4; i++)
		call(open_pair, &p[i]);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, write_many, &p[i]), 0);
	for (uint32_t i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	if (!_i)
		ck_assert_uint_eq(t.e->count.stores, 4 * WRITES);
	end();
}
END_TEST

static void ring_inside(struct bf_uverbs_file *f, void *arg)
{
	struct pair *p = arg;

	(void)f;
	ring(&p->q[0], 0x800);
	RIG_MUST(!rig_poll(&p->cq)); /* not yet: this thread is still in here */
}

static struct pair *of_handler;

static void on_usr1(int sig)
{
	(void)sig;
	ring(&of_handler->q[0], 0x800);
}

static void raise_inside(struct bf_uverbs_file *f, void *arg)
{
	(void)f, (void)arg;
	raise(SIGUSR1);
	RIG_MUST(!rig_poll(&of_handler->cq));
}

START_TEST(a_ring_from_inside_waits_until_the_thread_leaves)
{
	struct pair p;

	begin("trap");
	call(open_pair, &p);
	post(&p.q[0], 0, 4096, 64);
	call(ring_inside, &p);
	ck_assert_ptr_nonnull(rig_poll(&p.cq));
	ck_assert_uint_eq(t.e->count.late, 1);

	of_handler = &p;
	signal(SIGUSR1, on_usr1);
	post(&p.q[0], 0, 4096, 64);
	call(raise_inside, NULL);
	ck_assert_ptr_nonnull(rig_poll(&p.cq));
	ck_assert_uint_eq(t.e->count.late, 1); /* the signal itself had waited */
	signal(SIGUSR1, SIG_DFL);
	end();
}
END_TEST

START_TEST(memory_that_is_gone_reads_as_zeros)
{
	uint8_t *data;
	struct pair p;

	begin("trap");
	call(open_pair, &p);
	data = t.f->node.data;
	memset(data, 0xaa, 8 * 4096);
	ck_assert_int_eq(munmap(data, 4096), 0);
	ck_assert_int_eq(mprotect(data + 4 * 4096, 4096, PROT_READ), 0);
	post(&p.q[0], 0, 8192, 64);
	ring(&p.q[0], 0x800);
	wait_for_cqe(&p.cq);
	ck_assert_uint_eq(data[8192], 0);
	post(&p.q[0], 12288, 4 * 4096, 64);
	ring(&p.q[0], 0x800);
	wait_for_cqe(&p.cq);
	ck_assert_uint_eq(data[4 * 4096], 0xaa);
	ck_assert_uint_eq(t.e->count.missing, 2);
	end();
}
END_TEST

START_TEST(a_fault_of_the_program_is_its_own)
{
	uint8_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin("trap");
	*(volatile uint8_t *)gone = 1; /* the handler below makes it accessible */
	ck_assert_uint_eq(t.own, 1);
	ck_assert_uint_eq(t.e->count.stores + t.e->count.missing, 0);
	munmap(gone, 4096);
	end();
}
END_TEST

START_TEST(in_a_child_the_device_is_dead)
{
	struct bf_uverbs_file *f;
	struct pair p;
	int status = 0;
	pid_t child;

	begin("trap");
	call(open_pair, &p);
	child = fork();
	if (!child) {
		struct call c = { open_pair, &p };

		bf_engine_forked(t.e);
		if (bf_engine_open(t.e, 0, &f) != -EIO || bf_engine_ioctl(t.e, t.f, 0, (uintptr_t)&c) != -EIO ||
		    bf_engine_write(t.e, t.f, 0, 8) != -EIO)
			_exit(1);
		if (bf_engine_mmap(t.e, t.f, NULL, 4096, PROT_WRITE, MAP_SHARED, 0) != MAP_FAILED || errno != EIO)
			_exit(2);
		bf_engine_stop(t.e);
		_exit(42);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	post(&p.q[0], 0, 4096, 64); /* the parent goes on */
	ring(&p.q[0], 0x800);
	ck_assert_ptr_nonnull(rig_poll(&p.cq));
	end();
}
END_TEST

static atomic_bool enough;

static void *ring_on(void *arg)
{
	while (!enough)
		ring(arg, 0x800);
	return NULL;
}

START_TEST(threads_may_still_run_at_the_end)
{
	const struct rdma_ucm_cmd_hdr event = { .cmd = RDMA_USER_CM_CMD_GET_EVENT },
				      id = { .cmd = RDMA_USER_CM_CMD_CREATE_ID };
	struct pair p;
	pthread_t thread;

	begin("trap");
	call(open_pair, &p);
	enough = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, ring_on, &p.q[0]), 0);
	usleep(2000);
	bf_engine_stop(t.e);
	usleep(2000);
	enough = true;
	pthread_join(thread, NULL);
	ck_assert_uint_eq(t.own, 0);
	ck_assert_int_eq(bf_engine_write(t.e, t.f, 0, 8), -EIO);
	/* No event will come any more; who waits for one waits until the process is gone. */
	ck_assert_int_eq(bf_engine_cm_write(t.e, NULL, (uintptr_t)&event, sizeof(event)), -EAGAIN);
	ck_assert_int_eq(bf_engine_cm_write(t.e, NULL, (uintptr_t)&event, sizeof(event) - 1), -EIO);
	ck_assert_int_eq(bf_engine_cm_write(t.e, NULL, (uintptr_t)&id, sizeof(id)), -EIO);
	ck_assert_int_eq(bf_engine_cm_write(t.e, NULL, 8, sizeof(event)), -EIO);
	bf_uverbs_close(t.f);
	signal(SIGSEGV, SIG_DFL);
	free(t.e->pages);
	free(t.e);
	memset(&t, 0, sizeof(t));
}
END_TEST

START_TEST(pages_go_where_the_program_wants_them)
{
	uint8_t *place = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pair p;
	uint8_t *first;

	begin("trap");
	call(open_pair, &p);
	first = t.page;
	t.page = bf_engine_mmap(t.e, t.f, place + 4096, 4096, PROT_WRITE, MAP_SHARED | MAP_FIXED, 0);
	ck_assert_ptr_eq(t.page, place + 4096);
	for (uint32_t i = 0; i < 2; i++) { /* both lead to the device */
		post(&p.q[0], 0, 4096, 64);
		ring(&p.q[0], 0x800);
		ck_assert_ptr_nonnull(rig_poll(&p.cq));
		t.page = first;
	}
	ck_assert_ptr_eq(bf_engine_mmap(t.e, t.f, NULL, 8192, PROT_WRITE, MAP_SHARED, 0), MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);
	munmap(place, 3 * 4096);
	end();
}
END_TEST

START_TEST(a_page_to_read)
{
	uint8_t *at;

	begin("trap");
	at = bf_engine_mmap(t.e, t.f, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, BF_UVERBS_PAGE);
	ck_assert_ptr_eq(at, MAP_FAILED);
	ck_assert_int_eq(errno, EPERM);
	at = bf_engine_mmap(t.e, t.f, NULL, 4096, PROT_READ, MAP_SHARED, BF_UVERBS_PAGE);
	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_str_eq((char *)at, "tick");
	ck_assert_ptr_null(bf_engine_page_find(t.e, (uintptr_t)at)); /* no doorbells */
	munmap(at, 4096);
	end();
}
END_TEST

START_TEST(memory_of_the_program_is_looked_at_with_care)
{
	uint8_t *two = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct bf_uverbs_host *h;
	uint8_t bytes[16];

	mprotect(two + 4096, 4096, PROT_NONE);
	begin("trap");
	h = &t.f->u->opts.host;
	ck_assert_int_eq(bf_engine_write(t.e, t.f, (uintptr_t)two, 16), 16);
	ck_assert_int_eq(bf_engine_write(t.e, t.f, (uintptr_t)two + 4088, 16), -EFAULT);
	ck_assert_int_eq(bf_engine_write(t.e, t.f, 8, 16), -EFAULT);
	ck_assert_int_eq(h->copy_out(h->arg, (uintptr_t)two + 4090, bytes, 16), -EFAULT);
	ck_assert_int_eq(h->pin(h->arg, (uintptr_t)two, 4096, true), 0);
	ck_assert_int_eq(h->pin(h->arg, (uintptr_t)two, 4097, true), -EFAULT);
	mprotect(two, 4096, PROT_READ);
	ck_assert_int_eq(h->pin(h->arg, (uintptr_t)two + 5, 16, false), 0);
	ck_assert_int_eq(h->pin(h->arg, (uintptr_t)two + 5, 16, true), -EFAULT);
	ck_assert_int_eq(h->pin(h->arg, UINT64_MAX - 4, 16, false), -EFAULT);
	munmap(two, 2 * 4096);
	end();
}
END_TEST

START_TEST(the_trace_has_every_store)
{
	char path[] = "/tmp/belfry-exec-XXXXXX";
	uint32_t stores = 0, bells = 0, starts = 0, images = 0;
	uint32_t events[BF_CAPTURE_KINDS] = { 0 };
	struct bf_capture *capture;
	uint64_t base[64], size[64];
	struct bf_trace_record rec;
	struct bf_trace *trace;
	struct pair p;
	int fd = mkstemp(path), rc;

	ck_assert_int_ge(fd, 0);
	close(fd);
	setenv(BF_EXEC_ENV_TRACE, path, 1);
	begin("trap");
	unsetenv(BF_EXEC_ENV_TRACE);
	call(open_pair, &p);
	for (uint32_t i = 0; i < 50; i++) {
		post(&p.q[0], 0, 4096, 64);
		ring(&p.q[0], 0x800);
		wait_for_cqe(&p.cq);
	}
	end();
	ck_assert_int_eq(bf_trace_open(path, NULL, &trace, NULL), 0);
	while ((rc = bf_trace_next(trace, &rec)) == 1) {
		uint64_t ip = 0;

		starts += !strcmp(rec.type->name, "exec_start");
		bells += !strcmp(rec.type->name, "doorbell");
		if (!strcmp(rec.type->name, "exec_image") && images < 64) {
			ck_assert(bf_trace_field_u64(&rec, "base", &base[images]));
			ck_assert(bf_trace_field_u64(&rec, "size", &size[images]));
			images++;
		}
		if (strcmp(rec.type->name, "exec_store"))
			continue;
		stores++;
		ck_assert(bf_trace_field_u64(&rec, "ip", &ip));
		ck_assert_uint_lt(ip - base[0], size[0]); /* this very program, which is the first */
		ck_assert_uint_eq(rec.tail_len, 8);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(starts, 1);
	ck_assert_uint_eq(bells, 50);
	ck_assert_uint_eq(stores, 50);
	bf_trace_close(trace);
	/* And is what a recorder beside a device would have written. */
	ck_assert_int_eq(bf_capture_load(path, &capture, NULL), 0);
	for (size_t i = 0; i < capture->count; i++)
		events[capture->events[i].kind]++;
	ck_assert_uint_eq(events[BF_CAPTURE_QP], 2);
	ck_assert_uint_eq(events[BF_CAPTURE_DOORBELL], 50);
	ck_assert_uint_eq(events[BF_CAPTURE_WQE], 50);
	ck_assert_uint_eq(events[BF_CAPTURE_CQE], 50);
	bf_capture_free(capture);
	unlink(path);
}
END_TEST

static const struct {
	const char *name, *value;
} wrong[] = {
	{ BF_EXEC_ENV_DOORBELLS, "loud" },
	{ BF_EXEC_ENV_BLUEFLAME, "2" },
	{ BF_EXEC_ENV_DEVICES, "0" },
	{ BF_EXEC_ENV_DEVICES, "9" },
	{ BF_EXEC_ENV_SEED, "-1" },
	{ BF_EXEC_ENV_IDLE, "1x" },
	{ BF_EXEC_ENV_UDP, "localhost" },
	{ BF_EXEC_ENV_UDP, "1.2.3.4:0" },
	{ BF_EXEC_ENV_ABI, "old" },
	{ BF_EXEC_ENV_FAULTS, "drop somehow" },
	{ BF_EXEC_ENV_TRACE, "/nowhere/at/all" },
};

START_TEST(what_makes_no_sense_is_refused)
{
	struct bf_engine *e;
	char why[256] = "";

	setenv(wrong[_i].name, wrong[_i].value, 1);
	ck_assert_int_lt(bf_engine_start(&e, why, sizeof(why)), 0);
	ck_assert_ptr_null(e);
	ck_assert_str_ne(why, "");
	unsetenv(wrong[_i].name);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("exec_engine");
	TCase *tc = tcase_create("engine");
	SRunner *runner = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, a_store_that_faults_is_carried_out_before_it_returns);
	tcase_add_test(tc, an_unknown_store_runs_by_itself);
	tcase_add_test(tc, handlers_may_have_a_small_stack);
	tcase_add_test(tc, stores_are_looked_for);
	tcase_add_test(tc, rings_are_before_calls);
	tcase_add_test(tc, timers_that_follow_each_other_do_not_fire_at_once);
	tcase_add_test(tc, who_polls_takes_rings_along);
	tcase_add_test(tc, of_two_rings_in_one_cell_none_is_lost);
	tcase_add_test(tc, of_two_armings_in_one_cell_none_is_lost);
	tcase_add_test(tc, a_program_says_when_it_rang);
	tcase_add_loop_test(tc, threads_ring_at_the_same_time, 0, 2);
	tcase_add_test(tc, a_ring_from_inside_waits_until_the_thread_leaves);
	tcase_add_test(tc, memory_that_is_gone_reads_as_zeros);
	tcase_add_test(tc, a_fault_of_the_program_is_its_own);
	tcase_add_test(tc, in_a_child_the_device_is_dead);
	tcase_add_test(tc, threads_may_still_run_at_the_end);
	tcase_add_test(tc, pages_go_where_the_program_wants_them);
	tcase_add_test(tc, a_page_to_read);
	tcase_add_test(tc, memory_of_the_program_is_looked_at_with_care);
	tcase_add_test(tc, the_trace_has_every_store);
	tcase_add_loop_test(tc, what_makes_no_sense_is_refused, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
