/* Preloaded into a process, adds an offset in nanoseconds to its wall clock. The offset is the first eight bytes of the
 * file named by CLOCK_OFFSET and may be changed at any time; the monotonic clock stays. Debian's libfaketime cannot do
 * that: its clock_nanosleep() refuses Python's absolute times (EINVAL) unless it changes the monotonic clock, too. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;
static int (*original)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CLOCK_OFFSET");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED)
        offset = memory;
    if (file >= 0)
        close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!original)
        original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = original(clock, now);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t moment = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + *offset;
        now->tv_sec = moment / INT64_C(1000000000);
        now->tv_nsec = moment % INT64_C(1000000000);
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    int result = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}

/* A wait ends at a moment of the wall clock, which the kernel reads, or of the monotonic one, which is near zero. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict end) {
    if (end->tv_sec < 1000000000)
        return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, end);
    int64_t moment = end->tv_sec * INT64_C(1000000000) + end->tv_nsec - (offset ? *offset : 0);
    struct timespec real = {moment / INT64_C(1000000000), moment % INT64_C(1000000000)};
    return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &real);
}
