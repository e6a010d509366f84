public import BackendConfiguration
import IndicatorCore
import Foundation

/// The settings of a ``DBusPropertyBackend``.
public struct DBusPropertySettings: Sendable, Hashable {
    /// The bus. Default: the session bus.
    public var bus: DBusAddress
    /// The replacement for the app's name in the bus name, made valid by the same rule. Default: `nil`, the app's name.
    public var name: String?

    /// Makes settings.
    public init(bus: DBusAddress = .session, name: String? = nil) {
        self.bus = bus
        self.name = name
    }
}

/// The indicator as a D-Bus object that panels read.
///
/// Owns `org.activityindicator.Indicator1.<App>` on a message bus, or with the suffix `.instance<pid>` if another
/// process has that name. The object is `/org/activityindicator/Indicator1`, its interface
/// `org.activityindicator.Indicator1`:
///
/// | property | type | |
/// |---|---|---|
/// | `Visible` | `b` | whether the indicator is shown |
/// | `State` | `s` | `inactive`, `delayingStart`, `active`, `delayingCompletion` |
/// | `ActivityCount` | `u` | the number of activities in progress |
/// | `Label` | `s` | one line of at most 320 characters, none of control; empty if there is none |
/// | `Attention` | `s` | what the app waits for the user to do; empty if nothing |
/// | `Progress` | `d` | 0…1; -1 if unknown |
/// | `Activities` | `a(sd)` | label and progress of each activity with a label, at most 16; see below |
/// | `Application` | `s` | the name of the app; never changes |
/// | `ProcessID` | `u` | never changes |
/// | `Enabled` | `b` | writable: whether the indicator is enabled |
///
/// `Activities` is in order of beginning; a progress in it is as in `Progress`. While `Visible` is true and
/// `ActivityCount` is 0, `Label`, `Attention`, `Progress` and `Activities` keep their values.
///
/// The signal `Finished` (`a(sssd)` activities, `u` omitted) is sent when activities with a label have ended: of at
/// most 64, failures first, the label, the outcome, the message and the seconds, and how many more have
/// ended. The outcome is `succeeded`, `failed`, `cancelled` or `unspecified`; the message is the reason for a failure.
///
/// Changes by the app are announced, and returned by `Get`, at most ten times a second; those by `Set` at once.
/// `PropertiesChanged` has only the changed properties. A panel lists the names on the bus, calls `GetAll` for each,
/// and subscribes to `PropertiesChanged` and `NameOwnerChanged`.
///
/// In the bus name, every character of the app's name other than an ASCII letter, a digit, `_` and `-` becomes `_`; a
/// name that begins with a digit gets the prefix `_`; a name longer than 190 bytes is truncated.
///
/// A call of `Set` is answered after the change, and every later `Get` returns the new value.
///
/// Without a bus it is unavailable; when the bus is back, it owns its name again and publishes the current state.
public final class DBusPropertyBackend: BusBackend, @unchecked Sendable {
    // `@unchecked`: as its superclass.

    /// Makes a backend. Does not connect.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: the bus, and the name on it.
    public init(
        name: String = "dbusProperty",
        applicationName: String,
        settings: DBusPropertySettings = DBusPropertySettings()
    ) {
        super.init(
            name: name,
            on: settings.bus,
            // A panel may show activities before the indicator is shown. At most ten announcements a second, beside
            // those of what a panel sets.
            delivery: BackendDelivery(includesHidden: true, minimumInterval: .milliseconds(100))
        ) { context in
            let processID = getpid()
            return DBusPropertySession(
                names: IndicatorBusName.candidates(for: settings.name ?? applicationName, processID: processID),
                object: DBusPropertyObject(
                    application: SafeText.singleLine(applicationName),
                    processID: UInt32(bitPattern: processID)
                ),
                context: context
            )
        }
    }
}

extension BackendKind {
    /// A D-Bus object that panels read.
    public static var dbusProperty: BackendKind {
        BackendKind(
            name: "dbusProperty",
            summary: "a D-Bus object that panels read",
            settings: DBusPropertySettings.init(_:),
            bus: \.bus,
            automatic: { context, _ in
                DBusAddress.session.mayExist(in: context.environment)
                    ? AutomaticFit(true, "there is a session bus, on which panels may read it")
                    : AutomaticFit(false, DesktopSituation.noBus)
            },
            make: { DBusPropertyBackend(name: $0.name, applicationName: $0.applicationName, settings: $1) }
        )
    }
}

extension DBusPropertySettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read("bus", &bus, .address, summary: "the message bus: session, system, or a D-Bus address")
        values.read(
            "name",
            &name,
            .text,
            example: "my-app",
            summary: "replaces the last element of the bus name, by default the name of the app",
            validate: { $0 == "" ? "a non-empty name" : nil }
        )
    }
}

extension SettingForm<DBusAddress> {
    /// `session`, `system`, or the address of a bus. If it is wrong, the backend is not used.
    public static var address: Self {
        var form = text(
            read: { text in
                do throws(Unavailability) {
                    return try DBusAddress(text)
                } catch {
                    let expected = "session, system, or a D-Bus address such as unix:path=/run/user/1000/bus"
                    throw SettingFault("\(expected) (\(error.reason))")
                }
            },
            text: \.description
        )
        form.isAddress = true
        return form
    }
}
