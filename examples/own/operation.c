/* An operation that is a program.
 *
 *     cc -O2 -o operation operation.c
 *     syscost run --operation program:./operation
 */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    FILE *turns = fdopen(atoi(getenv("SYSCOST_TURNS")), "r"), *answers = fdopen(atoi(getenv("SYSCOST_ANSWERS")), "w");
    unsigned long iterations, sum = 0;
    if (!turns || !answers)
        return 1;
    fprintf(answers, "ready\n");
    while (fflush(answers) == 0 && fscanf(turns, "%lu", &iterations) == 1) {
        for (unsigned long i = 0; i < iterations; i++)
            for (volatile unsigned n = 0; n < 256; n++)
                sum += n;
        fprintf(answers, "%lu\n", iterations);
    }
    return sum % 32640 != 0; /* each iteration adds 0 to 255 */
}
