/* Makes COUNT system calls of a KIND that hardly anybody else makes, so that they can be told from the rest of
 * the machine's: `getppid`, `preadv` from /dev/zero, `pwritev` to /dev/null, `nanosleep` of 1 ms, or `flock`
 * on no file, which fails. Prints `elapsed_seconds 3.141593`
 * and `cpu_seconds 3.14`. With CPU it is pinned to it.
 * Usage: calls KIND COUNT [CPU] */
#include "workload.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static int file;

static void call_getppid(void)
{
    syscall(SYS_getppid);
}

static void call_preadv(void)
{
    char byte;
    struct iovec part = {&byte, 1};
    if (syscall(SYS_preadv, file, &part, 1, 0, 0) != 1)
        exit(1);
}

static void call_pwritev(void)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    if (syscall(SYS_pwritev, file, &part, 1, 0, 0) != 1)
        exit(1);
}

static void call_nanosleep(void)
{
    struct timespec time = {0, 1000000};
    if (syscall(SYS_nanosleep, &time, NULL) != 0)
        exit(1);
}

static void call_flock(void)
{
    if (syscall(SYS_flock, -1, LOCK_UN) != -1)
        exit(1);
}

static const struct {
    const char *name;
    void (*call)(void);
    const char *file;
} kinds[] = {
    {"getppid", call_getppid, NULL},      {"preadv", call_preadv, "/dev/zero"},
    {"pwritev", call_pwritev, "/dev/null"}, {"nanosleep", call_nanosleep, NULL},
    {"flock", call_flock, NULL},
};

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: calls KIND COUNT [CPU]\n");
        return 2;
    }
    long count = atol(argv[2]);
    if (count < 1 || count > 2000000000) {
        fprintf(stderr, "COUNT must be 1 to 2000000000\n");
        return 2;
    }
    alarm((unsigned)LONGEST_SECONDS);
    if (argc > 3)
        pin(atoi(argv[3]));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        if (kinds[i].file != NULL && (file = open(kinds[i].file, O_RDWR)) < 0) {
            perror(kinds[i].file);
            return 1;
        }
        double start = now_seconds();
        for (long n = 0; n < count; n++)
            kinds[i].call();
        printf("elapsed_seconds %.6f\n", now_seconds() - start);
        printf("cpu_seconds %.6f\n", own_cpu_seconds());
        return 0;
    }
    fprintf(stderr, "no such kind: %s\n", argv[1]);
    return 2;
}
