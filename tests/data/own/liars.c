/* Code that goes wrong in every way that a test wants to see. */
#define _GNU_SOURCE
#include "syscost.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct liar { int socket, flags; const syscost_piece *pieces; size_t count; };

static void *open_liar(int socket, const syscost_message *message)
{
    struct liar *liar = malloc(sizeof *liar);
    printf("what is printed is no frame\n");
    fflush(stdout);
    *liar = (struct liar){ socket, message->flags, message->pieces, message->piece_count };
    return liar;
}

static void *open_not(int socket, const syscost_message *message)
{
    (void)socket, (void)message;
    errno = EACCES;
    return NULL;
}

static int send_piece(struct liar *liar, size_t i)
{
    size_t sent = 0;
    while (sent < liar->pieces[i].bytes) {
        ssize_t n = send(liar->socket, (const char *)liar->pieces[i].data + sent, liar->pieces[i].bytes - sent, liar->flags);
        if (n < 0)
            return errno;
        sent += (size_t)n;
    }
    return 0;
}

static int pieces(void *context, uint64_t messages, size_t from, size_t times, int backwards)
{
    struct liar *liar = context;
    while (messages--)
        for (size_t t = 0; t < times; t++)
            for (size_t i = from; i < liar->count; i++) {
                int error = send_piece(liar, backwards ? liar->count - 1 - i : i);
                if (error)
                    return error;
            }
    return 0;
}

static int honest(void *c, uint64_t n, syscost_counts *counts) { (void)counts; return pieces(c, n, 0, 1, 0); }
static int skips(void *c, uint64_t n, syscost_counts *counts) { (void)counts; return pieces(c, n, 1, 1, 0); }
static int twice(void *c, uint64_t n, syscost_counts *counts) { (void)counts; return pieces(c, n, 0, 2, 0); }
static int swaps(void *c, uint64_t n, syscost_counts *counts) { (void)counts; return pieces(c, n, 0, 1, 1); }
static int crashes(void *c, uint64_t n, syscost_counts *counts) { (void)c, (void)n, (void)counts; raise(SIGSEGV); return 0; }
static int hangs(void *c, uint64_t n, syscost_counts *counts) { (void)c, (void)n, (void)counts; for (;;) pause(); return 0; }
static int exits(void *c, uint64_t n, syscost_counts *counts) { (void)c, (void)n, (void)counts; exit(0); }
static int fails(void *c, uint64_t n, syscost_counts *counts) { (void)c, (void)n, (void)counts; return ENOBUFS; }

#define WAY(id, opens) static const syscost_mechanism way_##id = { .size = sizeof(syscost_mechanism), .name = "liar_" #id, .summary = #id, .open = opens, .send = id, .close = free };
WAY(honest, open_liar) WAY(skips, open_liar) WAY(twice, open_liar) WAY(swaps, open_liar) WAY(crashes, open_liar)
WAY(hangs, open_liar) WAY(exits, open_liar) WAY(fails, open_liar)
static const syscost_mechanism way_refuses = { .size = sizeof(syscost_mechanism), .name = "liar_refuses", .summary = "refuses", .open = open_not, .send = honest };

struct taker { int socket; syscost_piece piece; char bytes[65536]; };

static void *open_taker(int socket, const syscost_message *message)
{
    struct taker *taker = malloc(sizeof *taker);
    (void)message;
    if (taker)
        taker->socket = socket;
    return taker;
}

static ssize_t take(struct taker *taker, syscost_received *received)
{
    ssize_t got = recv(taker->socket, taker->bytes, sizeof taker->bytes, 0);
    taker->piece.data = taker->bytes;
    taker->piece.bytes = got > 0 ? (size_t)got : 0;
    received->pieces = &taker->piece;
    received->piece_count = got > 0;
    received->system_calls++;
    return got;
}

static int take_honest(void *c, syscost_received *r) { return take(c, r) < 0 ? errno : 0; }
static int take_skips(void *c, syscost_received *r)
{
    struct taker *taker = c;
    if (take(taker, r) > 1) {
        taker->piece.data = taker->bytes + 1;
        taker->piece.bytes--;
    }
    return 0;
}
static int take_more(void *c, syscost_received *r) { struct taker *taker = c; if (take(taker, r) > 0) taker->piece.bytes++; return 0; }
static int take_fewer(void *c, syscost_received *r) { struct taker *taker = c; if (take(taker, r) > 1) taker->piece.bytes--; return 0; }
static int take_again(void *c, syscost_received *r) { struct taker *taker = c; if (!taker->piece.bytes) return take(taker, r) < 0 ? errno : 0; r->pieces = &taker->piece; r->piece_count = 1; return 0; }
static int take_ends(void *c, syscost_received *r) { take(c, r); r->piece_count = 0; return 0; }
static int take_nothing(void *c, syscost_received *r) { (void)c; r->piece_count = 3; return 0; }
static int take_crash(void *c, syscost_received *r) { (void)c, (void)r; abort(); }
static int take_hangs(void *c, syscost_received *r) { (void)c, (void)r; for (;;) pause(); return 0; }

#define TAKER(id) static const syscost_receiver taker_##id = { .size = sizeof(syscost_receiver), .name = "taker_" #id, .summary = #id, .open = open_taker, .receive = take_##id, .close = free };
TAKER(honest) TAKER(skips) TAKER(more) TAKER(fewer) TAKER(again) TAKER(ends) TAKER(nothing) TAKER(crash) TAKER(hangs)
static const syscost_receiver *const takers[] = { &taker_honest, &taker_skips, &taker_more, &taker_fewer, &taker_again, &taker_ends, &taker_nothing, &taker_crash, &taker_hangs };

static int run_more(void *c, uint64_t n, syscost_done *done) { (void)c; done->operations += n + 1; return 0; }
static int run_honest(void *c, uint64_t n, syscost_done *done) { (void)c; for (uint64_t i = 0; i < n; i++) __asm__ volatile("" : : : "memory"); done->operations += n; return 0; }
static int run_crash(void *c, uint64_t n, syscost_done *done) { (void)c, (void)n, (void)done; raise(SIGSEGV); return 0; }
static int wrong(void *c) { (void)c; return EBADMSG; }

#define OP(id, runs, checks) static const syscost_operation op_##id = { .size = sizeof(syscost_operation), .name = "op_" #id, .summary = #id, .run = runs, .check = checks };
OP(honest, run_honest, NULL) OP(more, run_more, NULL) OP(wrong, run_honest, wrong) OP(crashes, run_crash, NULL)

static const syscost_mechanism *const ways[] = { &way_honest, &way_skips, &way_twice, &way_swaps, &way_crashes, &way_hangs, &way_exits, &way_fails, &way_refuses };
static const syscost_operation *const operations[] = { &op_honest, &op_more, &op_wrong, &op_crashes };

#ifdef BAD_OPENING
__attribute__((constructor)) static void begin(void) { BAD_OPENING; }
#endif
#ifndef VERSION
#define VERSION SYSCOST_VERSION
#endif
#ifndef NO_OBJECT
const syscost_exports syscost_object = {
    .version = VERSION, .size = sizeof(syscost_exports),
    .operations = operations, .operation_count = sizeof operations / sizeof *operations,
    .mechanisms = ways, .mechanism_count = sizeof ways / sizeof *ways,
    .receivers = takers, .receiver_count = sizeof takers / sizeof *takers,
};
#endif
