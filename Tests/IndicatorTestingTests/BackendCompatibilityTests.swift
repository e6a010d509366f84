import IndicatorCore
import IndicatorTesting
import Testing

/// The suite for backends, on backends that do something wrong.
@Suite struct BackendCompatibilityTests {
    /// A surface in memory, and what is wrong with its backend.
    private final class Paper: IndicatorBackend {
        enum Fault: CaseIterable {
            case none, keepsText, ignoresLoss, countsRepetitions, neverStarts, staysStalled
        }

        struct Missing: Error {}

        let name = "paper"
        let delivery = BackendDelivery(includesHidden: true)
        let fault: Fault
        let text: Box

        final class Box: Sendable {
            /// `nil` while there is no paper.
            let text = Locked<String?>("")
            /// Whether nothing can be written now, and whether that was so before.
            let hangs = Locked(false)
            let hasHung = Locked(false)
        }

        init(_ fault: Fault, on text: Box) { (self.fault, self.text) = (fault, text) }

        private func write(_ new: String) throws {
            let isThere = text.text.withLock { text in
                if text != nil { text = new }
                return text != nil
            }
            if !isThere, fault != .ignoresLoss { throw Missing() }
        }

        func show(_ updates: IndicatorUpdates) async throws {
            if fault == .neverStarts { throw Missing() }
            try write("")
            defer { try? write(fault == .keepsText ? "left" : "") }
            var count = 0
            for await update in updates {
                count += 1
                while text.hangs.withLock({ $0 }) || fault == .staysStalled && text.hasHung.withLock({ $0 }) {
                    guard await updates.wait(until: .now + .milliseconds(1)) != nil else { return }
                }
                let label = update.snapshot.isVisible ? update.snapshot.label ?? "" : ""
                try write(fault == .countsRepetitions && !label.isEmpty ? "\(label) \(count)" : label)
            }
        }
    }

    private func violations(of fault: Paper.Fault) async throws -> Set<BackendCompatibility.Case> {
        var violations: Set<BackendCompatibility.Case> = []
        for expectation in BackendCompatibility.Case.allCases {
            let paper = Paper.Box()
            let suite = BackendCompatibility(
                make: { Paper(fault, on: paper) },
                surface: BackendCompatibility.Surface(
                    take: { paper.text.withLock { $0 = nil } },
                    giveBack: { paper.text.withLock { $0 = $0 ?? "" } },
                    hang: {
                        paper.hangs.withLock { $0 = true }
                        paper.hasHung.withLock { $0 = true }
                    },
                    goOn: { paper.hangs.withLock { $0 = false } },
                    shown: { paper.text.withLock { $0 } ?? "no paper" }
                ),
                limit: fault == .none ? .seconds(60) : .milliseconds(500)
            )
            do { try await suite.check(expectation) } catch { violations.insert(expectation) }
        }
        return violations
    }

    @Test func `A backend that does what it must passes`() async throws {
        #expect(try await violations(of: .none) == [])
    }

    @Test(arguments: [
        (Paper.Fault.keepsText, BackendCompatibility.Case.restores), (.keepsText, .restarts),
        (.ignoresLoss, .retries), (.ignoresLoss, .recovers), (.ignoresLoss, .counts), (.countsRepetitions, .repeats),
        (.neverStarts, .restores), (.neverStarts, .retries), (.staysStalled, .stalls),
    ])
    private func `A fault is found`(_ fault: Paper.Fault, _ expectation: BackendCompatibility.Case) async throws {
        #expect(try await violations(of: fault).contains(expectation))
    }
}
