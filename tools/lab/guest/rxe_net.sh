#!/bin/sh
# usage: rxe_net.sh
#
# Two virtual cables with one end each in the network namespace `far`. At the first, `near` at 10.0.0.1 has soft-RoCE, as
# device rxe0; its other end, `far` at 10.0.0.2, is left to a program that makes RoCE packets by itself. The second,
# 10.0.1.1 and 10.0.1.2, is for what programs have to tell each other, so that rxe_loss.sh need not touch it.
#
# A program is started over there by `/bin/ip netns exec far PROGRAM` (busybox has an `ip` of its own, without names).
set -e

# cable NEAR FAR NETWORK
cable() {
	/bin/ip link add "$1" mtu 4500 type veth peer name "$2" netns far mtu 4500
	/bin/ip address add "$3.1/24" dev "$1"
	/bin/ip link set "$1" up
	/bin/ip -n far address add "$3.2/24" dev "$2"
	/bin/ip -n far link set "$2" up
}

/bin/ip netns add far
/bin/ip link set lo up
/bin/ip -n far link set lo up
cable near far 10.0.0
cable near-talk far-talk 10.0.1
/usr/bin/rdma link add rxe0 type rxe netdev near
