// A release build has no internals to test.
#if DEBUG
import IndicatorCore
import Foundation
import IndicatorReports
import JSONScanning

@testable import BackendConfiguration
@testable import IndicatorBackends
@testable import IndicatorCommands
@testable import NetworkKit

/// The fuzz targets by name. A target ends the process when an invariant does not hold.
let fuzzTargets: [String: @Sendable ([UInt8]) -> Void] = {
    var targets: [String: @Sendable ([UInt8]) -> Void] = [
        "cache": fuzzCacheFile,
        "config-json": { fuzzConfiguration($0, path: "indicator.json") },
        "config-yaml": { fuzzConfiguration($0, path: "indicator.yaml") },
        "reports": fuzzReports,
        "text": fuzzText,
        "trace": fuzzTrace,
    ]
    #if DBus
    targets["dbus"] = fuzzBusDecoder
    #endif
    #if MQTT
    targets["states"] = fuzzStates
    #endif
    return targets
}()

// MARK: - The config file

/// Reads a config file and builds the configuration, without creating backends.
private func fuzzConfiguration(_ bytes: [UInt8], path: String) {
    let source = ConfigurationSource(for: "fuzz", path: path, environment: [:], registry: .standard)
    guard let text = try? ConfigurationFile.text(of: bytes, path: path) else { return }
    var reader = ConfigurationReader(source, text: text, path: path)
    let configuration = reader.read()
    let mistakes = ConfigurationError(reader.mistakes).mistakes
    precondition(Set(mistakes).count == mistakes.count, "\(mistakes)")
    // Where a line ends for YAML 1.1 or 1.2; both parts of CR LF count.
    let ends = text.unicodeScalars.map(\.properties).filter { $0.isWhitespace && $0.generalCategory != .spaceSeparator }
    for mistake in reader.mistakes + configuration.warnings {
        let report = mistake.line(severity: "error")
        let hasControls = report.unicodeScalars.contains { $0.properties.generalCategory == .control }
        precondition(!hasControls, report.debugDescription)
        if case .file(_, let position?) = mistake.location {
            precondition((1...ends.count + 1).contains(position.line) && position.column >= 1, report)
        }
    }
}

// MARK: - Traces

private func fuzzTrace(_ bytes: [UInt8]) {
    // The scanner alone, on a buffer that ends with the text: the sanitizer reports a read beyond it.
    bytes.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        var scanner = JSONScanner(base, count: buffer.count)
        try? scanner.skipValue()
    }
    // What NetworkKit reads is the same after it is written and read again.
    if let value = try? JSONValue(parsing: Data(bytes)) {
        precondition((try? JSONValue(parsing: value.description)) == value)
    }
    guard let replay = try? Replay(Data(bytes)) else { return }
    precondition(zip(replay.steps, replay.steps.dropFirst()).allSatisfy { $0.time <= $1.time })
    let style = TerminalStyle(columns: 80, isTerminal: false, environment: ["LANG": "C.UTF-8"])
    _ = TimelineRenderer(style: style).render(replay.timeline)
}

// MARK: - The cache's files

private let hash = KeyedHash(key: Data(count: 16))!

private func fuzzCacheFile(_ bytes: [UInt8]) {
    check(CachedResponse(Data(bytes), hash))
    // With a correct checksum, which no mutation finds.
    let checksum = withUnsafeBytes(of: hash(Data(bytes)).littleEndian) { Data($0) }
    check(CachedResponse(checksum + bytes, hash))
}

/// A decoded response is usable and survives a round trip.
private func check(_ response: CachedResponse?) {
    guard let response else { return }
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    _ = (response.cost, response.age(at: now), response.isFresh(for: response.control, default: 0, at: now))
    guard let written = try? response.encoded(hash) else { return }
    precondition(CachedResponse(written, hash)?.body == response.body)
}

// MARK: - Reports of programs

/// A report that is read can be written, and read again, but for what no surface shows; it fits a terminal.
private func fuzzReports(_ bytes: [UInt8]) {
    for status in bytes.split(separator: UInt8(ascii: "\n")).compactMap({ ProgramStatus($0) }) {
        precondition(ProgramStatus(Array(status.body.utf8)[...])?.body == status.body, status.body)
        precondition(status.sequence.utf8.count <= ProgramStatus.sequenceLimit)
        precondition(status.body.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.generalCategory != .control })
    }
}

// MARK: - Untrusted texts

/// Sanitizing of texts, and the lines of the log. The first byte is the length limit.
private func fuzzText(_ bytes: [UInt8]) {
    guard let limit = bytes.first.map(Int.init) else { return }
    let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
    let shown = SafeText.singleLine(text, limit: limit)
    precondition(shown.unicodeScalars.count <= limit)
    for scalar in shown.unicodeScalars {
        let properties = scalar.properties
        precondition(properties.generalCategory != .control && !properties.isBidiControl, shown.debugDescription)
        precondition(scalar == " " || !properties.isWhitespace, shown.debugDescription)
    }
    precondition(SafeText.singleLine(shown, limit: limit) == shown, shown.debugDescription)

    for format in LogFileBackend.Format.allCases {
        let failed = FinishedActivity(label: text, outcome: .failed(text), duration: .seconds(limit))
        for (event, finished) in [(LogFileBackend.Event.label, nil), (.finished, failed)] {
            let line = LogLineFormatter(format: format, applicationName: shown)
                .line(event, at: LogTimestamp(.distantPast), of: IndicatorSnapshot(label: text), finished: finished)
            precondition(line.count <= LogLineFormatter.maximumLength && line.last == 0x0A)
            precondition(line.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F })
            precondition(format == .text || (try? JSONSerialization.jsonObject(with: Data(line))) != nil)
        }
    }
}
#endif
