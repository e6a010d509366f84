import Foundation
import IndicatorBackends
import IndicatorCore

/// A custom backend: a file that contains the current label, and exists only while the indicator is visible.
final class StatusFileBackend: IndicatorBackend {
    let name: String
    private let file: URL

    init(name: String, path: String) {
        self.name = name
        file = URL(filePath: path)
    }

    func show(_ updates: IndicatorUpdates) async throws {
        try remove()
        defer { try? remove() }
        for await update in updates {
            if !update.snapshot.isVisible {
                try remove()
            } else if let label = update.snapshot.label {
                try "\(label)\n".write(to: file, atomically: true, encoding: .utf8)
            }
        }
    }

    private func remove() throws {
        do { try FileManager.default.removeItem(at: file) } catch CocoaError.fileNoSuchFile {}
    }
}

struct StatusFileSettings {
    var path = ""

    init(_ values: inout SettingsReader) {
        values.read("path", &path, .path, summary: "the file", isRequired: true)
    }
}

extension BackendRegistry {
    /// The built-in kinds and the daemon's kind.
    static var daemon: Self {
        var registry = standard
        registry.register(
            BackendKind(
                name: "statusFile",
                summary: "a file that contains the current label",
                settings: StatusFileSettings.init
            ) { context, settings in
                StatusFileBackend(name: context.name, path: settings.path)
            }
        )
        return registry
    }
}
