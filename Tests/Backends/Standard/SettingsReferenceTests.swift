import TestSupport

@testable import BackendConfiguration
@testable import IndicatorCore
@testable import IndicatorBackends

@Suite("The reference of all settings")
struct SettingsReferenceTests {
    private func load(_ text: String) throws(ConfigurationError) -> IndicatorConfiguration {
        let source = ConfigurationSource(for: "my-app", environment: ["HOME": "/home/user"], registry: .standard)
        var reader = ConfigurationReader(source, text: text, path: "reference.yaml")
        let configuration = reader.read()
        guard reader.mistakes.isEmpty else { throw ConfigurationError(reader.mistakes) }
        return configuration
    }

    @Test func `is a config file with the defaults`() throws {
        let reference = try load(BackendRegistry.standard.settingsReference)
        let defaults = try load("")
        #expect(reference.warnings.isEmpty)
        #expect(reference.settings.map(\.key) == defaults.settings.map(\.key))
        #expect(reference.settings.map(\.value) == defaults.settings.map(\.value))
    }

    @Test func `has every setting, and is valid with all examples, too`() throws {
        let text = BackendRegistry.standard.settingsReference
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.replacing(/^( *)#(?! |$)/) { String($0.1) } }
            .joined(separator: "\n")
        let kinds = BackendRegistry.standard.kinds
        let all = text.replacing(
            /backends: \[.*\]/,
            with: "backends: [\(kinds.map(\.name).joined(separator: ", ")), audit]"
        )
        let configuration = try load(all)
        #expect(configuration.warnings.isEmpty)
        let unset = configuration.settings.filter { $0.location == nil && !$0.key.hasPrefix("audit.") }
        #expect(unset.isEmpty, "not in the reference")
    }

    @Test func `names every placeholder of the title`() throws {
        let format = try #require(BackendKind.terminalTitle.settings.first { $0.name == "format" })
        for placeholder in SnapshotFormat.Placeholder.allCases {
            #expect(format.summary.contains("{\(placeholder.rawValue)}"))
        }
    }

    #if DBus && MQTT
    @Test func `is what the documentation shows`() throws {
        let article = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Backends/Standard/IndicatorBackends.docc/ConfigFileReference.md")
            .standardized
        let text = try String(contentsOf: article, encoding: .utf8)
        let shown = text.components(separatedBy: "```yaml\n").last?.components(separatedBy: "```").first
        let reference = BackendRegistry.standard.settingsReference
        #expect(shown == reference, "put what check-config --reference prints into \(article.path)")
    }
    #endif
}
