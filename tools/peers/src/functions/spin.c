/* Functions of so many steps, each of which waits for the one before: syscost's operations, and what criterion calls.
 *
 *     cc -O2 -shared -fPIC '-DEACH(F)=F(40) F(42)' -o spin.so spin.c
 *
 * A step is a rotation by one bit: a cycle, which no compiler and no CPU takes together with the next. Up to BLOCK steps stand
 * in a row, without a branch that could be predicted better for one number than for another.
 */
#include "syscost.h"
#include <errno.h>

#if defined(__x86_64__)
#define STEP "rol $1, %0"
#elif defined(__aarch64__)
#define STEP "ror %0, %0, #63"
#else
#error "a rotation by one bit of this machine"
#endif

#define BLOCK 1000
#define STEPS(n, x) __asm__ volatile(".rept " n "\n" STEP "\n.endr" : "+r"(x) : : "cc")

/* What is left of the operation before. */
struct spun {
    uint64_t state;
    uint64_t steps;
};

static struct spun spun;

static void *setup(const syscost_case *in)
{
    (void)in;
    spun = (struct spun){ .state = 1 };
    return &spun;
}

/* One bit, which has gone round as often as there were steps. */
static int check(void *context)
{
    const struct spun *spun = context;
    return spun->state == UINT64_C(1) << spun->steps % 64 ? 0 : EBADMSG;
}

#define SPIN(n)                                                                       \
    __attribute__((noinline)) uint64_t spin_##n(uint64_t x)                           \
    {                                                                                 \
        for (uint64_t block = 0; block < n / BLOCK; block++)                          \
            STEPS("1000", x);                                                         \
        STEPS(#n " %% 1000", x);                                                      \
        return x;                                                                     \
    }                                                                                 \
    static int run_##n(void *context, uint64_t iterations, syscost_done *done)        \
    {                                                                                 \
        struct spun *spun = context;                                                  \
        uint64_t x = spun->state;                                                     \
        for (uint64_t i = 0; i < iterations; i++)                                     \
            x = spin_##n(x);                                                          \
        spun->state = x;                                                              \
        spun->steps += n * iterations;                                                \
        done->operations += iterations;                                               \
        return 0;                                                                     \
    }                                                                                 \
    static const syscost_operation operation_##n = {                                  \
        .size = sizeof(syscost_operation),                                            \
        .name = "spin_" #n,                                                           \
        .summary = "rotates a number, bit by bit",                                    \
        .setup = setup,                                                               \
        .run = run_##n,                                                               \
        .check = check,                                                               \
    };
EACH(SPIN)

#define LISTED(n) &operation_##n,
static const syscost_operation *const operations[] = { EACH(LISTED) };

const syscost_exports syscost_object = {
    .version = SYSCOST_VERSION,
    .size = sizeof(syscost_exports),
    .operations = operations,
    .operation_count = sizeof operations / sizeof *operations,
};
