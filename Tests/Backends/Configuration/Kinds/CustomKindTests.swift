import Foundation
import IndicatorBackends
import IndicatorCore
import IndicatorTesting
import Synchronization
import Testing

/// A kind of an app's own, with the API that an app has.
@Suite final class CustomKindTests {
    private struct StripSettings: Equatable {
        enum Color: String, CaseIterable { case red, green }
        struct Pin: Equatable { var number: Int }

        var device = ""
        var length = 30
        var colors: Set<Color> = [.green]
        var fade = Duration.milliseconds(500)
        var pin = Pin(number: 1)
        var token: String?
    }

    private struct NotEven: Error, CustomStringConvertible { let description = "a pin such as P4" }

    private static let settings: [Setting<StripSettings>] = [
        Setting("device", \.device, .path, summary: "the strip's device", isRequired: true),
        Setting("length", \.length, .integer(in: 1...1000), summary: "how many lights") { length in
            length.isMultiple(of: 2) ? nil : "an even number"
        },
        Setting("colors", \.colors, .choices(), summary: "the colors"),
        Setting("fade", \.fade, .seconds, summary: "how long a change takes"),
        Setting(
            "pin",
            \.pin,
            .text(
                read: { text in
                    guard text.hasPrefix("P"), let number = Int(text.dropFirst()) else { throw NotEven() }
                    return StripSettings.Pin(number: number)
                },
                text: { "P\($0.number)" }
            ),
            summary: "the pin"
        ),
        Setting("token", \.token, .text, summary: "for the strip's service", isSecret: true),
    ]

    private let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "indicator-kind-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The settings with which a configuration makes the backend, and the text of every setting.
    private func load(
        _ text: String,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues()
    ) throws -> (settings: StripSettings?, texts: [String: String?]) {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "indicator.yaml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        let made = Mutex<StripSettings?>(nil)
        var registry = BackendRegistry.standard
        registry.register(
            BackendKind(
                name: "ledStrip",
                summary: "the strip on the shelf",
                defaults: StripSettings(),
                settings: Self.settings
            ) { context, settings in
                made.withLock { $0 = settings }
                return InMemoryBackend(name: context.name)
            }
        )
        let configuration = try IndicatorConfiguration.load(
            from: ConfigurationSource(
                for: "my-app",
                path: file.path,
                environment: ["HOME": "/home/user"],
                registry: registry,
                overrides: overrides,
                defaults: defaults
            )
        )
        let texts = configuration.effectiveSettings.map { ($0.key, $0.value) }
        return (made.withLock(\.self), Dictionary(texts) { first, _ in first })
    }

    private func mistakes(_ text: String, _ values: [String: [String: BackendSettingValue]] = [:]) throws -> String {
        let error = #expect(throws: ConfigurationError.self) {
            try load(text, overrides: ConfigurationValues(settings: values))
        }
        return (error?.description ?? "").replacing("\(folder.path)/", with: "")
    }

    @Test func `Values of the file and of code are read into the kind's own type, and the others are its defaults`()
        throws
    {
        let strip = "backends: [ledStrip]\nledStrip: {device: ~/strip, colors: [red], pin: P7, token: t}\n"
        let (settings, texts) = try load(strip, overrides: ConfigurationValues(settings: ["ledStrip": ["fade": 2]]))
        #expect(
            settings
                == StripSettings(
                    device: "/home/user/strip",
                    colors: [.red],
                    fade: .seconds(2),
                    pin: StripSettings.Pin(number: 7),
                    token: "t"
                )
        )
        #expect(texts["ledStrip.length"] == "30" && texts["ledStrip.token"] == "(hidden)")
    }

    @Test func `A required setting that is missing is a mistake`() throws {
        #expect(
            try mistakes("backends: [ledStrip]\n")
                == "indicator.yaml:1:12: error: 'ledStrip' needs 'device', the path of a file"
        )
    }

    @Test func `What validate and read return and throw is what was expected`() throws {
        #expect(
            try mistakes("ledStrip:\n  length: 3\n  colors: [blue]\n  pin: 4\n") == """
                indicator.yaml:2:11: error: 'length': expected an even number, found '3'
                indicator.yaml:3:12: error: 'colors': expected one of red, green, found 'blue'
                indicator.yaml:4:8: error: 'pin': expected a pin such as P4, found '4'
                """
        )
    }

    @Test func `A misspelled name in code is a mistake with the nearest name`() throws {
        let strip = "backends: [ledStrip]\nledStrip: {device: /dev/strip}\n"
        #expect(
            try mistakes(strip, ["ledStrip": ["lenght": 4], "terminalTitel": ["format": "x"]]) == """
                'ledStrip.lenght' as set in code: error: unknown setting of 'ledStrip', did you mean 'length'?
                'terminalTitel' as set in code: error: unknown backend 'terminalTitel', did you mean 'terminalTitle'?
                """
        )
        let error = #expect(throws: ConfigurationError.self) {
            // Of a kind that is not used.
            try load(strip, defaults: ConfigurationValues(settings: ["logFile": ["pth": "/tmp/x"]]))
        }
        #expect(
            error?.description
                == "'logFile.pth' as set in code: error: unknown setting of 'logFile', did you mean 'path'?"
        )
    }
}
