// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Who pays for protocol work: the time that softirqs ran inside the sender, inside the receiver, and
// anywhere else.
//
// A softirq runs on top of whatever thread was there, which the kernel charges for it. On loopback and
// veth most of the receive path runs inside the sender's system calls.
// Source: kernel/softirq.c (softirq_entry, softirq_exit).
#include "kernel.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Index of each sum of nanoseconds; src/ledger/softirq.rs has the same list. */
enum { SENDER, RECEIVER, ELSEWHERE, SIDES };
enum { NET_RX, OTHER, KINDS };

#define NET_RX_SOFTIRQ 3

struct watched {
	__u64 device, inode; /* of the PID namespace in which the numbers below hold */
	__u32 sender, receiver; /* processes; 0 watches nothing */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watched);
} WATCHED SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SIDES * KINDS);
	__type(key, __u32);
	__type(value, __u64);
} SPENT SEC(".maps");

/* When the softirq that runs on this CPU began: they do not nest. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} BEGAN SEC(".maps");

SEC("raw_tp/softirq_entry")
int entered(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 first = 0;
	__u64 *began = bpf_map_lookup_elem(&BEGAN, &first);

	if (began)
		*began = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/softirq_exit")
int ended(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 first = 0, sum, process = 0;
	__u64 *began = bpf_map_lookup_elem(&BEGAN, &first), *spent, took;
	struct watched *w = bpf_map_lookup_elem(&WATCHED, &first);
	struct bpf_pidns_info info = {};

	if (!began || !*began || !w)
		return 0;
	took = bpf_ktime_get_ns() - *began;
	*began = 0;
	if (!w->sender)
		return 0;
	/* Threads of other PID namespaces are elsewhere. */
	if (!bpf_get_ns_current_pid_tgid(w->device, w->inode, &info, sizeof(info)))
		process = info.tgid;
	sum = process == w->sender ? SENDER : process == w->receiver ? RECEIVER : ELSEWHERE;
	sum = sum * KINDS + (ctx->args[0] == NET_RX_SOFTIRQ ? NET_RX : OTHER);
	spent = bpf_map_lookup_elem(&SPENT, &sum);
	if (spent)
		__sync_fetch_and_add(spent, took);
	return 0;
}
