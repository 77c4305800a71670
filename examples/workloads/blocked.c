/* Two threads that are blocked for SECONDS: `blocked-pipe` reads a pipe that nobody writes to, and `blocked-hung`
 * waits uninterruptibly (state D) for a child by vfork that doesn't come back. Another child, `blocked-dead`, has ended
 * and nobody asks for it (state Z). `blocked-idle` are COUNT threads that wait on a condition. Prints `ready` once
 * all are blocked. Usage: blocked SECONDS [COUNT] */
#include "account.h"

#include <pthread.h>
#include <signal.h>

static double seconds;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *read_for_ever(void *unused)
{
    (void)unused;
    name_thread("blocked-pipe");
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        exit(1);
    while (read(ends[0], &byte, 1) < 0) {
    }
    return NULL;
}

static void *hang(void *unused)
{
    (void)unused;
    name_thread("blocked-hung");
    pid_t child = vfork();
    if (child == 0) {
        /* Killing the parent ends it. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        name_thread("blocked-child");
        struct timespec rest = {.tv_sec = (time_t)seconds + 5};
        nanosleep(&rest, NULL);
        _exit(0);
    }
    return NULL;
}

static void *idle(void *unused)
{
    (void)unused;
    name_thread("blocked-idle");
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: blocked SECONDS [COUNT]\n");
        return 2;
    }
    seconds = duration_argument(argv[1]);
    int count = argc > 2 ? atoi(argv[2]) : 0;
    if (count < 0 || count > 2000) {
        fprintf(stderr, "COUNT must be 0 to 2000\n");
        return 2;
    }
    if (fork() == 0) {
        name_thread("blocked-dead");
        _exit(0);
    }
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    if (pthread_create(&thread, NULL, read_for_ever, NULL) != 0 || pthread_create(&thread, NULL, hang, NULL) != 0)
        return 1;
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread, &small, idle, NULL) != 0)
            return 1;
    sleep(1);
    printf("ready\n");
    fflush(stdout);
    struct timespec rest = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&rest, NULL);
    _exit(0);
}
