// A backend that lights an LED of the keyboard, or any other LED of the kernel.

// snippet.hide
import Foundation  // hidden
import IndicatorBackends
import IndicatorTesting
// snippet.show
struct LEDBackend: IndicatorBackend {
    let name: String
    let path: String  // such as /sys/class/leds/input3::scrolllock/brightness

    func show(_ updates: IndicatorUpdates) async throws {
        guard let led = FileHandle(forWritingAtPath: path) else { throw LEDError.notWritable(path) }
        defer { try? led.write(contentsOf: Data("0".utf8)) }
        for await update in updates {
            try led.write(contentsOf: Data((update.snapshot.isVisible ? "1" : "0").utf8))
        }
    }
}

enum LEDError: Error, CustomStringConvertible {
    case notWritable(String)

    var description: String {
        switch self {
        case .notWritable(let path):
            "\(path) cannot be written; does the LED exist, and does a udev rule let you switch it?"
        }
    }
}
// snippet.end

// snippet.register
struct LEDSettings {
    var path = ""

    init(_ values: inout SettingsReader) {
        values.read("path", &path, .path, summary: "the path of the LED's brightness file", isRequired: true)
    }
}

var registry = BackendRegistry.standard
registry.register(
    BackendKind(
        name: "led",
        summary: "an LED below /sys/class/leds",
        settings: LEDSettings.init,
        make: { context, settings in LEDBackend(name: context.name, path: settings.path) },
        availability: { _, settings in
            if FileManager.default.isWritableFile(atPath: settings.path) { return settings.path }
            throw Unavailability(reason: "\(settings.path) cannot be written", help: "add a udev rule for it")
        }
    )
)

let indicator = IndicatorManager.configured(from: ConfigurationSource(for: "my-app", registry: registry))
// snippet.end

// snippet.test
// In a test, with IndicatorTesting: a backend that records its updates, and no start delay.
let backend = InMemoryBackend()
let tested = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero), backends: [backend])
tested.start("upload", label: "Uploading")
let shown = await backend.first { $0.isVisible }
assert(shown?.label == "Uploading")
// snippet.end
await indicator.shutdown()
await tested.shutdown()
