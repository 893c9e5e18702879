/* Clocks and sleeps of the C library: simulated for the rank's thread between MPI_Init and MPI_Finalize, real for
   others. Simulated time begins on 2026-01-01, and a day after the machine's start. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define DATE 1767225600L
#define DAY 86400L

static long long ns_of(clockid_t clock)
{
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Simulated time in ns, as each function shows it. */
static long long simulated(void)
{
    struct timespec utc;
    struct timeval day;
    long long now = ns_of(CLOCK_MONOTONIC) - DAY * 1000000000LL;
    CHECK(ns_of(CLOCK_REALTIME) == now + DATE * 1000000000LL);
    CHECK(ns_of(CLOCK_MONOTONIC_RAW) == now + DAY * 1000000000LL);
    CHECK(gettimeofday(&day, NULL) == 0);
    CHECK(day.tv_sec == DATE + now / 1000000000 && day.tv_usec == now % 1000000000 / 1000);
    CHECK(time(NULL) == DATE + now / 1000000000);
    CHECK(timespec_get(&utc, TIME_UTC) == TIME_UTC);
    CHECK(utc.tv_sec == DATE + now / 1000000000 && utc.tv_nsec == now % 1000000000);
    CHECK(MPI_Wtime() * 1e9 > now - 1 && MPI_Wtime() * 1e9 < now + 2);
    return now;
}

static void *other(void *semaphore)
{
    struct timespec little = {0, 20000000};
    long long before = ns_of(CLOCK_MONOTONIC);
    CHECK(time(NULL) > DATE + 30 * DAY);
    CHECK(nanosleep(&little, NULL) == 0);
    CHECK(ns_of(CLOCK_MONOTONIC) - before >= 20000000);
    sem_post(semaphore);
    return NULL;
}

static void waits(void)
{
    struct timespec until;
    sem_t semaphore;
    pthread_t thread;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    long long before = simulated();

    sem_init(&semaphore, 0, 0);
    CHECK(pthread_create(&thread, NULL, other, &semaphore) == 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 300;
    CHECK(sem_timedwait(&semaphore, &until) == 0);
    pthread_join(thread, NULL);
    CHECK(simulated() == before);

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = (until.tv_nsec + 30000000) % 1000000000;
    until.tv_sec += until.tv_nsec < 30000000;
    CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
    CHECK(simulated() == before + 30000000);
    pthread_mutex_lock(&mutex);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
    until.tv_sec += until.tv_nsec < 10000000;
    CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT);
    CHECK(simulated() == before + 40000000);
}

int main(int argc, char **argv)
{
    struct timespec long_time = {1000, 250000000}, until, negative = {0, -1};
    struct timeval while_selecting = {3, 500000};
    long long before, real = ns_of(CLOCK_PROCESS_CPUTIME_ID);

    CHECK(time(NULL) > DATE + 30 * DAY);
    MPI_Init(&argc, &argv);
    CHECK(simulated() == 0);
    CHECK(nanosleep(&long_time, NULL) == 0);
    CHECK(sleep(7) == 0);
    CHECK(usleep(5) == 0);
    CHECK(select(0, NULL, NULL, NULL, &while_selecting) == 0);
    before = simulated();
    CHECK(before == 1010750005000LL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
    CHECK(simulated() == before + 2000000000);
    CHECK(clock_nanosleep(CLOCK_REALTIME, 0, &long_time, NULL) == 0);
    CHECK(simulated() == before + 1002250000000LL);
    CHECK(nanosleep(&negative, NULL) == -1 && errno == EINVAL);
    CHECK(ns_of(CLOCK_PROCESS_CPUTIME_ID) - real < 1000000000LL * 100);

    /* A loop that waits for a time ends, and the first readings are free. */
    before = simulated();
    while (ns_of(CLOCK_MONOTONIC) - DAY * 1000000000LL < before + 1000)
        ;
    MPI_Barrier(MPI_COMM_WORLD);
    waits();
    MPI_Finalize();
    before = time(NULL);
    CHECK(before >= DATE && before < DATE + DAY);
    CHECK(sleep(100) == 0 && time(NULL) >= before + 100);
    return wrong;
}
