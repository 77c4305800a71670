/* Recurses DEPTH calls of `descend` below main and spins at the bottom, in `bottom`, for SECONDS.
 * Usage: recursion DEPTH SECONDS */
#include "workload.h"

__attribute__((noinline)) void bottom(double end)
{
    do {
        churn();
    } while (now_seconds() < end);
}

/* The asm after each call keeps the compiler from making a loop of the recursion. */
__attribute__((noinline)) void descend(int depth, double end)
{
    if (depth <= 1)
        bottom(end);
    else
        descend(depth - 1, end);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: recursion DEPTH SECONDS\n");
        return 2;
    }
    int depth = atoi(argv[1]);
    if (depth < 1 || depth > 50000) {
        fprintf(stderr, "DEPTH must be 1 to 50000\n");
        return 2;
    }
    descend(depth, now_seconds() + duration_argument(argv[2]));
    printf("cpu_seconds %.6f\n", own_cpu_seconds());
    return 0;
}
