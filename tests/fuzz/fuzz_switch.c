/*
 * Any bytes as frames of a machine at `belfry switch`, which runs in a thread with a fault plan. Each is one byte
 * length L (times eight, plus the low bits of the next byte) and its bytes. A frame of a good machine must reach
 * another after each input.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/cli/program.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MACHINES 3
#define PATIENCE_MS 20000
#define AGAIN_MS 500
#define FRAME_LEN 64

static char home[] = "/dev/shm/belfry-fuzz-XXXXXX";
static int machine[MACHINES]; /* the liar, and two good ones */
static pthread_t thread;
static uint64_t counter;

static void path_of(char path[64], int i, const char *behind)
{
	snprintf(path, 64, "%s/%d%s", home, i, behind);
}

static void *run_switch(void *arg)
{
	char words[][96] = { "belfry",   "switch",
			     "--port",   "",
			     "--port",   "",
			     "--port",   "",
			     "--faults", "duplicate prob=0.1; corrupt prob=0.1; drop on=10.0.0.9 prob=0.5" };
	char *argv[sizeof(words) / sizeof(words[0]) + 1] = { 0 };
	int argc = 0;

	(void)arg;
	for (int i = 0; i < MACHINES; i++)
		path_of(words[3 + 2 * i], i, "");
	for (; (size_t)argc < sizeof(words) / sizeof(words[0]); argc++)
		argv[argc] = words[argc];
	if (bf_main(argc, argv, NULL))
		abort();
	return NULL;
}

static void clean_up(void)
{
	char path[64];

	pthread_kill(thread, SIGTERM);
	pthread_join(thread, NULL);
	for (int i = 0; i < MACHINES; i++) {
		path_of(path, i, ".vm");
		unlink(path);
		close(machine[i]);
	}
	rmdir(home);
}

static void open_machine(int i)
{
	struct sockaddr_un here = { .sun_family = AF_UNIX }, there = { .sun_family = AF_UNIX };
	char path[64];

	path_of(path, i, ".vm");
	strcpy(here.sun_path, path);
	path_of(path, i, "");
	strcpy(there.sun_path, path);
	machine[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (machine[i] < 0 || bind(machine[i], (const struct sockaddr *)&here, sizeof(here)))
		abort();
	for (int ms = 0; connect(machine[i], (const struct sockaddr *)&there, sizeof(there)); ms++) {
		if (ms == PATIENCE_MS)
			abort();
		usleep(1000);
	}
}

/* What the command says goes nowhere; libFuzzer has kept its own stream. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (!mkdtemp(home))
		abort();
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	if (!stdout || !stderr || pthread_create(&thread, NULL, run_switch, NULL))
		abort();
	for (int i = 0; i < MACHINES; i++)
		open_machine(i);
	return atexit(clean_up);
}

/* Waits for room, as a machine does. */
static void put(int fd, const void *frame, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	while (send(fd, frame, len, MSG_DONTWAIT) < 0)
		if (poll(&p, 1, PATIENCE_MS) != 1)
			abort();
}

/* Everything that has come, until `frame` has. */
static bool take(int fd, const uint8_t frame[FRAME_LEN])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t got[65536];
	ssize_t n;

	do
		while ((n = recv(fd, got, sizeof(got), MSG_DONTWAIT)) >= 0)
			if (n == FRAME_LEN && !memcmp(got, frame, FRAME_LEN))
				return true;
	while (poll(&p, 1, AGAIN_MS) == 1);
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t frame[FRAME_LEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0x77, 0x88, 0xb5 }, got[65536];
	size_t at = 0;

	while (at + 2 <= size) {
		size_t len = data[at] * 8u + (data[at + 1] & 7);

		at += 2;
		if (len > size - at)
			len = size - at;
		put(machine[0], data + at, len);
		at += len;
	}
	counter++;
	memcpy(frame + 14, &counter, sizeof(counter));
	/* A broadcast: all get it, but for those whose cable is full of the liar's. */
	for (int tries = 0;; tries++) {
		put(machine[1], frame, sizeof(frame));
		if (take(machine[2], frame))
			break;
		if (tries == PATIENCE_MS / AGAIN_MS)
			abort();
	}
	while (recv(machine[0], got, sizeof(got), MSG_DONTWAIT) >= 0 ||
	       recv(machine[1], got, sizeof(got), MSG_DONTWAIT) >= 0)
		;
	return 0;
}
