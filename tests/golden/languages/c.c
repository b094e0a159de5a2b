#include <stdio.h>
#include "queue.h"

#define QUEUE_MAX 64
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* A job waits in the queue. */
typedef struct job {
    int id;
    char *name;
    struct job *next;
} job_t;

typedef struct { int width, height; } size_type;
typedef unsigned long ticks_t;
struct queue { job_t *head; };
union word { int whole; char parts[4]; };
enum state { WAITING, RUNNING = 4 };

static const int retries = 3;
extern int verbose;
int queue_length(const struct queue *queue);

// Adds a job at the end.
int queue_push(struct queue *queue, job_t *job)
{
    int local = 1;
    return local;
}

static char *job_name(job_t *job) { return job->name; }
const char **names(void) { return 0; }
