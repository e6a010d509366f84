/* The protocol of ActivityCounter.swift, for the model checker spin. Scripts/model-check runs it.
 *
 * Some threads begin and end activities. The timer fires at any moment while a delay runs. With SWITCH, another thread
 * disables and enables the indicator. A lock is held around each input of the state machine, as in IndicatorEngine.
 * START and COMPLETION say whether there are such delays.
 *
 * Checked in every interleaving: when all threads are done and no delay runs, the indicator is hidden and the phase is
 * that of an idle one, so no edge is lost; the indicator is not hidden at the end of the completion delay if the machine
 * has not considered the last end of work; it is shown exactly in the phases that say so.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

mtype = { Inactive, Disabled, DelayingStart, Active, DelayingCompletion };

byte count = 0;                     /* the word */
mtype phase = Inactive;
bool noted = false;                 /* lastEnd: an end was noted since the machine took it */
bool unseenEnd = false;             /* work has ended since the machine read the clock for the deadline or took a note */
byte readings = 0;                  /* of the clock, when the completion delay begins */
byte notes = 0;                     /* how many notes there were, and how many of them the machine has taken */
byte taken = 0;
bool lock = false;
byte done = 0;

/* the machine's own knowledge, under the lock */
bool isOn = true;
bool visible = false;

#define BUSY (count > 0)
#define END if :: count == 0 && phase == DelayingCompletion && called == readings && (mine == 0 || mine > taken) -> \
    unseenEnd = true :: else fi
#define LOCK atomic { !lock -> lock = true }
/* The indicator is shown in the phases that say so. */
#define UNLOCK assert(visible == (phase == Active || phase == DelayingCompletion)); lock = false

inline enterIdle() {                /* work has ended while active */
    phase = DelayingCompletion;     /* before the clock is read */
    atomic { readings++; unseenEnd = false };
    if
    :: COMPLETION -> skip
    :: else -> visible = false; phase = Inactive
    fi
}

inline enterBusy() {                /* work has begun while Inactive */
    if
    :: START -> phase = DelayingStart
    :: else -> visible = true; phase = Active
    fi
}

/* Stores the phase (done by the callers), reads the count, follows it, until the two agree. */
inline settle() {
    do
    :: phase == Inactive ->
        if
        :: BUSY -> enterBusy()
        :: else -> break
        fi
    :: phase == Active ->
        if
        :: BUSY -> break
        :: else -> enterIdle()
        fi
    :: else -> break
    od
}

inline report() {
    LOCK;
    settle();
    UNLOCK
}

proctype worker() {
    byte round = 0;
    byte old;
    byte called;                    /* when the call that ends the activity was made */
    byte mine;                      /* the number of its note, if it made one */
    bool seesCompletion;
    do
    :: round < ROUNDS ->
        /* begin: count, then look at the phase */
        atomic { old = count; count++ };
        if
        :: old == 0 && phase == Inactive -> report()
        :: else
        fi;
        /* end: look at the phase; note the time first if the completion delay runs; count; look at the phase */
        called = readings;
        mine = 0;
        seesCompletion = (phase == DelayingCompletion);
        if
        :: seesCompletion ->
            do
            :: old = count;
               if
               :: old == 1 -> atomic { noted = true; notes++; mine = notes }
               :: else
               fi;
               /* compare and exchange */
               if
               :: atomic { count == old -> count--; END }; break
               :: atomic { count != old -> skip }
               fi
            od
        :: else ->
            atomic { old = count; count--; END }
        fi;
        if
        :: old == 1 && phase == Active -> report()
        :: else
        fi;
        round++
    :: else -> break
    od;
    done++
}

/* Fires whenever a delay runs, on time or late. */
active proctype timer() {
    bool busy;
    bool end;
    bool judged;
    do
    :: LOCK;
        if
        :: phase == DelayingStart ->
            busy = BUSY;
            if
            :: busy -> visible = true; phase = Active
            :: else -> phase = Inactive
            fi;
            settle()
        :: phase == DelayingCompletion ->
            atomic { busy = BUSY; judged = unseenEnd && !busy };
            atomic { end = noted; noted = false; taken = notes };
            if
            :: busy -> unseenEnd = false; phase = Active
            :: !busy && end -> unseenEnd = false    /* an end since: the delay runs anew */
            :: else ->
                assert(!judged);                    /* hidden, though work has only just ended */
                visible = false; phase = Inactive
            fi;
            settle()
        :: else
        fi;
        UNLOCK
    :: done == WORKERS + SWITCH && phase != DelayingStart && phase != DelayingCompletion && !lock -> break
    od;
    /* Everything is over: no edge was lost. */
    assert(count == 0);
    assert(!visible || !isOn);
    assert(phase == (isOn -> Inactive : Disabled))
}

#if SWITCH
active proctype switch_() {
    LOCK;
    isOn = false; visible = false; phase = Disabled;
    UNLOCK;
    LOCK;
    isOn = true; phase = Inactive;
    settle();
    UNLOCK;
    done++
}
#endif

init {
    byte number = 0;
    atomic {
        do
        :: number < WORKERS -> run worker(); number++
        :: else -> break
        od
    }
}
