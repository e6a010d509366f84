import Foundation
import Synchronization

extension IndicatorManager {
    // MARK: - Activities without an identity

    /// Begins an activity of which nothing is told, which ends when the returned value goes out of scope.
    ///
    /// While others are in progress, this and the end of it are one atomic operation each. The indicator lives at least until its
    /// activities have ended and the delay that is running then is over.
    @inlinable
    public func begin() -> Activity {
        Activity(beginPlainHandle())
    }

    /// Begins an activity, which ends when the returned value goes out of scope.
    ///
    /// - Parameters:
    ///   - label: a short text of what is going on. Without one an activity costs nanoseconds.
    ///   - progress: how much is done, 0…1.
    public func begin(_ label: String? = nil, progress: Double? = nil) -> Activity {
        Activity(beginHandle(label: label, progress: progress))
    }

    /// Counts an activity for as long as a function runs.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let activity = begin(label, progress: progress)
        let result = try body()
        activity.end()
        return result
    }

    /// Counts an activity for as long as an asynchronous function runs, however it ends.
    ///
    /// - Parameters:
    ///   - label: a short text of what is going on.
    ///   - progress: how much is done, 0…1.
    ///   - isolation: the actor that the function runs on: that of the caller.
    ///   - body: the work.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let activity = begin(label, progress: progress)
        let result = try await body()
        activity.end()
        return result
    }

    /// Counts an activity for as long as an asynchronous function runs, however it ends.
    ///
    /// - Parameters:
    ///   - label: a short text of what is going on.
    ///   - progress: how much is done, 0…1.
    ///   - isolation: the actor that the function runs on: that of the caller.
    ///   - body: the work; it is given the activity, to change its label and progress.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (borrowing Activity) async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let activity = begin(label, progress: progress)
        let result = try await body(activity)
        activity.end()
        return result
    }

    /// Counts one more activity, as in AFNetworking's manager.
    public func incrementActivityCount() {
        core.withLock { core in
            core.anonymousCount += 1
            addEntry(to: &core)
        }
    }

    /// Counts one activity less of those that ``incrementActivityCount()`` counted; without effect when there is none.
    public func decrementActivityCount() {
        core.withLock { core in
            guard core.anonymousCount > 0 else { return }
            core.anonymousCount -= 1
            subtractEntry(from: &core)
        }
    }

    // MARK: - Activities with an identity

    /// Starts an activity with an identity of the caller's own.
    ///
    /// Starting one that is in progress changes nothing. One that was stopped less than 250 ms ago without having been started
    /// is not started: its stop has overtaken its start.
    ///
    /// - Parameters:
    ///   - id: what identifies it, here and in ``stop(_:)``. It is compared and hashed with the indicator's lock held, so its `==` and
    ///     `hash(into:)` must not use the indicator. Integers that are equal are the same identity whatever their types.
    ///   - label: a short text of what is going on.
    ///   - progress: how much is done, 0…1.
    public func start(_ id: some Hashable & Sendable, label: String? = nil, progress: Double? = nil) {
        start(ActivityKey(id), label: label, progress: progress)
    }

    /// Starts an activity with a text as its identity. See the general form for the rules.
    public func start(_ id: String, label: String? = nil, progress: Double? = nil) {
        core.withLock { core in
            let entry = Entry(order: nextOrder(&core))
            let isNew = core.texts.start(id, entry, label: label, progress: progress, in: &core.details, at: time.now)
            if isNew { addEntry(to: &core, hasDetails: label != nil || progress != nil) }
        }
    }

    /// Starts an activity with a number as its identity. See the general form for the rules.
    public func start(_ id: Int, label: String? = nil, progress: Double? = nil) {
        core.withLock { core in
            let entry = Entry(order: nextOrder(&core))
            let isNew = core.numbers.start(id, entry, label: label, progress: progress, in: &core.details, at: time.now)
            if isNew { addEntry(to: &core, hasDetails: label != nil || progress != nil) }
        }
    }

    /// Changes what is told of an activity with an identity. What is `nil` stays as it was; without effect when the activity is
    /// not in progress.
    ///
    /// - Parameters:
    ///   - id: what identifies it.
    ///   - label: a short text of what is going on; an empty one takes the label away.
    ///   - progress: how much is done, 0…1; values outside are limited to that, and `.nan` takes the progress away.
    public func update(_ id: some Hashable & Sendable, label: String? = nil, progress: Double? = nil) {
        guard label != nil || progress != nil else { return }
        update(ActivityKey(id), label: label, progress: progress)
    }

    /// Stops an activity with an identity of the caller's own. Stopping one that is not in progress changes nothing.
    public func stop(_ id: some Hashable & Sendable) {
        stop(ActivityKey(id))
    }

    /// Stops an activity with a text as its identity. Stopping one that is not in progress changes nothing.
    public func stop(_ id: String) {
        core.withLock { core in
            if let entry = core.texts.stop(id, at: time.now) { end(entry, in: &core) }
        }
    }

    /// Stops an activity with a number as its identity. Stopping one that is not in progress changes nothing.
    public func stop(_ id: Int) {
        core.withLock { core in
            if let entry = core.numbers.stop(id, at: time.now) { end(entry, in: &core) }
        }
    }

    func start(_ key: ActivityKey, label: String?, progress: Double? = nil) {
        switch key {
        case .text(let text): start(text, label: label, progress: progress)
        case .number(let number): start(number, label: label, progress: progress)
        case .value(let value): start(value, label: label, progress: progress)
        }
    }

    private func start(_ value: ActivityKey.Other, label: String?, progress: Double?) {
        core.withLock { core in
            let entry = Entry(order: nextOrder(&core))
            let isNew = core.values.start(
                value,
                entry,
                label: label,
                progress: progress,
                in: &core.details,
                at: time.now
            )
            if isNew { addEntry(to: &core, hasDetails: label != nil || progress != nil) }
        }
    }

    func update(_ key: ActivityKey, label: String?, progress: Double?) {
        core.withLock { core in
            guard var entry = core.entry(key) else { return }
            if core.details.update(&entry, label: label, progress: progress) { core.replace(key, by: entry) }
            noteChange(&core)
        }
    }

    func stop(_ key: ActivityKey) {
        switch key {
        case .text(let text): stop(text)
        case .number(let number): stop(number)
        case .value(let value):
            core.withLock { core in
                if let entry = core.values.stop(value, at: time.now) { end(entry, in: &core) }
            }
        }
    }

    // MARK: - The count

    @inlinable
    func beginPlainHandle() -> ActivityHandle {
        ActivityHandle(manager: self, before: beginPlain(), slot: ActivityHandle.noDetail)
    }

    /// Counts one more token. Returns the word as it was before.
    @inlinable
    func beginPlain() -> ActivityWord.Value {
        let before = word.addToken()
        if before.tokenCount == 0 || before.isWatched { began(before) }
        return before
    }

    /// Counts one token less. The manager must not be touched afterwards.
    @inlinable
    func endPlain() {
        if !word.subtractTokenOfSeveral() { endLastOrWatched() }
    }

    /// Follows a beginning that was the first, or is watched for.
    @usableFromInline
    func began(_ before: ActivityWord.Value) {
        if before.tokenCount == 0 { hold(before) }
        if before.isBusyUnwatched || before.isIdleUnwatched && quiet.covers(beginningAt: time) { return }
        core.withLock { workBegan(&$0, before: before) }
    }

    /// Ends an activity that is the last, or while somebody wants to hear of it.
    @usableFromInline
    func endLastOrWatched() {
        let after = word.subtractTokenAndStay()
        let isQuiet = after.isBusyUnwatched || after.isIdleUnwatched && quiet.covers(end: after, at: time)
        if !isQuiet { core.withLock { workEnded(&$0, after: after) } }
        if word.leave() { Unmanaged.passUnretained(self).release() }
    }

    /// Holds the manager for the first token.
    private func hold(_ before: ActivityWord.Value) {
        if !before.isHeld, word.hold() { _ = Unmanaged.passUnretained(self).retain() }
    }

    func beginHandle(label: String?, progress: Double?) -> ActivityHandle {
        guard label != nil || progress != nil else { return beginPlainHandle() }
        return core.withLock { core in
            let before = word.addToken()
            if before.tokenCount == 0 { hold(before) }
            let slot = core.details.insert(label: label, progress: progress, order: ActivityOrder.token(before))
            follow(beginning: before, in: &core, hasDetails: true)
            return ActivityHandle(manager: self, before: before, slot: slot)
        }
    }

    @usableFromInline
    func end(slot: Int32) {
        word.stay()
        core.withLock { core in
            core.details.remove(slot)
            follow(end: word.subtractToken(), in: &core, hasDetails: true)
        }
        if word.leave() { Unmanaged.passUnretained(self).release() }
    }

    /// Changes labels or progress, and tells the surfaces in due time.
    func changeDetails(_ change: (inout ActivityDetails) -> Void) {
        core.withLock { core in
            change(&core.details)
            noteChange(&core)
        }
    }

    // Everything below is called with the lock held.

    /// The order of an entry that begins now.
    func nextOrder(_ core: inout Core) -> UInt64 {
        core.entryNumber += 1
        if core.entryNumber >= ActivityOrder.entryCount - 1 {
            core.entryNumber = 0
            word.skipOrder()
        }
        return ActivityOrder.entry(word.value, number: core.entryNumber)
    }

    func end(_ entry: Entry, in core: inout Core) {
        if let slot = entry.slot { core.details.remove(slot) }
        subtractEntry(from: &core, hasDetails: entry.slot != nil)
    }

    /// Counts one more activity that the manager itself knows of.
    func addEntry(to core: inout Core, hasDetails: Bool = false) {
        let count = entryCount.load(ordering: .relaxed)
        entryCount.store(count + 1, ordering: .relaxed)
        follow(beginning: count == 0 ? word.addEntries() : word.value, in: &core, hasDetails: hasDetails)
    }

    /// Counts one less.
    func subtractEntry(from core: inout Core, hasDetails: Bool = false) {
        let count = entryCount.load(ordering: .relaxed) - 1
        entryCount.store(count, ordering: .relaxed)
        follow(end: count == 0 ? word.subtractEntries() : word.value, in: &core, hasDetails: hasDetails)
    }

    private func follow(beginning before: ActivityWord.Value, in core: inout Core, hasDetails: Bool) {
        if before.isBusyUnwatched || before.isIdleUnwatched && quiet.covers(beginningAt: time) {
            if hasDetails { noteChange(&core) }
        } else {
            workBegan(&core, before: before)
        }
    }

    private func follow(end after: ActivityWord.Value, in core: inout Core, hasDetails: Bool) {
        if after.isBusyUnwatched || after.isIdleUnwatched && quiet.covers(end: after, at: time) {
            if hasDetails { noteChange(&core) }
        } else {
            workEnded(&core, after: after)
        }
    }

    /// Follows a beginning: the machine is told if it was the first, and the surfaces in due time.
    ///
    /// Other threads may have changed the count again since. The machine is told of this change first and then of what is the
    /// case by now, so that whoever comes last leaves it at the truth, and no beginning of work is lost on it.
    private func workBegan(_ core: inout Core, before: ActivityWord.Value) {
        guard !before.isBusy else { return noteChange(&core) }
        changeVisibility(&core, from: .idle(before)) { core, now in
            let isKnown = apply(core.machine.setBusy(true, at: now), to: &core, at: now)
            return word.value.isBusy
                ? isKnown : apply(core.machine.setBusy(false, at: now), to: &core, at: now) || isKnown
        }
    }

    /// Follows an end: the machine is told if it was the last, and the surfaces in due time.
    private func workEnded(_ core: inout Core, after: ActivityWord.Value) {
        guard !after.isBusy else { return noteChange(&core) }
        changeVisibility(&core, from: .busy) { core, now in
            let isKnown = apply(core.machine.setBusy(false, at: now), to: &core, at: now)
            return !word.value.isBusy
                ? isKnown : apply(core.machine.setBusy(true, at: now), to: &core, at: now) || isKnown
        }
    }
}
