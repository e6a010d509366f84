import Foundation
public import IndicatorBackends

extension BackendKind {
    /// An icon in the tray of the panel (StatusNotifierItem, as Plasma, Waybar, LXQt, Xfce and others show it).
    ///
    /// It turns while the indicator is shown, has the label and the progress in its tooltip, and asks for attention
    /// when the app does.
    public static var tray: BackendKind {
        BackendKind(
            name: "tray",
            summary: "an icon in the tray of the panel",
            settings: TraySettings.init(_:),
            bus: \.bus,
            automatic: { context, settings in
                let hasTray = settings.bus.hasService(TraySession.watcher, in: context.environment)
                return AutomaticFit(hasTray, hasTray ? "the panel has a tray" : "no panel here has a tray")
            },
            make: TraySession.backend
        )
    }
}

struct TraySettings: Sendable {
    var bus = DBusAddress.session
    var color = IconColor(number: 0x3DAEE9)

    init() {}

    init(_ values: inout SettingsReader) {
        values.read("bus", &bus, .address, summary: "the message bus: session, or a D-Bus address")
        let form = SettingForm<IconColor>.text(read: IconColor.init, text: \.description)
        values.read("color", &color, form, summary: "the colour of the icon, such as #3daee9")
    }
}

/// The item on one connection to a bus. It has a name of its own there while the indicator is shown: a tray removes the
/// icon when that name is released, or when the process ends.
final class TraySession: BusSession {
    static let watcher = "org.kde.StatusNotifierWatcher"
    /// Plasma reads all properties after each change, and drops them if there is another one meanwhile.
    private static let turn = Duration.milliseconds(250)

    private let service = BusService(
        TraySession.watcher,
        help: "add a system tray to the panel; for GNOME, install the extension AppIndicator"
    )
    private let name = "org.kde.StatusNotifierItem-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    private let applicationName: String
    private let control: IndicatorControl
    private let turns: Bool
    private let frames: [BusValue]
    private lazy var item = BusObject(
        path: "/StatusNotifierItem",
        interface: "org.kde.StatusNotifierItem",
        properties: properties(of: IndicatorSnapshot())
    )
    private var isShown = false

    static func backend(_ context: BackendContext, _ settings: TraySettings) -> BusBackend {
        // For a screen reader, it does not turn.
        let delivery = BackendDelivery(animationInterval: context.isAccessible ? nil : turn)
        return BusBackend(name: context.name, on: settings.bus, delivery: delivery) {
            TraySession(context.applicationName, settings, $0.control, turns: !context.isAccessible)
        }
    }

    init(_ applicationName: String, _ settings: TraySettings, _ control: IndicatorControl, turns: Bool) {
        (self.applicationName, self.control, self.turns) = (applicationName, control, turns)
        frames = (0..<8).map { TrayIcon.spinner(settings.color, at: Double($0) / 8) }
    }

    func begin(on bus: BusConnection) async throws -> String {
        try await bus.find(service)
        bus.serve(item)
        return Self.watcher
    }

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        guard update.snapshot.isVisible else {
            end(on: bus)
            return nil
        }
        let new = properties(of: update.snapshot)
        let changes = zip(item.properties, new).filter(!=).map(\.1)
        item.properties = new
        guard isShown else {
            isShown = true
            bus.send(.busCall("RequestName", [.string(name), .uint32(0)]))
            let (path, method) = ("/StatusNotifierWatcher", "RegisterStatusNotifierItem")
            bus.send(.call(service.owner, path: path, interface: Self.watcher, member: method, [.string(name)]))
            return nil
        }
        for change in changes {
            switch change.name {
            case "Status": item.emit("NewStatus", [change.value])
            case "ToolTip": item.emit("NewToolTip")
            default: item.emit("NewIcon")
            }
        }
        return nil
    }

    func end(on bus: BusConnection) {
        if isShown { bus.send(.busCall("ReleaseName", [.string(name)])) }
        isShown = false
    }

    private func properties(of snapshot: IndicatorSnapshot) -> [BusProperty] {
        let frame = turns ? Int(control.now / Self.turn) % frames.count : 0
        let progress = snapshot.progress.map { "\(Int($0 * 100)) %" }
        let text = [snapshot.attention, snapshot.label, progress].compactMap(\.self).joined(separator: ", ")
        // The title is plain for some trays, and markup for others; the text is markup for all.
        let tip: [BusValue] = [
            .string(""), .structures("iiay", []), .string(applicationName), .string(SafeText.markup(text)),
        ]
        return [
            BusProperty("Category", .string("ApplicationStatus")),
            BusProperty("Id", .string(applicationName)),
            BusProperty("Title", .string(applicationName)),
            BusProperty("Status", .string(snapshot.attention == nil ? "Active" : "NeedsAttention")),
            BusProperty("IconName", .string("")),
            // Also here for trays that do not know the other one.
            BusProperty("IconPixmap", snapshot.attention == nil ? frames[frame] : TrayIcon.attention),
            BusProperty("AttentionIconName", .string("")),
            BusProperty("AttentionIconPixmap", TrayIcon.attention),
            BusProperty("ToolTip", .structure(tip)),
            BusProperty("ItemIsMenu", .boolean(false)),
        ]
    }
}
