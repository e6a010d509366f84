import TestSupport

@testable import IndicatorCore

@Suite struct BackendRunnerStateMachineTests {
    /// The words of a script, in seconds. Each line is one, with a machine of its own:
    ///
    /// - What the machine must do next: `start`, `update`, `again` (a repetition), `end`, `-` (nothing).
    /// - What the backend does: `ask`, `wake` (it waits no longer), `consume`, `report` (that it is unavailable), `!`
    ///   (throws), `return`.
    /// - What the indicator does: `show`, `hide`, `label`, `done` (a labelled activity has ended), `finish`, `giveUp`.
    /// - What is the case: `due=` the deadline, `state=`, `outages=`, `lost=`, `new=` (the transitions and the finished
    ///   activities of the last update, `V` for visible), `log=` (the events since).
    /// - `@1`: time passes.
    private static let table: Table = """
        A backend that waits for an update is running, and nothing is due
            start ask - due=none state=running
        Attempts that fail are one outage, and each wait is twice as long
            start ! - due=1 state=unavailable @1 start ! due=3 @3 start ! due=7 outages=1 log=1
        A backend that starts at a later attempt is available again
            start ! @1 start ask state=running log=2
        After a run of half a minute, the first wait is a second again
            start ask @29 ! due=30 @30 start ask @59 ! due=61 @61 start ask @91 ! due=92
        A lost surface is available again when it has shown what waits
            show start ask update ! due=1 state=unavailable @1 start ask state=unavailable update ask state=running \
            log=2
        A function that returns before the end has failed
            start return due=1 outages=1
        A reported outage is no stall, and waits as long as an attempt would
            start report state=unavailable due=none outages=1 @9 ! in=0.0 start report @10 ask state=running log=1
            start report ! - due=1 @1 start report ! - due=3 outages=1
        An update is delivered once
            show start ask update new=/ - ask - due=none
        An update waits while the backend does something of its own
            show start ask wake - ask update ask hide update ask -
        What happens during an update is in the next one
            show start ask update hide show done hide ask update new=FV/1 ask - due=none
        What happens while hidden causes no update, and what ended is in the next one
            start ask label - hide - done - show update new=/1
        A lost update is delivered again with what happened since; one that was consumed is not
            show start ask update ask done label update new=/1 ! done label @1 start ask update new=/2
            show start ask update ask done label update new=/1 consume ! done label @1 start ask update new=/1
        A surface that is there again gets the current state, also that it is hidden if that was lost
            show start ask update ask - ! @1 start ask update new=/ ask -
            show start ask update ask hide update ! @1 start ask update ask -
        A backend that waits is ended at once
            start ask finish end return - state=stopped lost=0
        What waits is delivered before the end, whose error is not logged
            show start ask finish update ask end ! - state=stopped lost=0 log=0
        A backend that is starting is ended when it asks
            start finish - ask end return state=stopped
        At the end, a backend that has not started is started only if an update waits
            finish - state=stopped
            show finish start ask update ask end return - state=stopped
        What waits is tried once more at the end, and counted if it is lost
            start ! show done finish start ask update new=/1 ask end return - state=stopped lost=0
            start ! show done finish start ! - state=stopped lost=2
        The last attempt delivers every transition
            start ! show hide show done hide finish start ask update new=VFV/1 ask end return state=stopped lost=0
        An update that is lost at the end is tried once more
            start ask done finish update new=/1 ! start ask update new=/1 ask end return - state=stopped lost=0
        A reported outage has a last attempt, too
            start report show hide finish ! start ! - state=stopped lost=1
        What ended while hidden is delivered at the end
            start ask done - finish update new=/1 ask end return state=stopped lost=0
        A slow start is a stall until the backend asks
            start due=5 @5 state=stalled ask state=running log=2 due=none
        A backend that is given up during a stalled update has lost it, and is ended when it asks
            show start ask update due=5 @5 state=stalled log=1 giveUp lost=1 ask end return - state=stopped lost=1
        What ended during the update of a backend that is given up is lost, too
            show start ask update done giveUp - lost=2 ! - state=stopped
        A slow end is a stall until the function returns
            start ask finish end due=5 @5 state=stalled return state=stopped
        """

    @Test(arguments: table) func `A backend follows its scripts`(sentence: String, script: String) {
        for line in script.split(separator: "\n") { Script(delivery: BackendDelivery()).run(String(line)) }
    }

    @Test func `An animation is repeated while visible; one that waits for its interval is not forgotten`() {
        let animated = BackendDelivery(animationInterval: .seconds(1))
        Script(delivery: animated).run(
            "show start ask update ask - due=1 @1 again new=/ ask due=2 wake - due=none ask @2 again hide ask "
                + "update ask - due=none"
        )
        // There were 200 000 updates a second.
        #expect(BackendDelivery(animationInterval: .zero).limited.animationInterval == .milliseconds(10))
        let slow = BackendDelivery(minimumInterval: .seconds(2))
        Script(delivery: slow).run("show start ask update ask label - due=2 @2 update ask label finish update ask end")
        // Hiding does not wait, but what follows does.
        Script(delivery: slow).run(
            "show start ask update ask @1 hide update ask show - due=3 hide - due=3 @3 update new=V/ ask - due=none"
        )
        Script(delivery: BackendDelivery(updateTimeLimit: .seconds(3_155_760_000))).run("start due=none")
        Script(delivery: BackendDelivery(includesHidden: true)).run("show hide start ask update label ask update ask -")
    }

    @Test(arguments: [1, 0.25]) func `The time between attempts is a minute at most, or a part of it`(scale: Double) {
        let script = Script(delivery: BackendDelivery(), retryScale: scale)
        for seconds in [1.0, 2, 4, 8, 16, 32, 60, 60] {
            let time = script.now
            script.run("start !")
            #expect(script.machine.deadline == time + .seconds(seconds * scale))
            script.now = script.machine.deadline ?? time
        }
    }

    /// Runs scripts on a machine.
    private final class Script {
        private(set) var machine: BackendRunnerStateMachine
        var now = Duration.zero
        private var snapshot = IndicatorSnapshot(since: .distantPast)
        private var update: IndicatorUpdate?

        init(delivery: BackendDelivery, retryScale: Double = 1) {
            machine = BackendRunnerStateMachine(delivery: delivery, retryScale: retryScale)
        }

        func run(_ script: String) {
            for (index, word) in script.split(separator: " ").enumerated() {
                let parts = word.split(separator: "=", maxSplits: 1)
                guard parts.count == 2 else {
                    expect(String(word), at: index, of: script)
                    continue
                }
                #expect(value(of: parts[0]) == parts[1], "\(parts[0]) at word \(index) of '\(script)'")
            }
        }

        private func expect(_ word: String, at index: Int, of script: String) {
            switch word {
            case "ask": machine.ask(at: now)
            case "wake": machine.withdraw()
            case "consume": machine.consume(at: now)
            case "report": _ = machine.reportUnavailable("no surface", at: now)
            case "!", "return": machine.returned(error: word == "!" ? "lost" : nil, at: now)
            case "show", "hide": post(word == "show" ? .active : .inactive)
            case "label": post(snapshot.state)
            case "done": post(snapshot.state, [FinishedActivity(label: "x", outcome: .succeeded, duration: .zero)])
            case "finish": machine.finish()
            case "giveUp": machine.giveUp()
            case _ where word.first == "@":
                now = .seconds(Int(word.dropFirst()) ?? 0)
                machine.advance(to: now)
            default: #expect(next() == word, "word \(index) of '\(script)'")
            }
        }

        private func post(_ state: IndicatorState, _ finished: [FinishedActivity] = []) {
            if state.isVisible != snapshot.isVisible { snapshot.period += 1 }
            snapshot.state = state
            snapshot.activityCount += 1
            machine.post(IndicatorUpdate(snapshot, finished: finished))
        }

        private func next() -> String {
            switch machine.next(at: now) {
            case .show: return "start"
            case .deliver(let update):
                self.update = update
                return update.isRepetition ? "again" : "update"
            case .end: return "end"
            case nil: return "-"
            }
        }

        private func value(of name: Substring) -> String {
            switch name {
            case "due": return machine.deadline.map { "\($0.components.seconds)" } ?? "none"
            case "outages": return "\(machine.status.outages)"
            case "lost": return "\(machine.status.lost)"
            case "log": return "\(machine.takeEvents().count { $0.level != .debug })"
            // What the log says of the next attempt.
            case "in": return machine.takeEvents().last?.text.firstMatch(of: /\bin (\S+)/).map { "\($0.1)" } ?? "none"
            case "new":
                let transitions = update?.transitions.map { $0.isVisible ? "V" : "F" } ?? []
                let count = update?.finished.count ?? 0
                return transitions.joined() + "/" + (count == 0 ? "" : "\(count)")
            default: return machine.status.state.name
            }
        }
    }
}
