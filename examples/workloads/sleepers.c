/* THREADS threads that sleep MICROSECONDS, COUNT times or for SECONDS, whatever ends first, as exactly as the
 * kernel can. Each prints what it measured: `slept NAME COUNT NANOSECONDS`, and the kernel's account of it (see
 * account.h). Usage: sleepers THREADS MICROSECONDS COUNT SECONDS */
#include "account.h"

#include <pthread.h>

static struct timespec nap;
static long count;
static double end;
static unsigned long long created[64];

__attribute__((noinline)) static void sleep_once(void)
{
    if (clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) != 0)
        exit(1);
}

static void *run(void *number)
{
    long thread = (long)number;
    char name[16], line[96];
    snprintf(name, sizeof name, "sleeper-%ld", thread);
    name_thread(name);
    /* Nothing is added to a sleep so that it ends with others. */
    prctl(PR_SET_TIMERSLACK, 1);
    unsigned long long slept = 0;
    long done = 0;
    while (done < count && now_seconds() < end) {
        unsigned long long before = now_nanoseconds();
        sleep_once();
        slept += now_nanoseconds() - before;
        done++;
    }
    int length = snprintf(line, sizeof line, "slept %s %ld %llu\n", name, done, slept);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        exit(1);
    print_account(name, created[thread]);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: sleepers THREADS MICROSECONDS COUNT SECONDS\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    long microseconds = atol(argv[2]);
    count = atol(argv[3]);
    if (threads < 1 || threads > 64 || microseconds < 1 || microseconds > 1000000) {
        fprintf(stderr, "THREADS must be 1 to 64 and MICROSECONDS 1 to 1000000\n");
        return 2;
    }
    nap.tv_sec = microseconds / 1000000;
    nap.tv_nsec = microseconds % 1000000 * 1000;
    end = now_seconds() + duration_argument(argv[4]);
    pthread_t ids[64];
    for (long i = 0; i < threads; i++) {
        created[i] = now_nanoseconds();
        if (pthread_create(&ids[i], NULL, run, (void *)i) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
