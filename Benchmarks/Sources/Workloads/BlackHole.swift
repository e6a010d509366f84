import IndicatorCore

/// Takes a value so that the compiler has to make it. Not generic, so that it costs a call and nothing else.
@inline(never) @_optimize(none)
func consume(_ first: Int, _ second: Int) {}

/// Takes a whole snapshot, so that no part of it can be left out.
@inline(never) @_optimize(none)
func consume(_ snapshot: borrowing IndicatorSnapshot) {}
