import Foundation
import IndicatorBackends
import IndicatorCore

/// Counts the words of a folder's files, in three stages. Files that are not text are skipped. Ctrl-C ends the program
/// in an orderly way: the indicator reports the cancelled work.
///
///     pipeline FOLDER INDEX-FILE [SECONDS]     SECONDS: the minimum time for each file
@main
struct Pipeline {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else {
            FileHandle.standardError.write(Data("usage: pipeline FOLDER INDEX-FILE [SECONDS]\n".utf8))
            exit(64)
        }
        let pause = Duration.seconds(Double(arguments.dropFirst(3).first ?? "") ?? 0)

        let indicator = IndicatorManager.configured(for: "pipeline")
        do {
            try await indicator.run { try await makeIndex(of: arguments[1], in: arguments[2], pause: pause, indicator) }
        } catch {
            // Not after Ctrl-C, by which the process has ended.
            FileHandle.standardError.write(Data("pipeline: \(error)\n".utf8))
            exit(1)
        }
    }
}

func makeIndex(of folder: String, in index: String, pause: Duration, _ indicator: IndicatorManager) async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    try await indicator.withActivity("Making an index", total: 3) { stages in
        var texts: [(name: String, text: String)] = []
        for name in names.tracked("Reading", in: stages) {
            try Task.checkCancellation()
            let file = URL(filePath: folder).appending(path: name)
            // A failure does not end the loop; only the file's activity fails.
            try? indicator.withActivity("Reading \(name)") {
                texts.append((name, try String(contentsOf: file, encoding: .utf8)))
            }
        }

        var lines: [String] = []
        for (name, text) in texts.tracked("Counting", in: stages, unit: ActivityUnit("files")) {
            // Throws when the task is cancelled, which also cancels the loop's activity.
            try await Task.sleep(for: pause)
            lines.append("\(name): \(text.split(whereSeparator: \.isWhitespace).count)")
        }

        try stages.withActivity("Writing") {
            try (lines.joined(separator: "\n") + "\n").write(toFile: index, atomically: true, encoding: .utf8)
        }
    }
}
