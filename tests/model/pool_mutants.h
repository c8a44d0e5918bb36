/* SPDX-License-Identifier: MIT */
/* pool_mutants.h - what can be got wrong: MUTANT(name, the run it must show in, the step
 * it breaks, what).
 * Each is one line of the engine left out, moved or weakened. */
MUTANT(NO_REREAD,
       core_late,
       "reread_q",
       "a release does not read Q again after publishing")
MUTANT(SCAN_BEFORE_QUEUE,
       core_late,
       "enqueue",
       "a waiter looks for an idle slot before it is in line")
MUTANT(FLAG_AFTER_SCAN,
       core_late,
       "enqueue",
       "a waiter sets WAITERS after it has looked")
MUTANT(BIT_NOT_LOOKED_AT,
       core_two,
       "tidy_look",
       "a bit is cleared and its slot not looked at again")
MUTANT(BIT_UNTENDED,
       core_try,
       "tidy_tend",
       "a bit was away for a moment and nobody looks for those who missed it")
MUTANT(TIME_OUT_DROPS_GRANT,
       grow_late,
       "leave",
       "one who times out does not ask whether he was served")
MUTANT(LEASE_KEPT,
       core_again,
       "hand_cas",
       "a connection is handed over under its old lease")
MUTANT(NOTED_AFTER_STORE,
       core_late,
       "grant_store",
       "the one to be woken is read from his node after it was decided")
MUTANT(NO_WAKE, core_late, "flush", "one who was served is not woken")
MUTANT(SLEEP_BEFORE_LOOK,
       core_late,
       "sleep_word",
       "a sleeper reads its state before the wake word")
MUTANT(FLAG_CLEARED_EARLY,
       core,
       "hand_flag",
       "a release that serves one clears WAITERS though others wait")
MUTANT(FLAG_KEPT,
       core_late,
       "leave",
       "the last to leave the line leaves WAITERS set")
MUTANT(DOOM_UNSEEN,
       core_clear_reset,
       "opened_word",
       "what was doomed while it was opened or reset becomes idle")
MUTANT(DOOM_BLIND,
       core_clear_reset,
       "hand_cas",
       "a release hands over a word without looking whether it was doomed")
MUTANT(STAMP_AT_END,
       grow_clear,
       "publish_idle",
       "the generation is stamped when a connect ends, not when it begins")
MUTANT(NO_DOOM,
       core_clear_reset,
       "doom_cas",
       "a clear closes idle ones and dooms nobody")
MUTANT(PERMIT_AFTER_WAKE,
       grow_fill,
       "permit_back",
       "a connect's permit comes back after the dispatch")
MUTANT(PERMIT_SILENT,
       grow_slow,
       "retire_count",
       "a failed connect gives its permit back and wakes nobody")
MUTANT(PLACE_SILENT,
       core_clear_reset,
       "emptied_lock",
       "a place that is empty again wakes nobody")
MUTANT(PLACE_EARLY,
       core_clear_reset,
       "retire_count",
       "a place counts as empty before its session is closed")
MUTANT(RESULT_LOST,
       grow_handed,
       "lost_word",
       "a caller that was served leaves what it opened to nobody")
MUTANT(CONNECT_DROPPED,
       grow_handed,
       "stopped",
       "a caller that was served forgets the connect it drove")
MUTANT(TAKES_BOTH,
       grow_handed,
       "own_lock",
       "a caller takes what it opened although it was served")
MUTANT(PLACE_FORGOTTEN,
       grow_handed,
       "drop_cas",
       "one told to open and served before keeps the place")
MUTANT(NO_PATIENCE_TIMER,
       grow_hang,
       "growth_ask",
       "waiters count on a connect and nobody looks when patience ends")
MUTANT(TEND_LOOKS_LATE,
       grow_hang,
       "tend_patience",
       "a tending reads its clock after it has dispatched")
MUTANT(RESUME_SILENT, pause_idle, "resume", "a resume serves nobody")
MUTANT(PAUSE_GRANTS,
       pause_idle,
       "publish_lock",
       "a release serves waiters of a paused pool")
MUTANT(PAUSE_OPENS,
       pause_cold,
       "own_lock",
       "a caller takes what it opened in a paused pool")
MUTANT(SHUT_UNSEEN,
       core_revoke,
       "reread_closed",
       "one who claimed beside a shutdown does not look")
MUTANT(REREAD_UNCLOSED,
       core_shut,
       "reread_q",
       "what becomes idle beside a clear or shutdown stays")
MUTANT(CANCEL_UNLISTED,
       core_cancel,
       "cancel",
       "a cancellation decides a node and leaves it in line")
MUTANT(TRY_CLEARED_LATE,
       bound,
       "try_begin",
       "one who tries looks, and looks for all, before he clears TRYING")
MUTANT(TRY_LOOKS_FIRST,
       bound_next,
       "serve",
       "one who was to try has gone, and TRYING goes after the look")
MUTANT(TRY_NO_REREAD,
       bound,
       "reread_q",
       "under bounded a release does not read Q again")
MUTANT(TRY_NO_DISPATCH,
       bound_open,
       "looked",
       "one who has tried with success does not look for the others")
MUTANT(GRANT_NO_DISPATCH,
       bound_open,
       "publish_lock",
       "one who was to try is handed another, and nobody looks for the first")
MUTANT(TRY_NOT_PASSED_ON,
       bound_gone,
       "leave",
       "one who was to try times out and does not pass it on")
MUTANT(TRYING_KEPT_LATE,
       bound_gone,
       "leave",
       "one who was to try times out and leaves TRYING set")
MUTANT(TRYING_KEPT_SHED,
       bound_shed,
       "shed",
       "one who was to try is refused and leaves TRYING set")
MUTANT(DUE_STALE,
       bound_gone,
       "flag",
       "another is the head, and due is still that of the one before")
MUTANT(NO_BOUND,
       bound_over,
       "publish_q",
       "the bound passes and nothing is handed over")
MUTANT(BARGING_HANDS,
       barge,
       "publish_bound",
       "under barging a release hands over to one who waits")
MUTANT(BARGING_NO_REREAD,
       barge,
       "reread_q",
       "under barging a release does not read Q again")
MUTANT(OPENER_INHERITS,
       queued_grow,
       "serve",
       "under queued one who opens is an heir")
MUTANT(LIST_NOTED_LATE,
       list,
       "list_note",
       "a release reads Q again before it has entered its slot in the list")
MUTANT(LIST_NOTED_FIRST,
       list_two,
       "list_note",
       "a release enters its slot in the list before it is idle")
MUTANT(LIST_DROPS,
       list_clear,
       "list_gone",
       "a search drops the entry of an idle slot that it may not have")
MUTANT(RESTORED_UNFLAGGED,
       queued_pause,
       "own_lock",
       "one who has opened in vain is in line, and WAITERS does not say so")
