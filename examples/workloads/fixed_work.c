/* A fixed amount of arithmetic on THREADS threads; prints how long it took: `elapsed_seconds 3.141593`.
 * One of ROUNDS takes 0.1 to 1 ms. Usage: fixed_work THREADS ROUNDS */
#include "workload.h"

#include <pthread.h>

static long rounds;

static void *work(void *unused)
{
    (void)unused;
    for (long i = 0; i < rounds; i++)
        churn();
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: fixed_work THREADS ROUNDS\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    rounds = atol(argv[2]);
    if (threads < 1 || threads > 64 || rounds < 1 || rounds > 1000000) {
        fprintf(stderr, "THREADS must be 1 to 64 and ROUNDS 1 to 1000000\n");
        return 2;
    }
    alarm((unsigned)LONGEST_SECONDS);
    double start = now_seconds();
    pthread_t ids[64];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("elapsed_seconds %.6f\n", now_seconds() - start);
    return 0;
}
