/* The protocol of ActivityCounter.swift, for the model checker spin. Scripts/check runs it.
 *
 * Some threads begin and end activities. The timer fires at any moment while a delay runs. With SWITCH, another thread
 * disables and enables the indicator. A lock is held around each input of the state machine, as in IndicatorEngine.
 * START and COMPLETION set whether there are such delays.
 *
 * Checked in every interleaving: when all threads are done and no delay runs, the indicator is hidden and its phase is
 * idle, so no edge is lost; the indicator is not hidden at the end of the completion delay if the machine has not
 * considered the last end of work; it is shown exactly in the phases Active and DelayingCompletion.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

mtype = { Inactive, Disabled, DelayingStart, Active, DelayingCompletion };

/* the word: one atomic value, so reading or changing both parts is one step */
byte count = 0;
mtype phase = Inactive;

bool noted = false;                 /* lastEnd: an end was noted since the machine took it */
bool unseenEnd = false;             /* work has ended since the machine read the clock for the deadline or took a note */
byte readings = 0;                  /* of the clock, when the completion delay begins */
byte notes = 0;                     /* how many notes there were, and how many of them the machine has taken */
byte taken = 0;
bool lock = false;
byte done = 0;

/* the state of the machine, under the lock */
bool isOn = true;
bool visible = false;
bool busy = false;                  /* what the count was when the phase was set */

#define LOCK atomic { !lock -> lock = true }
/* The indicator is shown in these two phases. */
#define UNLOCK assert(visible == (phase == Active || phase == DelayingCompletion)); lock = false
/* setPhase: one operation on the word */
#define SET(new) atomic { phase = new; busy = (count > 0) }

/* Changes the phase until it agrees with the count. */
inline settle() {
    atomic { busy = (count > 0) };
    do
    :: phase == Inactive && busy ->
        if
        :: START -> SET(DelayingStart)
        :: else -> visible = true; SET(Active)
        fi
    :: phase == Active && !busy ->
        atomic { readings++; unseenEnd = false };   /* reads the clock */
        if
        :: COMPLETION -> SET(DelayingCompletion)
        :: else -> visible = false; SET(Inactive)
        fi
    :: else -> break
    od
}

/* Decrements the count while `condition` holds. `did` is whether it was decremented. */
inline subtract(condition) {
    did = false;
    do
    :: atomic { oldCount = count; oldPhase = phase };
       if
       :: !(condition) -> break
       :: else
       fi;
       if
       :: oldCount == 1 && oldPhase == DelayingCompletion -> atomic { noted = true; notes++; mine = notes }
       :: else
       fi;
       /* compare and exchange */
       if
       :: atomic { count == oldCount && phase == oldPhase ->
              count--;
              if
              :: count == 0 && phase == DelayingCompletion && called == readings && (mine == 0 || mine > taken) ->
                  unseenEnd = true
              :: else
              fi };
          did = true;
          break
       :: atomic { count != oldCount || phase != oldPhase -> skip }
       fi
    od
}

proctype worker() {
    byte round = 0;
    byte oldCount;
    mtype oldPhase;
    bool did;
    byte called;                    /* when the call that ends the activity was made */
    byte mine;                      /* the number of its note, if it made one */
    do
    :: round < ROUNDS ->
        /* begin */
        atomic { oldCount = count; oldPhase = phase; count++ };
        if
        :: oldCount == 0 && oldPhase == Inactive -> LOCK; settle(); UNLOCK
        :: else
        fi;
        /* end */
        called = readings;
        mine = 0;
        subtract(oldCount > 1 || oldPhase != Active);
        if
        :: !did -> LOCK; subtract(true); settle(); UNLOCK
        :: else
        fi;
        round++
    :: else -> break
    od;
    done++
}

/* Fires whenever a delay runs, on time or late. */
active proctype timer() {
    bool isBusy;
    bool end;
    bool judged;
    do
    :: LOCK;
        if
        :: phase == DelayingStart ->
            isBusy = (count > 0);
            if
            :: isBusy -> visible = true; SET(Active)
            :: else -> SET(Inactive)
            fi;
            settle()
        :: phase == DelayingCompletion ->
            atomic { isBusy = (count > 0); judged = unseenEnd && !isBusy };
            atomic { end = noted; noted = false; taken = notes };
            if
            :: isBusy -> unseenEnd = false; SET(Active)
            :: !isBusy && end -> unseenEnd = false  /* an end since: the delay restarts */
            :: else ->
                assert(!judged);                    /* hidden, though work has only just ended */
                visible = false; SET(Inactive)
            fi;
            settle()
        :: else
        fi;
        UNLOCK
    :: done == WORKERS + SWITCH && phase != DelayingStart && phase != DelayingCompletion && !lock -> break
    od;
    /* All threads are done: no edge was lost. */
    assert(count == 0);
    assert(!visible || !isOn);
    assert(phase == (isOn -> Inactive : Disabled))
}

#if SWITCH
active proctype switch_() {
    LOCK;
    isOn = false; visible = false; SET(Disabled);
    UNLOCK;
    LOCK;
    isOn = true; SET(Inactive);
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
