import TestSupport

@Suite struct IndicatorManagerTests {
    @Test func `Backends are notified when a start delay ends without work`() async {
        let clock = VirtualClock()
        let surface = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(backends: [surface], clock: clock)
        manager.begin().end()
        clock.advance(by: .milliseconds(500))
        #expect(await eventually { surface.snapshots.last?.state == .delayingStart })
        clock.advance(by: .milliseconds(500))
        #expect(await eventually { manager.state == .inactive })
        clock.advance(by: .milliseconds(100))
        #expect(await eventually { surface.snapshots.last?.state == .inactive })
    }

    @Test func `Extreme durations do not crash`() async throws {
        let endless = [Duration.seconds(Int64.max), Duration(attoseconds: .max), Duration(attoseconds: .min)]
        for time in endless {
            let surface = InMemoryBackend(
                delivery: BackendDelivery(includesHidden: true, animationInterval: time, updateTimeLimit: time)
            )
            let manager = IndicatorManager(delays: .zero, backends: [surface])
            manager.lifetimeCheckInterval = time
            manager.track(manager)
            #expect(manager.isVisible)
            #expect(await eventually { surface.snapshots.last?.isVisible == true })
            await manager.shutdown(timeLimit: time)
        }
    }

    /// Steps, and what the indicator lists then: `a begins | b begins = 2 a b | a now | b ends = 1 now`.
    ///
    /// - `NAME begins`, with the name as the label, unless that begins with `-`; `NAME begins in GROUP`;
    /// - `NAME LABEL`, where `-` is none; `NAME ends`; `NAME released`, which ends it, too;
    /// - `start ID`, `start ID LABEL`, `update ID LABEL`, `stop ID`; one with `#` is a number, one with `@` a UUID;
    /// - `+` and `-`, which change the anonymous count.
    ///
    /// After `=` are the count and the labels of the snapshot, each with a `+` for each group above it.
    private static let table: Table = """
        A managed activity ends once, also when it is released
            o begins | a begins = 2 o a | o - | a ends | a ends | a late = 1 | a released = 1 | -b begins
            -b forgotten = 2 forgotten | -b released = 1
        // Alamofire/AlamofireNetworkActivityIndicator, and AFNetworking's `decrementActivityCount`: it did.
        The count never goes below zero
            - | stop unknown | + = 1 | -a begins | - | - = 1 | -a ends = 0
        Identities are counted and not calls
            start 7 | start #7 | start @7 | start 7 | start #7 | start @7 = 3
            stop 7 | stop 7 | stop #7 | stop #7 = 1 | stop @7 = 0
        // `stop("search"); start("search")` was ignored for the whole duration of the search.
        A stop of an identity is not remembered
            stop a | start a = 1 | stop a | stop a | start a = 1 | stop #7 | start #7 | stop @1 | start @1 = 3
        // With an identity or a handle, one without details counts as begun with the first one.
        The label is that of the earliest activity that has one
            -s begins | start first | start second second | third begins = 4 second third | update first first
            -s silent = 4 second third first silent | stop second = 3 third first silent | third ends = 2 first silent
            stop first = 1 silent | -s - = 1
        Members follow their group, and are not counted
            g begins | a begins | m begins in g = 2 g +m a | n begins in m | o begins in g = 2 g +m ++n +o a
            p begins in m = 2 g +m ++n ++p +o a | m ends = 4 g +o a n p
            -s begins in g | b begins in n = 4 g +o a n +b p
        // With many groups that had no label, each snapshot visited all of them.
        A group without a label is no level
            g begins | -s begins in g | -t begins in -s | m begins in -t = 1 g +m | -t t = 1 g +t ++m
            g - = 1 t +m | -t - = 1 m | g g = 1 g +m
        The members of an ended group are independent
            g begins | m begins in g | -s begins in g | n begins in -s | g ends = 2 m n | -s s = 2 m s +n
            late begins in g = 3 m s +n late | -s ends = 3 m n late | m ends | n ends | late ends = 0
        """

    @Test(arguments: table)
    func `Activities are counted and listed`(sentence: String, script: String) {
        let manager = TestIndicator().manager
        var activities: [Substring: ManagedActivity] = [:]
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            let words = sides[0].split(separator: " ")
            let label = words.last == "-" ? nil : words.last.map(String.init)
            switch (words[0], words.dropFirst().first) {
            case ("+", _): manager.incrementActivityCount()
            case ("-", _): manager.decrementActivityCount()
            case ("start", let id?): manager.start(Self.identity(id), label: words.count > 2 ? label : nil)
            case ("update", let id?): manager.update(Self.identity(id)) { $0.label = label }
            case ("stop", let id?): manager.stop(Self.identity(id))
            case (let name, "begins"):
                let group = words.count > 3 ? activities[words[3]] : nil
                activities[name] = ManagedActivity(name.first == "-" ? nil : String(name), in: group ?? manager)
            case (let name, "ends"): activities[name]?.end()
            case (let name, "released"): activities[name] = nil
            case (let name, _): activities[name]?.label = label
            }
            guard sides.count > 1 else { continue }
            let snapshot = manager.snapshot
            let listed = snapshot.activities.map { String(repeating: "+", count: $0.depth) + ($0.label ?? "") }
            let expected = sides[1].split(separator: " ").map(String.init)
            #expect(["\(manager.activityCount)"] + listed == expected, "\(sentence): \(step)")
            #expect(snapshot.activityCount == manager.activityCount && snapshot.label == listed.first)
            #expect(Set(snapshot.activities.map(\.id)).count == listed.count)
        }
    }

    private static func identity(_ word: Substring) -> any Hashable & Sendable {
        switch word.first {
        case "#": Int(word.dropFirst()) ?? 0
        case "@": UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(word.dropFirst()) ?? 0))
        default: String(word)
        }
    }

    /// Four downloads showed the first one's label with the mean progress of all.
    @Test func `Progress belongs to the activity with the label`() {
        let manager = TestIndicator().manager
        let first = manager.begin("first")
        let second = manager.begin("second", progress: 0.5)
        #expect(manager.snapshot.progress == nil)
        first.progress = 0.25
        #expect(manager.snapshot.progress == 0.25)
        first.attention = "Passphrase?"
        #expect(manager.snapshot.attention == "Passphrase?")
        first.end()
        #expect(manager.snapshot.progress == 0.5)
        #expect(manager.snapshot.attention == nil)
        second.end()
    }

    @Test func `A snapshot lists sixteen activities at most`() {
        let manager = TestIndicator().manager
        let activities = (0..<40).map { ManagedActivity("\($0)", in: manager) }
        #expect(manager.snapshot.activities.compactMap(\.label) == (0..<16).map { "\($0)" })
        activities[3].end()
        // Not cut after its place is found.
        let member = ManagedActivity("member", in: activities[0])
        #expect(manager.snapshot.activities.compactMap(\.label).last == "16")
        #expect(manager.snapshot.activityCount == 39)
        activities[0].unit = .bytes
        #expect(manager.snapshot.activities[0].unit == .bytes)
        withExtendedLifetime((activities, member)) {}  // an activity that is released ends
    }

    /// The lock is held during an update, and is not recursive.
    @Test func `The state is read without the lock`() {
        let manager = TestIndicator().manager
        let activity = manager.begin("work")
        activity.update { _ in
            #expect(manager.state == .delayingStart)
            #expect(!manager.isVisible)
            #expect(manager.isEnabled)
            #expect(manager.activityCount == 1)
        }
    }

    @Test func `The shared indicator is disabled`() {
        #expect(!IndicatorManager.shared.isEnabled)
        #expect(IndicatorManager().isEnabled)
    }

    /// The initializer threw, and a property was limited.
    @Test func `An invalid delay is rejected`() {
        let indicator = TestIndicator()
        indicator.manager.delays.startDelay = .seconds(3)
        for invalid in [Duration.nanoseconds(-1), .seconds(Int64.max)] {
            indicator.manager.delays.startDelay = invalid
            #expect(indicator.manager.delays.startDelay == .seconds(3))
            #expect(throws: InvalidDelayError.self) { try IndicatorDelays(startDelay: invalid) }
        }
        for (nanoseconds, microseconds) in [(1499, 1), (1500, 2)] {
            indicator.manager.delays.startDelay = .nanoseconds(nanoseconds)
            #expect(indicator.manager.delays.startDelay == .microseconds(microseconds))
        }
    }

    @Test func `Thousands of flips schedule no further timers`() async {
        let clock = VirtualClock()
        let manager = IndicatorManager(clock: clock)
        for _ in 0..<10_000 { manager.begin().end() }
        #expect(await eventually { clock.deadlines == [.seconds(1)] })
        let long = manager.begin()
        clock.advance(by: .seconds(1))
        #expect(await eventually { manager.state == .active })
        #expect(clock.sleepsStarted == 1)
        long.end()
        #expect(await eventually { clock.deadlines == [.milliseconds(1200)] })
        for _ in 0..<10_000 {
            manager.begin().end()
            clock.advance(by: .microseconds(10))
        }
        #expect(manager.state == .delayingCompletion)
        clock.advance(to: .milliseconds(1200))
        // The one timer has fired, and waits for the end of the latest delay.
        #expect(await eventually { clock.deadlines == [.microseconds(1_099_990 + 200_000)] })
        #expect(clock.sleepsStarted == 3)
    }

    @Test func `A manager deallocated while visible hides its backends`() async throws {
        let surface = InMemoryBackend()
        weak var weakManager: IndicatorManager?
        do {
            let manager = IndicatorManager(delays: .noStart, backends: [surface])
            weakManager = manager
            manager.start("for ever")
            #expect(await eventually { surface.isVisible })
        }
        #expect(await eventually { surface.stopCount == 1 })
        #expect(surface.snapshots.map(\.isVisible) == [true, false])
        #expect(weakManager == nil)
    }

    @Test func `After shutting down nothing is shown, and everything is counted`() async throws {
        let indicator = TestIndicator(delays: .noStart)
        let activity = indicator.manager.begin()
        await indicator.manager.shutdown()
        #expect(!indicator.manager.isVisible)
        #expect(indicator.surface.snapshots.map(\.isVisible) == [true, false])
        #expect(indicator.surface.stopCount == 1)
        #expect(indicator.manager.backendStatuses.map(\.state) == [.stopped])
        indicator.manager.isEnabled = true
        indicator.manager.start("a")
        #expect(!indicator.manager.isEnabled)
        #expect(indicator.manager.activityCount == 2)
        #expect(!indicator.manager.addBackend(InMemoryBackend(name: "late")))
        await indicator.manager.shutdown()
        activity.end()
    }
}
