/* A wall clock of a process's own, for tests: LD_PRELOAD, with STEPPING_CLOCK naming a file of one
 * 64-bit number, the nanoseconds by which the clock is off now.  The monotonic clocks go on.
 *
 * A timed wait that ends at a wall-clock time ends at that time of this clock.  libfaketime leaves
 * C11's cnd_timedwait out, in which librdkafka waits; so threads of it would sleep for the step.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define WALL 1000000000LL /* seconds: later than that since boot no machine is */

static volatile int64_t *off;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("STEPPING_CLOCK"), O_RDONLY);
    void *at = mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) abort();
    off = at;
    close(file);
}

static struct timespec moved(struct timespec at, int64_t by) {
    int64_t all = at.tv_sec * SECOND + at.tv_nsec + by;
    return (struct timespec){all / SECOND, all % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = (int)syscall(SYS_clock_gettime, clock, at);
    if (!failed && off && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *at = moved(*at, *off);
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *at = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
    clock_gettime(CLOCK_REALTIME, at);
    return base;
}

static struct timespec right(const struct timespec *at) {
    return at->tv_sec > WALL && off ? moved(*at, -*off) : *at;
}

#define REAL(name) ((__typeof__(&name))next(#name))

static void *next(const char *name) {
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"); /* not the oldest, where there are two */
    return found ? found : dlsym(RTLD_NEXT, name);
}

int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *at) {
    struct timespec until = right(at);
    return REAL(cnd_timedwait)(cond, mutex, &until);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *at) {
    struct timespec until = right(at);
    return REAL(pthread_cond_timedwait)(cond, mutex, &until);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *at) {
    struct timespec until = right(at);
    return REAL(sem_timedwait)(semaphore, &until);
}
