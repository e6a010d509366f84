import Foundation
import Testing

@testable import IndicatorBackends

/// xorshift64*: reproducible from a seed.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}

@Suite("A config file with random damage")
struct ConfigurationFuzzTests {
    private static let valid = """
        enabled: true
        startDelay: &d 1.0            # seconds
        completionDelay: *d
        observe: [indicator, alamofire]
        backends: [terminalTitle, logFile, audit]

        terminalTitle:
          format: "{spinner} {label} ({count}) - {app}"
          progress: 'off'
        logFile:
          path: ~/.local/state/my-app/indicator.log
        audit:
          kind: logFile
          path: >-
            /var/log/my-app/audit.log
          maxSize: 512 kB

        """
    private static let fragments: [[UInt8]] =
        [
            "\n", " ", "  ", "\t", ":", ": ", "- ", "? ", "[", "]", "{", "}", ",", "\"", "'", "#", " #", "&a ", "*a",
            "*d", "!!str ",
            "!", "|\n", ">\n", "---\n", "...\n", "%YAML 9.9\n", "<<: ", "@", "`", "\\", "\r", "\u{85}", "\u{2028}",
            "\u{FEFF}", "é",
            "😀", "~", "null", "kind: logFile\n", "startDelay: 1\n", "\"\\uD800\"", "\"\\x00\"", "-1", "1e400", ".nan",
        ].map { Array($0.utf8) } + [[0], [0xFF], [0xE2, 0x82], [0x1B]]

    private static func damage(_ bytes: [UInt8], with generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let start = Int.random(in: 0...bytes.count, using: &generator)
            let end = min(bytes.count, start + Int.random(in: 0...12, using: &generator))
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes.removeSubrange(start..<end)
            case 1: bytes.insert(contentsOf: bytes[start..<end], at: Int.random(in: 0...bytes.count, using: &generator))
            case 2 where start < bytes.count: bytes[start] = UInt8.random(in: 0...255, using: &generator)
            case 3: bytes.removeSubrange(start...)
            default: bytes.insert(contentsOf: fragments.randomElement(using: &generator) ?? [], at: start)
            }
        }
        return bytes
    }

    @Test("never ends the process, and every mistake has a position in the file")
    func damaged() async throws {
        let seed = ProcessInfo.processInfo.environment["INDICATOR_TEST_SEED"].flatMap(UInt64.init) ?? 20_240_601
        var generator = SeededGenerator(state: seed)
        let source = ConfigurationSource(for: "a", environment: [:], registry: .forTests())
        var reports = 0
        for round in 0..<4000 {
            // Lets concurrent tests run.
            if round.isMultiple(of: 20) { await Task.yield() }
            let bytes = Self.damage(Array(Self.valid.utf8), with: &generator)
            let text: String
            do {
                text = try ConfigurationFileContents(bytes: bytes).text
            } catch {
                let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                let line = try #require(error.position).line
                #expect((1...max(1, lines.count)).contains(line), "seed \(seed), round \(round)")
                reports += 1
                continue
            }
            let lines = TextLines(text)
            var builder = ConfigurationBuilder(source, file: FileValues(text: text, path: "a.yaml", source: source))
            _ = builder.build()
            do {
                let error = ConfigurationError(builder.mistakes)
                if error.mistakes.isEmpty { continue }
                reports += 1
                #expect(Set(error.mistakes).count == error.mistakes.count, "seed \(seed), round \(round)")
                for mistake in error.mistakes {
                    guard case .file(_, let line, let column) = mistake.location else {
                        Issue.record("\(mistake) is not in the file; seed \(seed), round \(round)")
                        continue
                    }
                    let isThere =
                        (1...lines.count).contains(line)
                        && (1...lines[line].count + 2).contains(column)
                    #expect(isThere, "\(mistake); seed \(seed), round \(round):\n\(text)")
                    #expect(mistake.message.unicodeScalars.allSatisfy { $0.value >= 0x20 })
                }
            }
        }
        // Damage that goes unnoticed, such as in a comment, is rare.
        #expect(reports > 2000)
    }
}
