/* Spins for SECONDS in main -> outer -> inner, pinned to CPU if one is given, then prints its own
 * CPU time: `cpu_seconds 9.987654`. Usage: spinner SECONDS [CPU] */
#include "workload.h"

/* The clock is read seldom, so that nearly every sample is in `inner` itself. */
__attribute__((noinline)) void inner(double end)
{
    do {
        churn();
    } while (now_seconds() < end);
}

/* The empty asm keeps the call from becoming a jump, which would take `outer` off the stack. */
__attribute__((noinline)) void outer(double end)
{
    inner(end);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: spinner SECONDS [CPU]\n");
        return 2;
    }
    double seconds = duration_argument(argv[1]);
    if (argc > 2)
        pin(atoi(argv[2]));
    outer(now_seconds() + seconds);
    printf("cpu_seconds %.6f\n", own_cpu_seconds());
    return 0;
}
