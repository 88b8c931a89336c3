/* syscost.h: measure your own code with syscost.
 *
 * Build a shared object that defines `syscost_object`, and name it on the command line:
 *
 *     cc -O2 -shared -fPIC -o mine.so mine.c
 *     syscost run --mechanism ./mine.so,send,sendmsg
 *     syscost run --receiver ./mine.so,recv
 *     syscost run --operation ./mine.so
 *
 * This header stands alone and compiles as C11 and as C++11. Functions that return int return 0, or an errno value
 * where they failed. syscost calls them in a worker process of its own, which has no more rights than a built-in
 * mechanism needs. Every structure begins with its size, so that later versions can add members at its end.
 */
#ifndef SYSCOST_H
#define SYSCOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYSCOST_VERSION 1u

/* A setting of your own. syscost measures every value, and --NAME takes some of them. Values that are all whole
 * numbers are an axis of numbers. */
typedef struct syscost_axis {
    const char *name;          /* lower-case letters, digits, _ : unlike any axis of syscost */
    const char *help;          /* one sentence */
    const char *const *values; /* ends with NULL */
} syscost_axis;

/* The value that an axis of yours has in this case. */
typedef struct syscost_setting {
    const char *axis;
    const char *value;
} syscost_setting;

/* ---- an operation ---- */

typedef struct syscost_case {
    size_t size;
    const syscost_setting *settings;
    size_t setting_count;
} syscost_case;

/* What run() did: add to it. */
typedef struct syscost_done {
    uint64_t operations; /* has to come to the iterations asked for */
    uint64_t bytes;      /* 0 where the operation moves none */
} syscost_done;

typedef struct syscost_operation {
    size_t size;         /* sizeof(syscost_operation) */
    const char *name;    /* lower-case letters, digits, _ */
    const char *summary; /* one sentence */
    const syscost_axis *axes;
    size_t axis_count;
    /* Optional: makes the context. NULL means that it failed; errno says why. */
    void *(*setup)(const syscost_case *in);
    /* Runs so many iterations. syscost owns the clock and chooses how many. */
    int (*run)(void *context, uint64_t iterations, syscost_done *done);
    /* Optional, untimed: was all of it done right? Without it syscost believes `done`. */
    int (*check)(void *context);
    /* Optional. */
    void (*teardown)(void *context);
} syscost_operation;

/* ---- a way to send ---- */

typedef struct syscost_piece {
    const void *data;
    size_t bytes;
} syscost_piece;

/* The message of the case: its fields, each in memory of its own, to be sent in this order. They live until close()
 * returns, and their bytes never change. */
typedef struct syscost_message {
    size_t size;
    const syscost_piece *pieces;
    size_t piece_count;
    size_t bytes; /* of the whole message */
    int flags;    /* for send(2): MSG_NOSIGNAL */
    const syscost_setting *settings;
    size_t setting_count;
} syscost_message;

/* What syscost cannot see from outside: add to it. A member that you never add to is reported as unknown. */
typedef struct syscost_counts {
    uint64_t system_calls;
    uint64_t completions;        /* of zero-copy sends */
    uint64_t completions_copied; /* of these, flagged as copied by the kernel */
    uint64_t copied_bytes;       /* payload copied from user memory to user memory */
} syscost_counts;

typedef struct syscost_mechanism {
    size_t size;         /* sizeof(syscost_mechanism) */
    const char *name;    /* lower-case letters, digits, _ : unlike any mechanism of syscost */
    const char *summary; /* one sentence */
    const syscost_axis *axes;
    size_t axis_count;
    /* Makes the context of one connection, on the thread that will send. `socket` is a connected, blocking TCP
     * socket, which syscost closes. NULL means that it failed; errno says why. */
    void *(*open)(int socket, const syscost_message *message);
    /* Sends so many whole messages. The receiver verifies them. */
    int (*send)(void *context, uint64_t messages, syscost_counts *counts);
    /* Optional: hands over what is held back, and waits until the kernel needs no memory of yours any more. Called
     * before each time that is taken. */
    int (*flush)(void *context, syscost_counts *counts);
    /* Optional. */
    void (*close)(void *context);
} syscost_mechanism;

/* ---- a way to receive ---- */

/* What one call of receive() took off the socket: all of it, in the stream's order, in memory that stays as it is until
 * the next call. syscost compares these bytes with those that were sent. */
typedef struct syscost_received {
    const syscost_piece *pieces; /* NULL before each call */
    size_t piece_count;          /* 0 before each call; 0 after it: the sender has closed the stream */
    /* Add to these. One that you never add to is reported as unknown. */
    uint64_t system_calls;
    uint64_t copied_bytes;   /* payload copied from user memory to user memory */
    uint64_t uncopied_bytes; /* of what was received, not copied to your memory: mapped */
} syscost_received;

typedef struct syscost_receiver {
    size_t size;         /* sizeof(syscost_receiver) */
    const char *name;    /* lower-case letters, digits, _ : unlike any receiver of syscost */
    const char *summary; /* one sentence */
    const syscost_axis *axes;
    size_t axis_count;
    /* Makes the context of one connection, on the thread that will receive. `socket` is a connected TCP socket, which
     * syscost closes. The pieces of `message` say how long its fields are: their data is NULL. NULL means that it
     * failed; errno says why. */
    void *(*open)(int socket, const syscost_message *message);
    /* Waits for the next bytes and hands them back. Of several connections of a thread (--connections) syscost waits
     * for each: there the socket does not block, and EAGAIN says that nothing is there. */
    int (*receive)(void *context, syscost_received *received);
    /* Optional. */
    void (*close)(void *context);
} syscost_receiver;

/* ---- what the object offers ---- */

typedef struct syscost_exports {
    uint32_t version; /* SYSCOST_VERSION */
    uint32_t size;    /* sizeof(syscost_exports) */
    const syscost_operation *const *operations;
    size_t operation_count;
    const syscost_mechanism *const *mechanisms;
    size_t mechanism_count;
    const syscost_receiver *const *receivers;
    size_t receiver_count;
} syscost_exports;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const syscost_exports syscost_object;

#ifdef __cplusplus
}
#endif
#endif
