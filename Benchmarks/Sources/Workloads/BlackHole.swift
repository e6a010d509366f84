import IndicatorCore

/// Consumes values, so that the compiler must compute them. Not generic, so that it costs only a call.
@inline(never) @_optimize(none)
func consume(_ first: Int, _ second: Int) {}

/// Consumes a whole snapshot, so that the compiler must create every part of it.
@inline(never) @_optimize(none)
func consume(_ snapshot: borrowing IndicatorSnapshot) {}
