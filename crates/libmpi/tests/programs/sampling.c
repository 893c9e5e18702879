/* Sampled sections run three times, and their time passes ten times: with "measured" as argument, CPU time. */

#include <time.h>

#include "check.h"
#include "fabricsim.h"

#define SAMPLES 3
#define ALL 10

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void work(double seconds)
{
    double end = cpu() + seconds;
    while (cpu() < end)
        ;
}

int main(int argc, char **argv)
{
    int runs = 0, others = 0;
    double begin, sampled, all;
    FABRICSIM_SAMPLE(1) { runs++; }
    CHECK(runs == 1);
    MPI_Init(&argc, &argv);
    begin = MPI_Wtime();
    sampled = begin;
    runs = 0;
    for (int i = 0; i < ALL; i++) {
        FABRICSIM_SAMPLE(SAMPLES) {
            runs++;
            work(0.001 * runs);
        }
        if (i == SAMPLES - 1)
            sampled = MPI_Wtime();
        FABRICSIM_SAMPLE(1) { others++; }
    }
    all = MPI_Wtime() - begin;
    sampled -= begin;
    CHECK(runs == SAMPLES);
    CHECK(others == 1);
    if (argc > 1) {
        /* 1 + 2 + 3 ms, and 7 times 2 ms; beside them this program needs little. */
        CHECK(sampled >= 0.006);
        CHECK(all >= sampled * ALL / SAMPLES * 0.9 && all <= sampled * ALL / SAMPLES * 1.1 + 0.001);
    } else {
        CHECK(all == 0);
    }
    MPI_Finalize();
    return wrong;
}
