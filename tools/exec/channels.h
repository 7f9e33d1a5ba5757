/*
 * The descriptors from which a program reads completion and asynchronous events.
 *
 * A channel is a pair of sockets that keep messages apart: one read gives one event, whatever the size of the reader's
 * buffer, and poll() and epoll see it as the kernel's own file. Unread events lie in the program's end, so that
 * what it has read is known without asking it. When that is full the rest waits here, in order, and moves on as the
 * program reads.
 *
 * All calls are for the thread that holds the simulation.
 */
#ifndef BELFRY_TOOLS_EXEC_CHANNELS_H
#define BELFRY_TOOLS_EXEC_CHANNELS_H

#include "sim/sim.h"

struct bf_channels; /* opaque */

/* Returns 0 or -ENOMEM. `sim` is borrowed: its time moves events that wait for room. */
int bf_channels_create(struct bf_sim *sim, struct bf_channels **out);
/* Closes our ends. The program's descriptors stay open and are at their end. NULL is fine. */
void bf_channels_destroy(struct bf_channels *c);

/* As struct bf_uverbs_host has them. */
int bf_channel_open(struct bf_channels *c);
int bf_channel_put(struct bf_channels *c, int fd, const void *event, uint32_t len);
int bf_channel_take(struct bf_channels *c, int fd, bool (*match)(const void *event, void *what), void *what);
void bf_channel_release(struct bf_channels *c, int fd);

#endif
