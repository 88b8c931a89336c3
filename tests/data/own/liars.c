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
};
#endif
