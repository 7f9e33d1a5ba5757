/*
 * Stores that get a jump in their place: which do, what else of the program changes (nothing), and threads, forks and
 * other code that meets them. The code that is changed is made here, byte by byte.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "tests/tools/exec_engine_rig.h"

#ifdef __x86_64__

#define AFTER BF_PATCH_AFTER

/* A function: store(page, value, offset) in RDI, RSI, RDX. */
typedef void store_fn(void *page, uint64_t value, uint64_t offset);

#define BYTES(...) ((const uint8_t[]){ __VA_ARGS__ }), sizeof((const uint8_t[]){ __VA_ARGS__ })

#define MOV_4 0x48, 0x89, 0x34, 0x17          /* mov %rsi, (%rdi,%rdx) */
#define MOV_7 0x48, 0x89, 0xb7, 0, 0x08, 0, 0 /* mov %rsi, 0x800(%rdi) */
#define ADD_3 0x48, 0x01, 0xd7                /* add %rdx, %rdi */
#define MOV_3 0x48, 0x89, 0x37                /* mov %rsi, (%rdi) */
#define SFENCE 0x0f, 0xae, 0xf8
#define RET 0xc3

static uint8_t *code_page;

/* `want`: where it would like to be; 0: anywhere. */
static void write_code_at(uintptr_t want, const uint8_t *bytes, size_t len)
{
	if (!code_page)
		code_page = mmap((void *)want, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(code_page, MAP_FAILED);
	mprotect(code_page, 4096, PROT_READ | PROT_WRITE);
	memcpy(code_page, bytes, len);
	mprotect(code_page, 4096, PROT_READ | PROT_EXEC);
}

static void write_code(const uint8_t *bytes, size_t len)
{
	write_code_at(0, bytes, len);
}

static store_fn *at_code(size_t offset)
{
	union {
		uint8_t *data;
		store_fn *fn;
	} at = { .data = code_page + offset };

	return at.fn;
}

static uint32_t faults;

static void count_faults(int sig, siginfo_t *info, void *context)
{
	faults++;
	on_fault(sig, info, context);
}

static void begin_counting(void)
{
	struct sigaction a;

	begin("trap");
	sigaction(SIGSEGV, NULL, &a);
	a.sa_sigaction = count_faults;
	sigaction(SIGSEGV, &a, NULL);
	faults = 0;
}

/* Rings by `fn` for each of `n` writes, of which each is done when the store is. */
static void ring_by(store_fn *fn, struct pair *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bf_put_le32(t.f->node.data, i);
		post(&p->q[0], 0, 4096, 64);
		fn(t.page, bell_of(&p->q[0]), 0x800);
		ck_assert_ptr_nonnull(rig_poll(&p->cq));
		ck_assert_uint_eq(bf_get_le32(t.f->node.data + 4096), i);
	}
}

static const struct {
	const uint8_t *bytes;
	size_t len, site;
	uint32_t patches;
	uintptr_t at;
} shapes[] = {
	{ BYTES(MOV_4, SFENCE, RET), 0, 1, 0 },        { BYTES(MOV_7, RET), 0, 1, 0 },
	{ BYTES(ADD_3, MOV_3, SFENCE, RET), 3, 1, 0 }, { BYTES(0x3e, MOV_4, SFENCE, RET), 0, 0, 0 }, /* a prefix */
	{ BYTES(MOV_4, 0x90, RET), 0, 0, 512u << 20 }, /* the jump would lead to below 0 */
};

START_TEST(shapes_that_get_a_jump)
{
	struct pair p;
	const uint32_t n = AFTER + 100;

	write_code_at(shapes[_i].at, shapes[_i].bytes, shapes[_i].len);
	begin_counting();
	call(open_pair, &p);
	ring_by(at_code(0), &p, AFTER);
	ck_assert_uint_eq(faults, AFTER);
	ck_assert_uint_eq(t.e->count.patches, shapes[_i].patches);
	ck_assert_int_eq(code_page[shapes[_i].site] == 0xe9, shapes[_i].patches);
	ring_by(at_code(0), &p, n - AFTER);
	ck_assert_uint_eq(faults, shapes[_i].patches ? AFTER : n);
	ck_assert_uint_eq(t.e->count.stores, n);
	ck_assert_uint_eq(t.own, 0);
	end();
}
END_TEST

/* What follows a site is the end of its jump: it must stay. */
START_TEST(neighbours_keep_their_bytes)
{
	static const uint8_t code[] = { MOV_4, MOV_4, SFENCE, RET };
	struct pair p;

	write_code(code, sizeof(code));
	begin_counting();
	call(open_pair, &p);
	for (uint32_t i = 0; i < 2 * AFTER; i++) {
		post(&p.q[0], 0, 4096, 64);
		at_code(0)(t.page, bell_of(&p.q[0]), 0x800);
		ck_assert_ptr_nonnull(rig_poll(&p.cq));
	}
	ck_assert_uint_eq(t.e->count.patches, 1);
	ck_assert_int_eq(memcmp(code_page + 4, code + 4, sizeof(code) - 4), 0);
	ck_assert_uint_eq(t.e->count.stores, 4 * AFTER);
	end();
}
END_TEST

START_TEST(the_code_may_be_left_alone)
{
	static const uint8_t code[] = { MOV_4, SFENCE, RET };
	struct pair p;

	write_code(code, sizeof(code));
	setenv(BF_EXEC_ENV_NO_PATCH, "1", 1);
	begin_counting();
	unsetenv(BF_EXEC_ENV_NO_PATCH);
	call(open_pair, &p);
	ring_by(at_code(0), &p, 2 * AFTER);
	ck_assert_uint_eq(faults, 2 * AFTER);
	ck_assert_int_eq(memcmp(code_page, code, sizeof(code)), 0);
	end();
}
END_TEST

/* ---- what the program sees of it ---- */

struct machine {
	uint64_t gpr[15]; /* RAX RBX RCX RDX RSI RDI RBP R8 to R15 */
	uint64_t flags;
	uint8_t vector[16][64];
	uint64_t mask[8];
	uint64_t red_zone[16];
};

/* Loads all registers but RSP from `in`, calls `fn`, stores them to `out`. The red zone is that below fn's frame. */
void run_with(const struct machine *in, struct machine *out, store_fn *fn, uint64_t wide);

#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define LOAD(n) "vmovdqu64 (128 + 64 * " #n ")(%rax), %zmm" #n "\n\t"
#define STORE(n) "vmovdqu64 %zmm" #n ", (128 + 64 * " #n ")(%rax)\n\t"
#define LOAD_SSE(n) "movdqu (128 + 64 * " #n ")(%rax), %xmm" #n "\n\t"
#define STORE_SSE(n) "movdqu %xmm" #n ", (128 + 64 * " #n ")(%rax)\n\t"

__asm__("	.text\n"
	"run_with:\n\t"
	"pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n\t"
	"pushq %rsi; pushq %rdx; pushq %rcx\n\t"
	"movq %rdi, %rax; testq %rcx, %rcx; jz 1f\n\t" ALL(
	    LOAD) "vmovdqu64 128(%rax), %zmm31; kmovw 1152(%rax), %k1; jmp 2f\n"
		  "1:	" ALL(
		      LOAD_SSE) "\n2:	movq 1216(%rax), %rbx; movq %rbx, -136(%rsp)\n\t"
				"movq 1328(%rax), %rbx; movq %rbx, -32(%rsp)\n\t"
				"movq 8(%rax), %rbx; movq 16(%rax), %rcx; movq 24(%rax), %rdx; movq 32(%rax), %rsi\n\t"
				"movq 40(%rax), %rdi; movq 48(%rax), %rbp; movq 56(%rax), %r8; movq 64(%rax), %r9\n\t"
				"movq 72(%rax), %r10; movq 80(%rax), %r11; movq 88(%rax), %r12; movq 96(%rax), %r13\n\t"
				"movq 104(%rax), %r14; movq 112(%rax), %r15\n\t"
				"pushq 120(%rax); movq (%rax), %rax; popfq\n\t"
				"call *8(%rsp)\n\t"
				"pushfq; cld; pushq %rax; movq 32(%rsp), %rax\n\t"
				"movq %rbx, 8(%rax); movq %rcx, 16(%rax); movq %rdx, 24(%rax); movq %rsi, 32(%rax)\n\t"
				"movq %rdi, 40(%rax); movq %rbp, 48(%rax); movq %r8, 56(%rax); movq %r9, 64(%rax)\n\t"
				"movq %r10, 72(%rax); movq %r11, 80(%rax); movq %r12, 88(%rax); movq %r13, 96(%rax)\n\t"
				"movq %r14, 104(%rax); movq %r15, 112(%rax); popq (%rax); popq 120(%rax)\n\t"
				"movq -136(%rsp), %rbx; movq %rbx, 1216(%rax)\n\t"
				"movq -32(%rsp), %rbx; movq %rbx, 1328(%rax)\n\t"
				"cmpq $0, (%rsp); je 3f\n\t" ALL(
				    STORE) "vmovdqu64 %zmm31, 128(%rax); kmovw %k1, 1152(%rax); vzeroupper; jmp 4f\n"
					   "3:	" ALL(STORE_SSE) "\n4:	addq $24, %rsp; popq %r15; popq %r14; popq "
								 "%r13; popq %r12; popq %rbp; popq %rbx\n\t"
								 "ret\n");

/*
 * Registers, flags (also the direction flag, which calls expect clear), vectors and the red zone are what they were.
 */
START_TEST(the_program_keeps_all_its_state)
{
	static const uint8_t code[] = { MOV_4, SFENCE, RET };
	const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
	static struct machine in, out;
	struct pair p;
	uint8_t *bytes = (uint8_t *)&in;

	write_code(code, sizeof(code));
	begin_counting();
	call(open_pair, &p);
	for (uint32_t i = 0; i < AFTER + 50; i++) {
		for (size_t k = 0; k < sizeof(in); k++)
			bytes[k] = (uint8_t)(k * 31 + i * 7 + (k >> 6));
		post(&p.q[0], 0, 4096, 64);
		in.gpr[5] = (uintptr_t)t.page;
		in.gpr[4] = bell_of(&p.q[0]);
		in.gpr[3] = 0x800;
		in.flags = 0x202 | (i & 1 ? 0x8d5 : 0) | (i & 2 ? 0x400 : 0);
		in.mask[0] &= 0xffff;
		memset(&out, 0, sizeof(out));
		run_with(&in, &out, at_code(0), wide);
		ck_assert_ptr_nonnull(rig_poll(&p.cq));
		ck_assert_mem_eq(in.gpr, out.gpr, sizeof(in.gpr));
		ck_assert_uint_eq(in.flags, out.flags);
		for (uint32_t v = 0; v < 16; v++)
			ck_assert_mem_eq(in.vector[v], out.vector[v], wide ? 64 : 16);
		if (wide)
			ck_assert_uint_eq(in.mask[0], out.mask[0] & 0xffff);
		ck_assert_uint_eq(in.red_zone[0], out.red_zone[0]);
		ck_assert_uint_eq(in.red_zone[14], out.red_zone[14]);
	}
	ck_assert_uint_eq(t.e->count.patches, 1);
	ck_assert_uint_eq(faults, AFTER);
	end();
}
END_TEST

static uint8_t *gone;
static uint64_t seen_ip;

static void on_own(int sig, siginfo_t *info, void *context)
{
	if (bf_engine_fault(t.e, sig, info, context))
		return;
	seen_ip = bf_store_ip(context);
	mprotect(gone, 4096, PROT_READ | PROT_WRITE);
}

/* The same instruction stores to memory, and where it may not. */
START_TEST(other_stores_of_the_instruction_are_the_programs)
{
	static const uint8_t code[] = { MOV_4, SFENCE, RET };
	struct sigaction a;
	struct pair p;
	uint64_t memory[4] = { 0 };

	write_code(code, sizeof(code));
	begin_counting();
	call(open_pair, &p);
	ring_by(at_code(0), &p, AFTER);
	at_code(0)(memory, 0x1122334455667788, 8);
	ck_assert_uint_eq(memory[1], 0x1122334455667788);
	ck_assert_uint_eq(memory[0] | memory[2], 0);

	gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, NULL, &a);
	a.sa_sigaction = on_own;
	sigaction(SIGSEGV, &a, NULL);
	at_code(0)(gone, 77, 16);
	ck_assert_uint_eq(seen_ip, (uintptr_t)code_page);
	ck_assert_uint_eq(*(uint64_t *)(void *)(gone + 16), 77);
	munmap(gone, 4096);
	ck_assert_uint_eq(t.e->count.stores, AFTER);
	end();
}
END_TEST

/* Where a library was comes another one. */
START_TEST(code_that_replaces_a_site_is_met_as_new)
{
	static const uint8_t one[] = { MOV_4, SFENCE, RET }, other[] = { MOV_4, 0x90, 0x90, 0x90, 0x90, RET };
	struct pair p;

	write_code(one, sizeof(one));
	begin_counting();
	call(open_pair, &p);
	ring_by(at_code(0), &p, AFTER + 1);
	ck_assert_uint_eq(faults, AFTER);
	write_code(other, sizeof(other));
	ring_by(at_code(0), &p, 10);
	ck_assert_uint_eq(faults, AFTER + 10);
	write_code(one, sizeof(one));
	ring_by(at_code(0), &p, AFTER);
	ck_assert_uint_eq(code_page[0], 0xe9);
	ck_assert_uint_eq(t.e->count.stores, 2 * AFTER + 11);
	end();
}
END_TEST

static struct pair *inside_pair;

static void ring_inside(struct bf_uverbs_file *f, void *arg)
{
	(void)f, (void)arg;
	at_code(0)(t.page, bell_of(&inside_pair->q[0]), 0x800);
}

/* A handler's ring while its thread is in the engine. */
START_TEST(a_ring_from_inside_waits)
{
	static const uint8_t code[] = { MOV_4, SFENCE, RET };
	struct pair p;

	write_code(code, sizeof(code));
	begin_counting();
	call(open_pair, &p);
	ring_by(at_code(0), &p, AFTER);
	inside_pair = &p;
	post(&p.q[0], 0, 4096, 64);
	call(ring_inside, NULL);
	ck_assert_ptr_nonnull(rig_poll(&p.cq));
	ck_assert_uint_eq(t.e->count.late, 1);
	ck_assert_uint_eq(faults, AFTER);
	end();
}
END_TEST

/* ---- threads and processes ---- */

#define THREADS 4
#define EACH 3000u
static pthread_barrier_t together;

static void *ring_a_lot(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	for (uint32_t i = 0; i < EACH; i++)
		at_code(0)(t.page, 0, 0x100 + i % 64 * 8); /* no doorbell: it only counts */
	return NULL;
}

/* All come to the site while it changes. */
START_TEST(threads_meet_the_change)
{
	static const uint8_t code[] = { MOV_4, SFENCE, RET };
	pthread_t threads[THREADS];

	write_code(code, sizeof(code));
	begin_counting();
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ring_a_lot, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(t.e->count.stores, THREADS * EACH);
	ck_assert_uint_eq(t.e->count.patches, 1);
	ck_assert_uint_lt(faults, 2 * AFTER);
	ck_assert_uint_eq(t.own, 0);
	end();
}
END_TEST

/* The jump is in the child's code as well; the device is not there. */
START_TEST(a_child_has_no_page_to_store_to)
{
	static const uint8_t code[] = { MOV_4, SFENCE, RET };
	struct pair p;
	int status = 0;
	pid_t child;

	write_code(code, sizeof(code));
	begin_counting();
	call(open_pair, &p);
	ring_by(at_code(0), &p, AFTER);
	child = fork();
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		if (_i)
			bf_engine_forked(t.e); /* else a fork() that the C library does not know of */
		at_code(0)(t.page, 0, 0x800);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	ring_by(at_code(0), &p, 3);
	ck_assert_uint_eq(t.e->count.stores, AFTER + 3);
	end();
}
END_TEST

#endif

int main(void)
{
	Suite *s = suite_create("exec_patch");
	TCase *tc = tcase_create("exec_patch");
	SRunner *sr;
	int failed;

#ifdef __x86_64__
	tcase_add_loop_test(tc, shapes_that_get_a_jump, 0, (int)(sizeof(shapes) / sizeof(shapes[0])));
	tcase_add_test(tc, neighbours_keep_their_bytes);
	tcase_add_test(tc, the_code_may_be_left_alone);
	tcase_add_test(tc, the_program_keeps_all_its_state);
	tcase_add_test(tc, other_stores_of_the_instruction_are_the_programs);
	tcase_add_test(tc, code_that_replaces_a_site_is_met_as_new);
	tcase_add_test(tc, a_ring_from_inside_waits);
	tcase_add_test(tc, threads_meet_the_change);
	tcase_add_loop_test(tc, a_child_has_no_page_to_store_to, 0, 2);
#endif
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
