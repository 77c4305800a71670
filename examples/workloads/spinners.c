/* COUNT processes that spin for SECONDS, dealt in turn to CPUS CPUs, each forked from one parent. Each
 * prints the kernel's own account of it when it is done: `schedstat PID RUN_NANOSECONDS
 * WAIT_NANOSECONDS`. Usage: spinners COUNT SECONDS CPUS */
#include "workload.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

__attribute__((noinline)) void spin(double end)
{
    do {
        churn();
    } while (now_seconds() < end);
}

/* Field 1 of schedstat is time on a CPU, field 2 time ready but waiting for one. */
static void print_schedstat(void)
{
    unsigned long long run = 0, wait = 0;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &run, &wait) != 2) {
        perror("/proc/self/schedstat");
        exit(1);
    }
    fclose(file);
    char line[96];
    int length = snprintf(line, sizeof line, "schedstat %d %llu %llu\n", getpid(), run, wait);
    /* One write, so that lines of several processes don't mix. */
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: spinners COUNT SECONDS CPUS\n");
        return 2;
    }
    int count = atoi(argv[1]);
    double seconds = duration_argument(argv[2]);
    int cpus = atoi(argv[3]);
    if (count < 1 || count > 64 || cpus < 1) {
        fprintf(stderr, "COUNT must be 1 to 64 and CPUS at least 1\n");
        return 2;
    }
    double end = now_seconds() + seconds;
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 1;
        }
        if (child == 0) {
            /* Killing the parent ends the load. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pin(i % cpus);
            spin(end);
            print_schedstat();
            return 0;
        }
    }
    int failed = 0;
    for (int i = 0; i < count; i++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0)
            failed = 1;
    }
    return failed;
}
