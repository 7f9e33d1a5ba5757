/*
 * A program that knows nothing of Belfry: libibverbs and a device, as on any machine with RDMA. test_exec.sh runs it
 * under `belfry exec`. Each argument names something to do; what it found is printed, and the first thing that is not
 * as on hardware ends it with exit code 1.
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES 65536u
#define HALF (BYTES / 2)
#define DEPTH 64u
#define WAIT_MS 20000 /* for what takes microseconds: a busy machine is no failure */

/* Two queue pairs of one device that talk to each other. */
struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	uint8_t *memory; /* first half of 0, second half of 1 */
	bool events;
};

static void need(bool good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return;
	va_start(ap, fmt);
	printf("FAILED ");
	vprintf(fmt, ap);
	printf(" (errno %d, %s)\n", errno, strerror(errno));
	va_end(ap);
	exit(1);
}

/* ---- making ---- */

static struct ibv_context *open_first(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *context;

	need(list && n > 0, "there is no device");
	context = ibv_open_device(list[0]);
	need(context != NULL, "the device cannot be opened");
	ibv_free_device_list(list);
	return context;
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};

	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
}

static void connect_to(struct pair *p, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	need(!ibv_query_gid(p->context, 1, 1, &a.ah_attr.grh.dgid), "the port has no GID 1");
	need(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4
	};
	need(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void make(struct pair *p)
{
	p->context = open_first();
	p->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(p->memory != MAP_FAILED, "no memory");
	p->pd = ibv_alloc_pd(p->context);
	need(p->pd != NULL, "PD");
	p->mr = ibv_reg_mr(p->pd, p->memory, BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			       IBV_ACCESS_REMOTE_ATOMIC);
	need(p->mr != NULL, "MR");
	p->channel = ibv_create_comp_channel(p->context);
	need(p->channel != NULL, "completion channel");
	p->cq = ibv_create_cq(p->context, 2 * DEPTH, p, p->channel, 0);
	need(p->cq != NULL, "CQ");
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr a = {
			.send_cq = p->cq,
			.recv_cq = p->cq,
			.qp_type = IBV_QPT_RC,
			.sq_sig_all = 1,
			.cap = { DEPTH, DEPTH, 2, 2, 128 },
		};

		p->qp[i] = ibv_create_qp(p->pd, &a);
		need(p->qp[i] != NULL, "QP");
		to_init(p->qp[i]);
	}
	for (int i = 0; i < 2; i++)
		connect_to(p, p->qp[i], p->qp[!i]->qp_num);
}

static void unmake(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		need(!ibv_destroy_qp(p->qp[i]), "QP is not destroyed");
	need(!ibv_destroy_cq(p->cq), "CQ is not destroyed");
	need(!ibv_destroy_comp_channel(p->channel), "channel is not destroyed");
	need(!ibv_dereg_mr(p->mr), "MR is not given back");
	need(!ibv_dealloc_pd(p->pd), "PD is not given back");
	need(!ibv_close_device(p->context), "device is not closed");
	munmap(p->memory, BYTES);
}

/* ---- working ---- */

static void wait_event(struct pair *p)
{
	struct pollfd fd = { .fd = p->channel->fd, .events = POLLIN };
	struct ibv_cq *cq = NULL;
	void *owner = NULL;

	need(poll(&fd, 1, WAIT_MS) == 1, "no completion event");
	need(!ibv_get_cq_event(p->channel, &cq, &owner) && cq == p->cq && owner == p, "a wrong completion event");
	ibv_ack_cq_events(cq, 1);
}

static struct ibv_wc next_completion(struct pair *p)
{
	struct ibv_wc wc;

	for (int ms = 0;; ms++) {
		int n;

		for (int i = 0; i < 1000; i++) {
			n = ibv_poll_cq(p->cq, 1, &wc);
			need(n >= 0, "the CQ cannot be polled");
			if (n)
				return wc;
			if (p->events) {
				need(!ibv_req_notify_cq(p->cq, 0), "CQ is not armed");
				if (ibv_poll_cq(p->cq, 1, &wc) == 1)
					return wc;
				wait_event(p);
			}
		}
		need(ms < WAIT_MS, "no completion");
		usleep(1000);
	}
}

static void expect(struct pair *p, uint64_t id, enum ibv_wc_status status)
{
	const struct ibv_wc wc = next_completion(p);

	need(wc.wr_id == id && wc.status == status,
	     "completion %" PRIu64 " with %s (vendor 0x%x), not %" PRIu64 " with %s", wc.wr_id,
	     ibv_wc_status_str(wc.status), wc.vendor_err, id, ibv_wc_status_str(status));
}

static void post(struct pair *p, int from, struct ibv_send_wr *wr, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)p->memory + (from ? HALF : 0) + at, len, p->mr->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	need(!ibv_post_send(p->qp[from], wr, &bad), "a request is not taken");
}

static void do_write(struct pair *p)
{
	for (uint32_t i = 0; i < 200; i++) {
		struct ibv_send_wr wr = { .wr_id = i, .opcode = IBV_WR_RDMA_WRITE };

		wr.wr.rdma.remote_addr = (uintptr_t)p->memory + HALF + 8 * i;
		wr.wr.rdma.rkey = p->mr->rkey;
		wr.send_flags = i & 1 ? IBV_SEND_INLINE : 0;
		memset(p->memory, (int)i, 64);
		post(p, 0, &wr, 0, 64);
		expect(p, i, IBV_WC_SUCCESS);
		need(!memcmp(p->memory, p->memory + HALF + 8 * i, 64), "write %" PRIu32 " wrote something else", i);
	}
}

static void do_read(struct pair *p)
{
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_RDMA_READ };

	for (uint32_t i = 0; i < 9000; i++)
		p->memory[HALF + i] = (uint8_t)(i * 7);
	wr.wr.rdma.remote_addr = (uintptr_t)p->memory + HALF;
	wr.wr.rdma.rkey = p->mr->rkey;
	post(p, 0, &wr, 0, 9000);
	expect(p, 7, IBV_WC_SUCCESS);
	need(!memcmp(p->memory, p->memory + HALF, 9000), "read something else");
}

static void do_send(struct pair *p)
{
	struct ibv_sge sge = { (uintptr_t)p->memory + HALF, 4096, p->mr->lkey };
	struct ibv_recv_wr rr = { .wr_id = 100, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .wr_id = 8, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(0x1234) };
	unsigned seen = 0;

	need(!ibv_post_recv(p->qp[1], &rr, &bad), "a receive request is not taken");
	memset(p->memory, 0x5a, 3000);
	memset(p->memory + HALF, 0, 4096);
	post(p, 0, &wr, 0, 3000);
	for (int i = 0; i < 2; i++) {
		const struct ibv_wc wc = next_completion(p);

		need(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
		seen |= wc.wr_id == 8 ? 1 : 0;
		if (wc.wr_id == 100)
			seen |=
			    wc.byte_len == 3000 && wc.imm_data == htobe32(0x1234) && wc.opcode == IBV_WC_RECV ? 2 : 0;
	}
	need(seen == 3 && p->memory[HALF + 2999] == 0x5a && !p->memory[HALF + 3000], "send and receive do not fit");
}

static void do_atomic(struct pair *p)
{
	volatile uint64_t *to = (uint64_t *)(void *)(p->memory + HALF), *got = (uint64_t *)(void *)p->memory;
	struct ibv_send_wr wr = { .wr_id = 9, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	*to = 40;
	wr.wr.atomic.remote_addr = (uintptr_t)to;
	wr.wr.atomic.rkey = p->mr->rkey;
	wr.wr.atomic.compare_add = 2;
	post(p, 0, &wr, 0, 8);
	expect(p, 9, IBV_WC_SUCCESS);
	need(*to == 42 && *got == 40, "fetch-and-add gave %" PRIu64 " and left %" PRIu64, *got, *to);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 7;
	post(p, 0, &wr, 0, 8);
	expect(p, 9, IBV_WC_SUCCESS);
	need(*to == 7 && *got == 42, "compare-and-swap gave %" PRIu64 " and left %" PRIu64, *got, *to);
}

/* The queue pair is in error afterwards: the last thing that a pair does. */
static void do_wrong_key(struct pair *p)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;

	for (uint32_t i = 0; i < 3; i++) {
		struct ibv_send_wr wr = { .wr_id = i, .opcode = IBV_WR_RDMA_WRITE };

		wr.wr.rdma.remote_addr = (uintptr_t)p->memory + HALF;
		wr.wr.rdma.rkey = p->mr->rkey ^ 0x5500;
		post(p, 0, &wr, 0, 64);
	}
	expect(p, 0, IBV_WC_REM_ACCESS_ERR);
	expect(p, 1, IBV_WC_WR_FLUSH_ERR);
	expect(p, 2, IBV_WC_WR_FLUSH_ERR);
	need(!ibv_query_qp(p->qp[0], &a, IBV_QP_STATE, &init) && a.qp_state == IBV_QPS_ERR,
	     "the queue pair is not in error");
}

static void do_all(struct pair *p)
{
	do_write(p);
	do_read(p);
	do_send(p);
	do_atomic(p);
}

/* ---- what to do ---- */

static void try_verbs(bool events)
{
	struct pair p = { .events = events };

	make(&p);
	do_all(&p);
	do_wrong_key(&p);
	unmake(&p);
}

static void test_polling(void)
{
	try_verbs(false);
}

static void test_events(void)
{
	try_verbs(true);
}

/* Events that were not acknowledged hold the CQ; those that were never read do not. */
static void test_unread(void)
{
	struct pair p = { 0 };

	make(&p);
	need(!ibv_req_notify_cq(p.cq, 0), "CQ is not armed");
	do_all(&p);
	unmake(&p);
}

static sigjmp_buf back;
static volatile sig_atomic_t faults;

static void on_fault(int number)
{
	faults = faults + (number == SIGSEGV);
	siglongjmp(back, 1);
}

static void own_fault(void)
{
	volatile int *volatile nowhere = NULL;
	const int before = faults;

	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	need(faults == before + 1, "the program's own fault did not come to its handler");
}

/* Handlers from before the device, and from after, get the program's own faults and no others. */
static void test_handlers(void)
{
	struct sigaction a = { .sa_handler = on_fault }, got;
	struct pair p = { 0 };

	sigaction(SIGSEGV, &a, NULL);
	make(&p);
	own_fault();
	do_all(&p);
	signal(SIGSEGV, on_fault);
	need(!sigaction(SIGSEGV, NULL, &got) && got.sa_handler == on_fault, "the handler is not told");
	own_fault();
	do_all(&p);
	need(faults == 2, "%d faults came to the handler", (int)faults);
	unmake(&p);
}

static void on_fault_again(int number)
{
	volatile int *volatile nowhere = NULL;

	(void)number;
	*nowhere = 2;
}

/* A handler that faults ends the process. */
static void test_nested(void)
{
	struct sigaction a = { .sa_handler = on_fault_again };
	volatile int *volatile nowhere = NULL;
	struct pair p = { 0 };

	make(&p);
	do_all(&p);
	sigaction(SIGSEGV, &a, NULL);
	*nowhere = 1;
}

/* An end that no handler sees: what was recorded before is in the trace. */
static void test_abort(void)
{
	struct pair p = { 0 };

	make(&p);
	do_all(&p);
	abort();
}

/* The default action of a signal is still that, and what the program says of it is what it reads. */
static void test_terminated(void)
{
	struct sigaction got;
	struct pair p = { 0 };

	make(&p);
	need(!sigaction(SIGTERM, NULL, &got) && got.sa_handler == SIG_DFL && !got.sa_flags, "SIGTERM has a handler");
	need(signal(SIGTERM, SIG_IGN) == SIG_DFL, "signal() tells of a handler");
	need(!raise(SIGTERM), "raise");
	need(signal(SIGTERM, SIG_DFL) == SIG_IGN, "SIGTERM is not ignored");
	do_all(&p);
	raise(SIGTERM);
	need(false, "SIGTERM does not end the process");
}

/* The allocator finds its lists broken and aborts with its lock held. */
static void test_broken_heap(void)
{
	const size_t size = 100000; /* from the end of the heap, so that what is behind it says how much is left */
	struct pair p = { 0 };
	size_t *volatile words;

	make(&p);
	do_all(&p);
	words = malloc(size);
	need(words, "no memory");
	words[malloc_usable_size(words) / sizeof(*words)] = ~(size_t)0;
	words = malloc(size);
	need(false, "the allocator has noticed nothing");
}

static void on_usr1(int number)
{
	(void)number;
}

static void *work_with_all_blocked(void *arg)
{
	struct pair *p = arg;
	sigset_t all;

	sigfillset(&all);
	need(!pthread_sigmask(SIG_BLOCK, &all, NULL), "mask");
	do_all(p);
	return NULL;
}

/* A thread that blocks every signal rings doorbells all the same. */
static void test_blocked(void)
{
	struct sigaction a = { .sa_handler = on_usr1 };
	struct pair p = { 0 };
	pthread_t thread;

	sigfillset(&a.sa_mask);
	sigaction(SIGUSR1, &a, NULL);
	make(&p);
	need(!pthread_create(&thread, NULL, work_with_all_blocked, &p), "thread");
	need(!pthread_join(thread, NULL), "thread");
	unmake(&p);
}

/* A child has no device of its parent's; it may open one. The parent does not notice. */
static void test_fork(void)
{
	struct pair p = { 0 };
	struct ibv_device_attr attr;
	int status;
	pid_t pid;

	make(&p);
	do_all(&p);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		need(ibv_alloc_pd(p.context) == NULL, "the parent's device answers in the child");
		need(ibv_query_device(p.context, &attr) != 0, "the parent's device answers in the child");
		try_verbs(false);
		_exit(0);
	}
	need(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), "the child failed: 0x%x",
	     status);
	pid = vfork();
	if (!pid) {
		close(p.context->cmd_fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	do_all(&p);
	unmake(&p);
}

/* Copies of a device's descriptor are the device; other descriptors are not. */
static void test_copies(void)
{
	struct ibv_context *context = open_first();
	const unsigned long request = 0xc0181b01; /* RDMA_VERBS_IOCTL */
	uint64_t header[3] = { 0 };               /* of no length: EINVAL from the device, ENOTTY from all others */
	int copy[4];

	copy[0] = dup(context->cmd_fd);
	copy[1] = fcntl(context->cmd_fd, F_DUPFD_CLOEXEC, 100);
	copy[2] = dup2(context->cmd_fd, 200);
	copy[3] = dup3(context->cmd_fd, 201, O_CLOEXEC);
	for (int i = 0; i < 4; i++) {
		errno = 0;
		need(ioctl(copy[i], request, header) == -1 && errno == EINVAL, "copy %d is not the device", i);
		need(!close(copy[i]), "copy %d cannot be closed", i);
		errno = 0;
		need(ioctl(copy[i], request, header) == -1 && errno == EBADF, "copy %d is not closed", i);
	}
	copy[0] = open("/dev/null", O_RDWR);
	errno = 0;
	need(ioctl(copy[0], request, header) == -1 && errno == ENOTTY, "/dev/null is the device");
	close(copy[0]);
	need(!ibv_close_device(context), "device is not closed");
}

/* Programs that look below /sys by themselves. */
static void test_paths(void)
{
	char path[PATH_MAX], text[64] = "";
	struct stat st;
	struct dirent *d;
	bool found = false;
	FILE *f;
	DIR *dir = opendir("/sys/class/infiniband");

	need(dir != NULL, "/sys/class/infiniband cannot be listed");
	while ((d = readdir(dir)))
		found = found || strcmp(d->d_name, "mlx5_0") == 0;
	closedir(dir);
	need(found, "mlx5_0 is not in /sys/class/infiniband");
	need(!stat("/dev/infiniband/uverbs0", &st) && S_ISCHR(st.st_mode), "/dev/infiniband/uverbs0 is no device file");
	need(stat("/dev/infiniband/uverbs99", &st) && errno == ENOENT, "/dev/infiniband/uverbs99 is there");
	f = fopen("/sys/class/infiniband/mlx5_0/node_guid", "r");
	need(f && fgets(text, sizeof(text), f) && strlen(text) == 20, "node_guid is '%s'", text);
	fclose(f);
	need(realpath("/sys/class/infiniband/mlx5_0/device", path) && !strncmp(path, "/sys/devices/pci", 16),
	     "the device lies at %s", path);
	strcat(path, "/vendor");
	f = fopen(path, "r");
	need(f && fgets(text, sizeof(text), f) && !strcmp(text, "0x15b3\n"), "its vendor is '%s'", text);
	fclose(f);
	need(readlink("/sys/class/infiniband/mlx5_0", path, sizeof(path)) > 0,
	     "/sys/class/infiniband/mlx5_0 is no link");
}

/* What a fault plan does to a pair that writes: the first completion that is not good, and the events. */
static void see_faults(int patience_ms)
{
	static const struct timespec nap = { 0, 1000000 };
	struct ibv_async_event event;
	struct ibv_port_attr port;
	struct pair p = { 0 };
	struct ibv_wc wc = { 0 };
	bool down = false;
	int n = 1;

	make(&p);
	need(!fcntl(p.context->async_fd, F_SETFL, O_NONBLOCK), "events cannot be polled");
	for (uint32_t i = 0; i < 3000 && n && !wc.status; i++) {
		struct ibv_send_wr wr = { .wr_id = i, .opcode = IBV_WR_RDMA_WRITE }, *bad;
		struct ibv_sge sge = { (uintptr_t)p.memory, 64, p.mr->lkey };

		wr.wr.rdma.remote_addr = (uintptr_t)p.memory + HALF;
		wr.wr.rdma.rkey = p.mr->rkey;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		need(!ibv_post_send(p.qp[0], &wr, &bad), "a request is not taken");
		for (int ms = 0; ms < 1000 && !(n = ibv_poll_cq(p.cq, 1, &wc)); ms++) {
			nanosleep(&nap, NULL);
			if (!down && !ibv_query_port(p.context, 1, &port) && port.state != IBV_PORT_ACTIVE)
				printf("port %s\n", ibv_port_state_str(port.state)), down = true;
		}
	}
	printf("completion %s\n", n ? ibv_wc_status_str(wc.status) : "none");
	for (int ms = 0; ms < patience_ms; ms++) {
		nanosleep(&nap, NULL);
		while (!ibv_get_async_event(p.context, &event)) {
			printf("event %s\n", ibv_event_type_str(event.event_type));
			ibv_ack_async_event(&event);
		}
	}
	unmake(&p);
}

static void test_faulted(void)
{
	see_faults(300);
}

/* For a fault at a time by which even a slow machine has opened the device. */
static void test_faulted_late(void)
{
	see_faults(2000);
}

/* Ends with everything open and no way through exit(). */
static void test_quit(void)
{
	struct pair p = { 0 };

	make(&p);
	do_all(&p);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "polling", test_polling },         { "events", test_events },   { "unread", test_unread },
		{ "handlers", test_handlers },       { "blocked", test_blocked }, { "fork", test_fork },
		{ "copies", test_copies },           { "paths", test_paths },     { "quit", test_quit },
		{ "nested", test_nested },           { "abort", test_abort },     { "terminated", test_terminated },
		{ "broken-heap", test_broken_heap }, { "faulted", test_faulted }, { "faulted-late", test_faulted_late },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		size_t k = 0;

		while (k < sizeof(tests) / sizeof(tests[0]) && strcmp(tests[k].name, argv[i]) != 0)
			k++;
		need(k < sizeof(tests) / sizeof(tests[0]), "nothing is called %s", argv[i]);
		tests[k].run();
		printf("ok %s\n", argv[i]);
	}
	return 0;
}
