/* TCP through a link of a known delay that loses what it is told to: a TUN device in a network namespace of
 * its own, whose other end sends each packet back with source and destination exchanged (which leaves all
 * checksums right), so that both ends of a connection are in this process.
 *
 * Usage: delayed_tcp DELAY_MS ROUNDS [LOSE_EVERY [LOSE_SYNS [LOSE_SYN_ACKS]]]
 * CONNECTIONS connections exchange 64 bytes in each of ROUNDS rounds. Of the segments with data one in
 * LOSE_EVERY is lost, and the first so many SYNs and SYN-ACKs. Prints, after the last round,
 *     rtt_us MEAN           mean of the connections' smoothed round-trip times (TCP_INFO)
 *     data_segments N       segments that carried data, both ways
 *     retransmitted N       RetransSegs of the namespace: everything that TCP sent again
 *     syn_retransmitted N   TCPSynRetrans of the namespace: SYNs and SYN-ACKs among them */
#include "workload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define CONNECTIONS 8
#define MESSAGE 64
#define PORT 5001
/* Packets under way at once; what does not fit is lost, as on a real link. */
#define QUEUE 1024
#define PACKET 2048

static const char *const here = "10.201.7.1", *const there = "10.201.7.2";
static int tun;
static double delay;
static long lose_every, lose_syns, lose_syn_acks, data_segments;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_in address(const char *text, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

static void make_link(void)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(request.ifr_name, "ek-delay");
    if (unshare(CLONE_NEWNET) != 0)
        fail("unshare");
    tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0)
        fail("/dev/net/tun");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = address(here, 0), mask = address("255.255.255.0", 0);
    memcpy(&request.ifr_addr, &own, sizeof own);
    if (ioctl(fd, SIOCSIFADDR, &request) != 0)
        fail("SIOCSIFADDR");
    memcpy(&request.ifr_netmask, &mask, sizeof mask);
    if (ioctl(fd, SIOCSIFNETMASK, &request) != 0)
        fail("SIOCSIFNETMASK");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        fail("SIOCSIFFLAGS");
    close(fd);
}

/* Whether the link loses this packet. */
static int is_lost(const unsigned char *packet, long length)
{
    if (length < 40 || packet[0] >> 4 != 4 || packet[9] != IPPROTO_TCP)
        return 1;
    long header = (packet[0] & 15) * 4, total = packet[2] << 8 | packet[3];
    if (length < header + 20)
        return 1;
    unsigned char flags = packet[header + 13];
    if (flags & 2) /* SYN */
        return flags & 16 ? lose_syn_acks-- > 0 : lose_syns-- > 0;
    if (total - header - (packet[header + 12] >> 4) * 4 <= 0)
        return 0;
    data_segments++;
    return lose_every > 0 && data_segments % lose_every == 0;
}

static void *run_link(void *argument)
{
    static unsigned char packets[QUEUE][PACKET];
    static long lengths[QUEUE];
    static double due[QUEUE];
    unsigned long first = 0, next = 0;
    (void)argument;
    for (;;) {
        double wait = first == next ? 1.0 : due[first % QUEUE] - now_seconds();
        struct timespec timeout = {.tv_sec = wait >= 1.0, .tv_nsec = wait > 0.0 && wait < 1.0 ? (long)(wait * 1e9) : 0};
        struct pollfd ready = {.fd = tun, .events = POLLIN};
        ppoll(&ready, 1, &timeout, NULL);
        for (; next - first < QUEUE; next++) {
            unsigned char *packet = packets[next % QUEUE];
            long length = read(tun, packet, PACKET);
            if (length <= 0)
                break;
            if (is_lost(packet, length)) {
                next--;
                continue;
            }
            unsigned char source[4];
            memcpy(source, packet + 12, 4);
            memmove(packet + 12, packet + 16, 4);
            memcpy(packet + 16, source, 4);
            lengths[next % QUEUE] = length;
            due[next % QUEUE] = now_seconds() + delay;
        }
        for (; first != next && due[first % QUEUE] <= now_seconds(); first++)
            if (write(tun, packets[first % QUEUE], (size_t)lengths[first % QUEUE]) < 0 && errno != EAGAIN)
                fail("write to the link");
    }
    return NULL;
}

static void move(int fd, int write_it)
{
    char message[MESSAGE] = {0};
    for (long done = 0; done < MESSAGE;) {
        long moved = write_it ? write(fd, message, (size_t)(MESSAGE - done)) : read(fd, message, (size_t)(MESSAGE - done));
        if (moved <= 0)
            fail(write_it ? "write" : "read");
        done += moved;
    }
}

/* The value of a column of /proc/self/net/FILE, whose lines are in pairs of names and values. */
static long counter(const char *file, const char *prefix, const char *name)
{
    static char names[16384], values[16384];
    FILE *lines = fopen(file, "r");
    if (!lines)
        fail(file);
    long found = -1;
    while (found < 0 && fgets(names, sizeof names, lines) && fgets(values, sizeof values, lines)) {
        if (strncmp(names, prefix, strlen(prefix)) != 0)
            continue;
        char *name_place, *value_place;
        char *one = strtok_r(names, " \n", &name_place), *other = strtok_r(values, " \n", &value_place);
        for (; one && other; one = strtok_r(NULL, " \n", &name_place), other = strtok_r(NULL, " \n", &value_place))
            if (strcmp(one, name) == 0)
                found = atol(other);
    }
    fclose(lines);
    return found;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: delayed_tcp DELAY_MS ROUNDS [LOSE_EVERY [LOSE_SYNS [LOSE_SYN_ACKS]]]\n");
        return 2;
    }
    delay = (double)(atoi(argv[1]) % 1000) / 1e3;
    long rounds = atol(argv[2]) % 1000000;
    lose_every = argc > 3 ? atol(argv[3]) : 0;
    lose_syns = argc > 4 ? atol(argv[4]) : 0;
    lose_syn_acks = argc > 5 ? atol(argv[5]) : 0;
    alarm(120);
    make_link();
    pthread_t link;
    if (pthread_create(&link, NULL, run_link, NULL) != 0)
        fail("pthread_create");

    int listener = socket(AF_INET, SOCK_STREAM, 0), client[CONNECTIONS], server[CONNECTIONS], one = 1;
    struct sockaddr_in own = address(here, PORT), other = address(there, PORT);
    if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || listen(listener, CONNECTIONS) != 0)
        fail("listen");
    for (int i = 0; i < CONNECTIONS; i++) {
        client[i] = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(client[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connect(client[i], (struct sockaddr *)&other, sizeof other) != 0)
            fail("connect");
        server[i] = accept(listener, NULL, NULL);
        if (server[i] < 0)
            fail("accept");
        setsockopt(server[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    for (long round = 0; round < rounds; round++)
        for (int back = 0; back < 2; back++) {
            for (int i = 0; i < CONNECTIONS; i++)
                move(back ? server[i] : client[i], 1);
            for (int i = 0; i < CONNECTIONS; i++)
                move(back ? client[i] : server[i], 0);
        }
    double rtt = 0.0;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct tcp_info info;
        socklen_t length = sizeof info;
        if (getsockopt(client[i], IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
            fail("TCP_INFO");
        rtt += info.tcpi_rtt;
    }
    printf("rtt_us %.1f\n", rtt / CONNECTIONS);
    printf("data_segments %ld\n", data_segments);
    printf("retransmitted %ld\n", counter("/proc/self/net/snmp", "Tcp:", "RetransSegs"));
    printf("syn_retransmitted %ld\n", counter("/proc/self/net/netstat", "TcpExt:", "TCPSynRetrans"));
    return 0;
}
