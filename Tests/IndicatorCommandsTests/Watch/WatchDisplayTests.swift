import IndicatorBackends
import TestSupport

@testable import IndicatorCommands

/// The lines and the table of `watch`, on a virtual clock.
@Suite struct WatchDisplayTests {
    private func event(
        _ kind: WatchEvent.Kind,
        _ name: String,
        host: String? = nil,
        _ label: String = "Copying",
        isVisible: Bool = true,
        problem: String? = nil
    ) -> WatchEvent {
        var state = WatchedState()
        (state.state, state.visible, state.count, state.progress) = ("active", isVisible, 2, 0.4)
        state.label = label
        let source = WatchEvent.Source(name: name, host: host, app: "app", instance: name)
        return WatchEvent(kind, source, state: problem == nil ? state : nil, problem: problem)
    }

    @Test func `A table has all indicators, and their numbers below`() throws {
        var table = WatchTable(isOnly: true)
        let end = WatchEvent.Finished(label: "x", outcome: "failed", message: nil, seconds: 1)
        for event in [
            event(.appeared, "c", host: "web", isVisible: false), event(.lost, "b", host: "web"),
            event(.appeared, "a", host: "db"), event(.broken, "d", host: "web", problem: "it is not JSON"),
            WatchEvent(.finished, .init(name: "a", app: "app"), finished: end),
            event(.appeared, "e"), event(.vanished, "e"),
        ] {
            table.receive(event, at: .zero)
        }
        #expect(
            try table.next(at: .zero).text == """
                HOST  APP  INSTANCE  STATE   COUNT  DONE  LABEL
                db    app  a         shown   2      40%   Copying
                web   app  b         lost    2      40%   Copying
                web   app  c         hidden  2      40%   Copying
                web   app  d         broken               it is not JSON
                1 shown, 1 hidden, 1 lost, 1 broken; 4 in progress, 1 failed

                """
        )
    }

    @Test("On a terminal, a table replaces the one before, once a second, and cuts what is too long or too much")
    func terminal() throws {
        var table = WatchTable(isOnly: false)
        (table.size, table.wrapsAgain) = (.init(columns: 30, rows: 7), true)
        for number in 1...9 { table.receive(event(.appeared, "\(number)", "A long label"), at: .zero) }
        let first = """
            APP  INSTANCE  STATE  COUNT  D
            app  1         shown  2      4
            app  2         shown  2      4
            app  3         shown  2      4
            … and 6 more
            9 shown, 0 hidden; 18 in progr

            """
        #expect(try table.next(at: .zero) == (first, nil))
        #expect(try table.next(at: .seconds(5)) == ("", nil))
        table.receive(event(.vanished, "9"), at: .seconds(5))
        #expect(try table.next(at: .seconds(5)).text.hasPrefix("\u{1B}[6FAPP"))
        table.receive(event(.vanished, "8"), at: .seconds(5.5))
        #expect(try table.next(at: .seconds(5.5)) == ("", .seconds(6)))
        #expect(try table.next(at: .seconds(6)).text.contains("… and 4 more"))
        // A narrower window has wrapped four lines of 30 columns and the footer; that does not wait for the second.
        table.size = .init(columns: 20, rows: 8)
        #expect(try table.next(at: .seconds(6)).text.hasPrefix("\u{1B}[11FAPP  INSTANCE  STATE\u{1B}[K\n"))
        #expect(try table.next(at: .seconds(6)) == ("", nil))
        // xterm cuts the lines instead: above the table are those of others.
        var other = WatchTable(isOnly: false)
        (other.size, other.wrapsAgain) = (.init(columns: 20, rows: 8), false)
        #expect(try other.next(at: .zero).text.hasPrefix("APP"))
        other.size.columns = 5
        #expect(try other.next(at: .zero).text.hasPrefix("\u{1B}[2FAPP"))
    }

    @Test func `A line that says nothing new is not printed, except as JSON`() throws {
        for isJSON in [true, false] {
            var lines = WatchLines(isJSON: isJSON)
            lines.receive(event(.changed, "a"), at: .zero)
            #expect(try !lines.next(at: .zero).text.isEmpty && lines.next(at: .zero).text.isEmpty)
            lines.receive(event(.changed, "a"), at: .zero)
            #expect(try lines.next(at: .zero).text.isEmpty != isJSON)
            lines.receive(event(.vanished, "a"), at: .zero)
            let last = isJSON ? "}\n" : "a vanished: shown, 2 activities, 40%, 'Copying'\n"
            #expect(try lines.next(at: .zero).text.hasSuffix(last))
        }
    }

    @Test("If the output is blocked, the latest state of each indicator is kept, and the number of its ends")
    func blocked() throws {
        var lines = WatchLines(isJSON: false)
        let end = WatchEvent.Finished(label: "x", outcome: "succeeded", message: nil, seconds: 1)
        for number in 0..<10_000 {
            lines.receive(event(number == 0 ? .appeared : .changed, "a", "\(number)"), at: .zero)
            lines.receive(WatchEvent(.finished, .init(name: "a", app: "app"), finished: end, omitted: 1), at: .zero)
        }
        let last: [(WatchEvent.Kind, String)] = [(.appeared, "b"), (.appeared, "c"), (.changed, "b"), (.vanished, "c")]
        for (kind, name) in last { lines.receive(event(kind, name, "\(kind)"), at: .zero) }
        let text = try lines.next(at: .zero).text.split(separator: "\n")
        #expect(text.count == WatchLines.limit + 4)
        #expect(
            text.prefix(2) + text.suffix(4) == [
                "a appeared: shown, 2 activities, 40%, '0'", "a finished: 'x' succeeded, 1.0 s",
                "a changed: shown, 2 activities, 40%, '9999'", "a finished: 19000 more",
                "b appeared: shown, 2 activities, 40%, 'changed'", "c vanished: shown, 2 activities, 40%, 'vanished'",
            ]
        )
        #expect(try lines.next(at: .zero).text.isEmpty)
    }
}
