/* Sampled computation of programs that FabricSim runs. Elsewhere, and without its library, every section runs.

       for (int step = 0; step < 1000; step++) {
           FABRICSIM_SAMPLE(10) { relax(cells); }
           MPI_Sendrecv(...);
       }

   Each rank runs the section ten times. Later executions are skipped, and take the mean CPU time of these: what the
   program computes is then wrong, and decisions that depend on it too. The section calls no function of MPI, and is
   left at its end only: without break, return or goto. */

#ifndef FABRICSIM_H
#define FABRICSIM_H

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if the section has to run, 0 if its time has passed. */
__attribute__((weak)) int fabricsim_sample_begin(const char *file, int line, int most);
__attribute__((weak)) void fabricsim_sample_end(void);

#ifdef __cplusplus
}
#endif

#define FABRICSIM_SAMPLE(most)                                                                              \
    for (int fabricsim_runs = fabricsim_sample_begin ? fabricsim_sample_begin(__FILE__, __LINE__, most) : 1; \
         fabricsim_runs; fabricsim_runs = 0, fabricsim_sample_end ? fabricsim_sample_end() : (void)0)

#endif
