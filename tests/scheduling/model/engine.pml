/* Formal model of row locks, hints, the sweep and the fallback from Redis to the database, for Spin.
 *
 * Two workers, an editor who moves and cancels tasks, sweep, refresh, a clock, and faults. A step is a statement with
 * its locks, a commit, or a command to Redis; all orders of steps are checked. Until the faults stop, each process may
 * crash at each step, and Redis may be lost, come back, or come back with whatever an old replica contained.
 *
 * Each -DNO_... removes a guard; then a property must be violated, see test_engine_model.py.
 */

#ifndef TASKS
#define TASKS 1
#endif
#ifndef EDITS
#define EDITS 1    /* transactions of the editor at most */
#endif
#ifndef LAST
#define LAST 1     /* the last instant; the first is 0 */
#endif
#define NEVER 9    /* no due time */
#define UNOWNED 255 /* not locked */

/* The database: what is committed, and who has locked the rows. */
bool pending[TASKS] = true, executed[TASKS], cancelled[TASKS];
bool version[TASKS];
byte due[TASKS] = LAST, owner[TASKS] = UNOWNED;
byte now;

/* Redis: when waiting hints are due, and which hints are ready. */
bool redis = true, ready[TASKS];
byte future[TASKS] = NEVER;

bool faults = true;

#ifdef NO_TIME_CHECK
#define DUE(task) true
#else
#define DUE(task) (due[task] <= now)
#endif
#ifdef NO_ROW_CHECK
#define THERE(task) true
#else
#define THERE(task) pending[task]
#endif
#ifdef NO_ROW_LOCK
#define UNLOCKED(task) true
#define LOCK(task) skip
#else
#define UNLOCKED(task) (owner[task] == UNOWNED)
#define LOCK(task) owner[task] = _pid
#endif
#ifdef NO_WAITING_EDITOR
#define MAY_EDIT(task) true
#else
#define MAY_EDIT(task) (owner[task] == UNOWNED)
#endif

#define OVERDUE(task) (pending[task] && due[task] <= now && owner[task] == UNOWNED)

#define EACH(task) task = 0; do :: task == TASKS -> break :: task < TASKS ->
#define DONE(task) ; task++ od; task = 0
#define WHEN(condition, action) if :: condition -> action :: else fi
#define UNLOCK_ALL EACH(task) WHEN(owner[task] == _pid, owner[task] = UNOWNED) DONE(task)

/* A process may crash instead of taking a step. Its open transaction is rolled back. */
#define OR_CRASH :: faults -> d_step { UNLOCK_ALL } goto restart

#define PROMOTE(clock) EACH(task) WHEN(future[task] <= clock, ready[task] = true; future[task] = NEVER) DONE(task)

proctype Worker() {
    byte task, clock, held; /* how many rows it has locked */
    bool mine[TASKS], locked[TASKS], seen[TASKS], has_hints;

restart:
    atomic { EACH(task) mine[task] = false; locked[task] = false; seen[task] = 0 DONE(task); held = 0 }
end:
    do
    :: atomic { /* pop hints, by a clock that may be wrong, or find due tasks in the database */
        if
        :: redis ->
            if :: clock = now :: clock = LAST :: clock = 0 fi;
            d_step {
                PROMOTE(clock);
                EACH(task) mine[task] = ready[task]; has_hints = has_hints || mine[task]; ready[task] = false DONE(task);
                clock = 0
            }
#ifndef NO_FALLBACK
        :: !redis || faults ->
            d_step { EACH(task) mine[task] = OVERDUE(task); has_hints = has_hints || mine[task] DONE(task) }
#endif
        fi;
        if :: has_hints -> has_hints = false :: else -> goto end fi }
        if
        :: d_step { /* SELECT ... FOR UPDATE SKIP LOCKED */
            EACH(task)
                WHEN(mine[task] && UNLOCKED(task) && THERE(task) && DUE(task),
                     LOCK(task); mine[task] = false; locked[task] = true; held++; seen[task] = version[task])
            DONE(task) }
        OR_CRASH
        fi;
        if
        :: d_step { held > 0 -> /* the handler has run: COMMIT */
            EACH(task)
                if
                :: locked[task] ->
                    assert(due[task] <= now);              /* never early */
                    assert(!executed[task]);               /* never twice */
                    assert(!cancelled[task]);              /* not after it was cancelled */
                    assert(seen[task] == version[task]);   /* not as it was before it was moved */
                    executed[task] = true;
#ifndef NO_DELETE
                    pending[task] = false;
#endif
                    locked[task] = false; seen[task] = 0
                :: else
                fi
            DONE(task);
            UNLOCK_ALL;
            held = 0 }
        :: held == 0
        OR_CRASH
        fi;
        d_step { /* push back the hints of tasks that are not due */
            EACH(task)
                WHEN(mine[task] && redis && pending[task] && due[task] > now, future[task] = due[task]);
                mine[task] = false
            DONE(task)
        }
    od
}

proctype Editor() {
    byte task, edits, chosen;

restart:
end:
    do
    :: edits < EDITS -> atomic { edits++; if :: chosen = 0 :: TASKS > 1 -> chosen = TASKS - 1 fi }
        if
        :: atomic { pending[chosen] && MAY_EDIT(chosen) -> WHEN(owner[chosen] == UNOWNED, owner[chosen] = _pid) }
        :: !pending[chosen] -> goto restart /* refused */
        fi;
        if
        :: d_step { due[chosen] = LAST - due[chosen]; version[chosen] = !version[chosen]; UNLOCK_ALL } /* move */
            if
            :: d_step { WHEN(redis, future[chosen] = due[chosen]; PROMOTE(now)) } /* push the hint */
            OR_CRASH
            fi
        :: d_step { cancelled[chosen] = true; pending[chosen] = false; UNLOCK_ALL } /* cancel */
            if
            :: d_step { WHEN(redis, future[chosen] = NEVER) } /* discard the hint */
            OR_CRASH
            fi
        OR_CRASH
        fi
    od
}

proctype Sweep() {
    byte task, first;
    bool found[TASKS], is_empty, has_found;

restart:
    atomic { EACH(task) found[task] = false DONE(task) }
end:
    do
    :: atomic { redis -> /* overdue tasks that are not locked; if hints are ready, only those due before them */
        d_step {
            first = NEVER; is_empty = true;
            EACH(task)
                WHEN(ready[task], is_empty = false; WHEN(pending[task] && due[task] < first, first = due[task]))
            DONE(task);
            EACH(task)
                found[task] = OVERDUE(task) && (is_empty || (first != NEVER && due[task] < first));
                has_found = has_found || found[task]
            DONE(task);
            first = 0; is_empty = false
        }
        if :: has_found -> has_found = false :: else -> goto end fi }
        if
        :: d_step { /* requeue */
            EACH(task)
#ifndef NO_SWEEP
                WHEN(found[task] && redis, ready[task] = true);
#endif
                found[task] = false
            DONE(task) }
        OR_CRASH
        fi
    od
}

proctype Refresh() {
    byte task, hint[TASKS] = NEVER;
    bool has_hints;

restart:
    atomic { EACH(task) hint[task] = NEVER DONE(task) }
end:
    do
    :: atomic { redis -> /* read the window */
        d_step {
            EACH(task) WHEN(pending[task] && due[task] >= now, hint[task] = due[task]; has_hints = true) DONE(task)
        }
        if :: has_hints -> has_hints = false :: else -> goto end fi }
        if
        :: d_step { /* push it */
            EACH(task) WHEN(redis && hint[task] != NEVER, future[task] = hint[task]); hint[task] = NEVER DONE(task);
            WHEN(redis, PROMOTE(now)) }
        OR_CRASH
        fi
    od
}

proctype Clock() {
end:
    do :: now < LAST -> now++ od
}

proctype Redis() {
    byte task;
end:
    do
    :: atomic { faults ->
        if
        :: redis = !redis
        :: task = 0; /* empty, or an old replica */
            do
            :: task < TASKS ->
                if :: future[task] = NEVER :: future[task] = 0 :: future[task] = LAST fi;
                if :: ready[task] = true :: ready[task] = false fi;
                task++
            :: task == TASKS -> task = 0; break
            od
        fi }
    od
}

proctype Peace() {
end:
    do :: faults -> faults = false od
}

init {
    atomic {
        if :: due[0] = 0 :: true fi;
        run Worker(); run Worker(); run Editor(); run Sweep(); run Refresh(); run Clock(); run Redis(); run Peace()
    }
}

/* Once the faults have stopped, each task is executed or cancelled. */
ltl done { <> (!pending[0] && !pending[TASKS - 1]) }
