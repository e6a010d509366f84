/* The protocol of ActivityCounter.swift, for the model checker spin. Scripts/check runs it.
 *
 * Some threads begin and end activities. The timer fires at any moment while a delay runs or a publication is
 * postponed. With SWITCH, another thread disables and enables the indicator. A lock is held around each input of the
 * state machine, as in IndicatorEngine. START and COMPLETION set whether there are such delays. With OBSERVED, a
 * receiver observes the count: then every change is reported, except while a publication is postponed.
 *
 * Checked in every interleaving: when all threads are done and no delay runs, the indicator is hidden and its phase is
 * idle, so no edge is lost; when all threads are done and no publication is postponed, the count was published, so no
 * change is lost; the indicator is not hidden at the end of the completion delay if the machine has not considered the
 * last end of work; it is shown exactly in the phases Active and DelayingCompletion.
 *
 * With BROKEN the order of two steps is reversed, and spin must find that: 1, an end during the completion delay is
 * noted after the count has changed; 2, a snapshot is made before reports are requested.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef SWITCH
#define SWITCH 0
#endif
#ifndef OBSERVED
#define OBSERVED 0
#endif
#ifndef BROKEN
#define BROKEN 0
#endif

mtype = { Inactive, Disabled, DelayingStart, Active, DelayingCompletion };

/* the word: one atomic value, so reading or changing its parts is one step */
byte count = 0;
mtype phase = Inactive;
bool reporting = OBSERVED;

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
byte published = 0;                 /* the count in the latest snapshot */
bool due = false;                   /* whether a publication is postponed */
bool hasPublished = false;          /* whether this input has published */

#define LOCK atomic { !lock -> lock = true; hasPublished = false }
/* The indicator is shown in these two phases. */
#define UNLOCK assert(visible == (phase == Active || phase == DelayingCompletion)); lock = false
/* setPhase: one operation on the word */
#define SET(new) atomic { phase = new; busy = (count > 0) }

/* Requests reports, sets the phase, and then makes a snapshot. */
inline publish(new) {
    if
    :: BROKEN == 2 -> published = count; reporting = OBSERVED; SET(new)
    :: else -> reporting = OBSERVED; SET(new); published = count
    fi;
    due = false;
    hasPublished = true
}

/* Publishes a change of the count, now or later. Until then, no further one is reported. */
inline publishSoon() {
    if
    :: OBSERVED && !due && !hasPublished ->
        if
        :: publish(phase)
        :: due = true; reporting = false
        fi
    :: else
    fi
}

/* Changes the phase until it agrees with the count. */
inline settle() {
    atomic { busy = (count > 0) };
    do
    :: phase == Inactive && busy ->
        if
        :: START -> SET(DelayingStart)
        :: else -> visible = true; publish(Active)
        fi
    :: phase == Active && !busy ->
        atomic { readings++; unseenEnd = false };   /* reads the clock */
        if
        :: COMPLETION -> SET(DelayingCompletion)
        :: else -> visible = false; publish(Inactive)
        fi
    :: else -> break
    od
}

#define NOTE atomic { noted = true; notes++; mine = notes }

/* Decrements the count while `condition` holds. `did` is whether it was decremented. */
inline subtract(condition) {
    did = false;
    do
    :: atomic { oldCount = count; oldPhase = phase; oldReporting = reporting };
       if
       :: !(condition) -> break
       :: else
       fi;
       if
       :: BROKEN != 1 && oldCount == 1 && oldPhase == DelayingCompletion -> NOTE
       :: else
       fi;
       /* compare and exchange */
       if
       :: atomic { count == oldCount && phase == oldPhase && reporting == oldReporting ->
              count--;
              if
              :: count == 0 && phase == DelayingCompletion && called == readings && (mine == 0 || mine > taken) ->
                  unseenEnd = true
              :: else
              fi };
          did = true;
          if
          :: BROKEN == 1 && oldCount == 1 && oldPhase == DelayingCompletion -> NOTE
          :: else
          fi;
          break
       :: atomic { count != oldCount || phase != oldPhase || reporting != oldReporting -> skip }
       fi
    od
}

proctype worker() {
    byte round = 0;
    byte oldCount;
    mtype oldPhase;
    bool oldReporting;
    bool did;
    byte called;                    /* when the call that ends the activity was made */
    byte mine;                      /* the number of its note, if it made one */
    do
    :: round < ROUNDS ->
        /* begin */
        atomic { oldCount = count; oldPhase = phase; oldReporting = reporting; count++ };
        if
        :: oldReporting || oldCount == 0 && oldPhase == Inactive -> LOCK; settle(); publishSoon(); UNLOCK
        :: else
        fi;
        /* end */
        called = readings;
        mine = 0;
        subtract(!oldReporting && (oldCount > 1 || oldPhase != Active));
        if
        :: !did -> LOCK; subtract(true); settle(); publishSoon(); UNLOCK
        :: else
        fi;
        round++
    :: else -> break
    od;
    done++
}

/* Fires whenever a delay runs or a publication is postponed, on time or late. */
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
            :: isBusy -> visible = true; publish(Active)
            :: else -> SET(Inactive)
            fi;
            settle(); publishSoon()
        :: phase == DelayingCompletion ->
            atomic { isBusy = (count > 0); judged = unseenEnd && !isBusy };
            atomic { end = noted; noted = false; taken = notes };
            if
            :: isBusy -> unseenEnd = false; SET(Active)
            :: !isBusy && end -> unseenEnd = false  /* an end since: the delay restarts */
            :: else ->
                assert(!judged);                    /* hidden, though work has only just ended */
                visible = false; publish(Inactive)
            fi;
            settle(); publishSoon()
        :: due -> publish(phase); settle()
        :: else
        fi;
        UNLOCK
    :: done == WORKERS + SWITCH && phase != DelayingStart && phase != DelayingCompletion && !due && !lock -> break
    od;
    /* All threads are done: no edge was lost. */
    assert(count == 0);
    assert(!visible || !isOn);
    assert(phase == (isOn -> Inactive : Disabled))
}

#if OBSERVED
/* All threads are done, at any moment from then on: no change was lost. */
active proctype observer() {
    atomic { done == WORKERS + SWITCH && !lock && reporting && !due -> assert(published == count) }
}
#endif

#if SWITCH
active proctype switch_() {
    LOCK;
    isOn = false; visible = false; publish(Disabled);
    UNLOCK;
    LOCK;
    isOn = true; SET(Inactive);
    settle(); publishSoon();
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
