/* The handle of a process and its connections: made by socket_connect.c, used by socket.c. */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_SOCKET_INTERNAL_H
#define BELFRY_DRIVERS_BOOTSTRAP_SOCKET_INTERNAL_H

#include <signal.h>
#include <uv.h>

#include "drivers/bootstrap/socket.h"
#include "drivers/bootstrap/wire_internal.h"

#define BF_CONN_STASH (16u << 10)
#define BF_CONN_STRANGER 0xffffffffu

struct bf_conn {
	struct bf_conn *next; /* all that are open */
	struct bf_sockets *all;
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_pipe_t pipe;
		uv_tcp_t tcp;
	} u;
	uint32_t rank; /* BF_CONN_STRANGER until it has greeted; of an outgoing one: whom we want */
	bool outgoing, closing;
	uv_connect_t connect;
	uv_write_t write, farewell; /* a call's message; a greeting or ABORT */
	uint8_t head[BF_WIRE_HEAD], greeting[BF_WIRE_GREETING], last[BF_WIRE_HEAD + BF_WIRE_TEXT];
	struct bf_inbox in;
	/* Bytes that came and were not taken yet; a peer may be a call ahead. */
	uint32_t stash_at, stash_len;
	uint8_t stash[BF_CONN_STASH];
};

struct bf_sockets {
	struct bf_boot boot;
	struct bf_error *err;
	uv_loop_t loop;
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_pipe_t pipe;
		uv_tcp_t tcp;
	} listener;
	uv_timer_t timer;
	bool listening, has_timer;
	struct bf_conn *conns;
	struct bf_conn **peer; /* [ranks] NULL: self, or not there yet */
	uint64_t seq;
	uint32_t waiting, writing;
	bool write_failed; /* in this call: SIGPIPE may have come */
	int broken;        /* what all calls fail with */
	/* While connecting. */
	uint32_t port; /* 0: unix */
	char dir[96];
	uint32_t present;
	uint64_t deadline_ms;
	char refused[160]; /* why somebody was turned away last */
};

/* Brings all connections up; on failure what is there stays for bf_sockets_free(). */
int bf_sockets_connect(struct bf_sockets *s, const char *address, uint64_t wait_ms);

/* Closes everything and frees. */
void bf_sockets_free(struct bf_sockets *s);

void bf_conn_close(struct bf_conn *c);

/*
 * Writing to a peer that is gone must not end this process. The signal is this thread's own, so it can be held back and
 * taken away (`take`: it may have come) without touching what the program does with it.
 */
void bf_sigpipe_hold(sigset_t *before);
void bf_sigpipe_release(const sigset_t *before, bool take);

#endif
