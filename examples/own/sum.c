/* Two ways to add numbers, as operations with an axis of their own.
 *
 *     cc -O2 -shared -fPIC -o sum.so sum.c
 *     syscost run --operation ./sum.so
 */
#include "syscost.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct numbers {
    size_t count;
    uint64_t sum;
    uint64_t values[];
};

static const char *const counts[] = { "64", "1024", NULL };
static const syscost_axis axes[] = { { "sum_count", "numbers that are added", counts } };

static void *setup(const syscost_case *in)
{
    size_t count = 64;
    for (size_t i = 0; i < in->setting_count; i++)
        if (!strcmp(in->settings[i].axis, "sum_count"))
            count = strtoull(in->settings[i].value, NULL, 10);
    struct numbers *numbers = calloc(1, sizeof *numbers + count * sizeof *numbers->values);
    if (!numbers)
        return NULL;
    numbers->count = count;
    for (size_t i = 0; i < count; i++)
        numbers->values[i] = i;
    return numbers;
}

static void done_with(struct numbers *numbers, uint64_t iterations, syscost_done *done)
{
    done->operations += iterations;
    done->bytes += iterations * numbers->count * sizeof *numbers->values;
}

static int forward(void *context, uint64_t iterations, syscost_done *done)
{
    struct numbers *numbers = context;
    for (uint64_t n = 0; n < iterations; n++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < numbers->count; i++)
            sum += numbers->values[i];
        numbers->sum = sum;
        __asm__ volatile("" : : "g"(numbers) : "memory");
    }
    done_with(numbers, iterations, done);
    return 0;
}

/* Two sums, neither of which waits for the other: cheaper. */
static int in_two(void *context, uint64_t iterations, syscost_done *done)
{
    struct numbers *numbers = context;
    for (uint64_t n = 0; n < iterations; n++) {
        uint64_t even = 0, odd = 0;
        for (size_t i = 0; i + 1 < numbers->count; i += 2) {
            even += numbers->values[i];
            odd += numbers->values[i + 1];
        }
        numbers->sum = even + odd;
        __asm__ volatile("" : : "g"(numbers) : "memory");
    }
    done_with(numbers, iterations, done);
    return 0;
}

static int check(void *context)
{
    struct numbers *numbers = context;
    return numbers->sum == numbers->count * (numbers->count - 1) / 2 ? 0 : EBADMSG;
}

#define OPERATION(id, does)                                                                                    \
    static const syscost_operation id##_operation = {                                                          \
        .size = sizeof(syscost_operation), .name = "sum_" #id, .summary = does, .axes = axes, .axis_count = 1, \
        .setup = setup, .run = id, .check = check, .teardown = free,                                           \
    }

OPERATION(forward, "adds numbers from first to last");
OPERATION(in_two, "adds numbers to two sums");

static const syscost_operation *const operations[] = { &forward_operation, &in_two_operation };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .operations = operations,
    .operation_count = sizeof operations / sizeof *operations,
};
