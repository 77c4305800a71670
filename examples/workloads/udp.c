/* UDP over loopback: a flood, or datagrams that the kernel has to drop.
 * Usage: udp flood SECONDS   sends to itself from as many threads as there are CPUs; prints `sent N`
 *        udp closed COUNT    sends COUNT datagrams to a closed port; prints `sent COUNT`
 *        udp full COUNT      sends COUNT datagrams to a socket and reads it only then; prints `sent COUNT`
 *                            and how many were not there, `dropped N` */
#include "workload.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#define MOST_THREADS 8

static double end;
static long sent[MOST_THREADS];

static int bound_socket(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    socklen_t length = sizeof *address;
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0) {
        perror("socket");
        exit(1);
    }
    return fd;
}

static void *flood(void *argument)
{
    long *count = argument;
    struct sockaddr_in address;
    int fd = bound_socket(&address);
    char datagram[64] = {0};
    while (now_seconds() < end) {
        for (int i = 0; i < 64; i++)
            if (sendto(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&address, sizeof address) > 0)
                ++*count;
        while (recv(fd, datagram, sizeof datagram, MSG_DONTWAIT) > 0) {
        }
    }
    close(fd);
    return NULL;
}

static int dropped(long count, int leave_open)
{
    struct sockaddr_in address;
    int receiver = bound_socket(&address);
    if (!leave_open)
        close(receiver);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    char datagram[8] = {0};
    long done = 0;
    for (long i = 0; i < count; i++)
        done += sendto(fd, datagram, sizeof datagram, 0, (struct sockaddr *)&address, sizeof address) > 0;
    printf("sent %ld\n", done);
    if (leave_open) {
        long there = 0;
        while (recv(receiver, datagram, sizeof datagram, MSG_DONTWAIT) > 0)
            there++;
        printf("dropped %ld\n", done - there);
    }
    return done != count;
}

int main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "closed") == 0 || strcmp(argv[1], "full") == 0))
        return dropped(atol(argv[2]) % 1000000, argv[1][0] == 'f');
    if (argc != 3 || strcmp(argv[1], "flood") != 0) {
        fprintf(stderr, "usage: udp flood SECONDS | udp closed COUNT | udp full COUNT\n");
        return 2;
    }
    end = now_seconds() + duration_argument(argv[2]);
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread[MOST_THREADS];
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, flood, &sent[i]) != 0) {
            perror("pthread_create");
            return 1;
        }
    long total = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        total += sent[i];
    }
    printf("sent %ld\n", total);
    return 0;
}
