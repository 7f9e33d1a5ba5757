/*
 * The way between processes: frames from one to another through a ring, beside a memcpy of their bytes; one frame there
 * and back, with both sides polling and with both asleep in between; and the same frames by UDP on the loopback
 * interface. Two processes that share the machine's processors.
 */
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "models/fabric/outside.h"
#include "models/fabric/roce.h"

#define BATCH 64u    /* frames between two flushes */
#define WINDOW 4096u /* frames under way: as many as a NIC's queue pairs would have */

struct end {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_port *port;
	struct bf_outside *outside;
	struct bf_roce_path path;
	uint32_t slot_of_other;
	uint64_t received;
};

/* What both processes see. */
struct shared {
	uint64_t received __attribute__((aligned(64)));
	uint32_t stop __attribute__((aligned(64)));
	uint32_t ready;
};

struct kind {
	bool udp, sleep;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void receive(void *owner, struct bf_packet *pkt)
{
	++*(uint64_t *)owner;
	bf_packet_free(pkt);
}

static void end_open(struct end *e, bool udp, uint32_t index)
{
	char network[32];
	struct bf_outside_opts opts = { .network = network, .udp_ipv4 = udp ? 0x7f4b0001 + index : 0 };
	struct bf_port_opts port = {
		.name = "p", .ipv4 = udp ? opts.udp_ipv4 : 1, .rx = receive, .owner = &e->received
	};
	struct bf_roce_path_opts path = {
		.src_ipv4 = port.ipv4, .dst_ipv4 = udp ? 0x7f4b0002 - index : 1, .udp_src_port = 0xc000, .ttl = 64
	};

	memset(e, 0, sizeof(*e));
	snprintf(network, sizeof(network), "bench-%d", (int)(index ? getppid() : getpid()));
	if (bf_sim_create(1, &e->sim) || bf_fabric_create(e->sim, &e->fabric) ||
	    bf_fabric_attach(e->fabric, &port, &e->port) || bf_outside_open(e->sim, e->fabric, &opts, &e->outside)) {
		fprintf(stderr, "%s\n", e->sim->error.text);
		exit(1);
	}
	e->slot_of_other = 1 - bf_outside_slot(e->outside);
	bf_roce_path_init(&e->path, &path);
}

static void end_close(struct end *e)
{
	bf_outside_close(e->outside);
	bf_fabric_destroy(e->fabric);
	bf_sim_destroy(e->sim);
}

static void send_one(struct end *e, uint32_t len)
{
	struct bf_roce r = { .opcode = BF_RC_WRITE_ONLY,
			     .dest_qp = e->slot_of_other * BF_OUTSIDE_QPNS + 0x41,
			     .pkey = 0xffff,
			     .payload_len = len };
	struct bf_packet *pkt = bf_packet_alloc(e->fabric);

	if (!pkt)
		exit(1);
	pkt->len = bf_roce_finish(pkt->data, &r, bf_roce_build(pkt->data, &e->path, &r), false);
	bf_port_send(e->port, pkt);
}

/* One turn of a thread that has the simulation; sleeps, if it may, when there is nothing. */
static void turn(struct end *e, bool sleep)
{
	const struct timespec limit = { .tv_nsec = 100000000 };
	uint32_t *word = NULL, value = 0;

	bf_sim_run(e->sim, BF_NEVER);
	bf_outside_flush(e->outside);
	if (bf_outside_poll(e->outside, 256) || !sleep)
		return;
	if (bf_outside_sleep(e->outside, &word, &value))
		syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
	bf_outside_awake(e->outside);
}

static void sink(struct end *e, struct shared *s, bool sleep)
{
	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		turn(e, sleep);
		__atomic_store_n(&s->received, e->received, __ATOMIC_RELEASE);
	}
}

static void echo(struct end *e, struct shared *s, bool sleep)
{
	uint64_t answered = 0;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		for (; answered < e->received; answered++)
			send_one(e, 8);
		turn(e, sleep);
	}
}

static double stream(struct end *e, struct shared *s, uint32_t len, uint64_t frames)
{
	double start = now_s();
	uint64_t sent = 0;

	while (sent < frames) {
		if (sent - __atomic_load_n(&s->received, __ATOMIC_ACQUIRE) >= WINDOW) {
			turn(e, false);
			continue;
		}
		for (uint32_t i = 0; i < BATCH; i++, sent++)
			send_one(e, len);
		turn(e, false);
	}
	while (__atomic_load_n(&s->received, __ATOMIC_ACQUIRE) < frames)
		turn(e, false);
	return now_s() - start;
}

static double ping(struct end *e, uint64_t turns, bool sleep)
{
	double start = now_s();

	for (uint64_t i = 0; i < turns; i++) {
		send_one(e, 8);
		while (e->received <= i)
			turn(e, sleep);
	}
	return now_s() - start;
}

/* Runs the other process and then `len` bytes a frame, `frames` times; 0: frames there and back. */
static double measure(struct kind k, uint32_t len, uint64_t frames)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct end e;
	double took;
	pid_t pid;

	if (s == MAP_FAILED)
		exit(1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		while (!__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE))
			usleep(100);
		end_open(&e, k.udp, 1);
		__atomic_store_n(&s->ready, 2, __ATOMIC_RELEASE);
		if (len)
			sink(&e, s, k.sleep);
		else
			echo(&e, s, k.sleep);
		end_close(&e);
		_exit(0);
	}
	end_open(&e, k.udp, 0);
	__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE) != 2)
		usleep(100);
	took = len ? stream(&e, s, len, frames) : ping(&e, frames, k.sleep);
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	waitpid(pid, NULL, 0);
	end_close(&e);
	munmap(s, sizeof(*s));
	return took / (double)frames;
}

/* Both ends on one thread: what a frame costs in all, whoever else wants the processors. */
static double measure_alone(uint32_t len, uint64_t frames)
{
	struct timespec t[2];
	struct end a, b;

	end_open(&a, false, 0);
	end_open(&b, false, 0);
	send_one(&a, len);
	while (!b.received) {
		turn(&a, false);
		turn(&b, false);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[0]);
	while (b.received < frames) {
		for (uint32_t i = 0; i < BATCH; i++)
			send_one(&a, len);
		turn(&a, false);
		turn(&b, false);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
	end_close(&a);
	end_close(&b);
	return ((double)(t[1].tv_sec - t[0].tv_sec) + (double)(t[1].tv_nsec - t[0].tv_nsec) / 1e9) / (double)frames;
}

static double measure_memcpy(uint32_t len)
{
	enum { TIMES = 1000000, SPAN = 1 << 20 };
	static uint8_t from[SPAN + 8192], to[SPAN + 8192];
	double start = now_s();

	for (uint64_t i = 0; i < TIMES; i++) {
		uint64_t at = i * len % SPAN;

		memcpy(to + at, from + at, len);
		__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
	}
	return (now_s() - start) / TIMES;
}

int main(int argc, char **argv)
{
	static const uint32_t lens[] = { 8, 64, 1024, 4096 };
	uint64_t scale = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	for (size_t i = 0; i < BF_ARRAY_LEN(lens); i++) {
		double both = measure_alone(lens[i], 1000000 * scale);

		printf("both ends on one thread, %4u-byte payload: %5.1f ns of processor time a frame\n", lens[i],
		       both * 1e9);
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(lens); i++) {
		uint64_t frames = (lens[i] < 1024 ? 2000000 : 500000) * scale;
		double ring = measure((struct kind){ 0 }, lens[i], frames);

		printf("ring, %4u-byte payload: %6.2f M frames/s, %5.2f GB/s, %5.1f ns a frame, memcpy %5.1f ns\n",
		       lens[i], 1e-6 / ring, lens[i] / ring / 1e9, ring * 1e9, measure_memcpy(lens[i]) * 1e9);
	}
	printf("there and back: polling %.2f us, asleep %.2f us\n",
	       measure((struct kind){ 0 }, 0, 200000 * scale) * 1e6,
	       measure((struct kind){ .sleep = true }, 0, 20000 * scale) * 1e6);
	printf("by UDP, there and back: polling %.2f us, asleep %.2f us\n",
	       measure((struct kind){ .udp = true }, 0, 20000 * scale) * 1e6,
	       measure((struct kind){ .udp = true, .sleep = true }, 0, 20000 * scale) * 1e6);
	return 0;
}
