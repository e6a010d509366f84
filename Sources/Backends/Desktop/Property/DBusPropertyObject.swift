import BackendConfiguration
import IndicatorCore

/// What represents an indicator on a bus: its interface, and the values of its properties.
package struct DBusPropertyObject {
    package static let path = "/org/activityindicator/Indicator1"
    package static let interface = "org.activityindicator.Indicator1"

    /// The name of the app.
    let application: String
    let processID: UInt32

    /// The object, for a ``BusConnection``.
    ///
    /// - Parameter onEnabled: called when a panel sets `Enabled`.
    func object(onEnabled: @escaping (Bool) -> Void) -> BusObject {
        BusObject(
            path: Self.path,
            interface: Self.interface,
            properties: properties(of: IndicatorSnapshot()),
            writable: ["Enabled"],
            signals: """
                <signal name="Finished">
                  <arg name="activities" type="a(sssd)"/>
                  <arg name="omitted" type="u"/>
                </signal>
                """
        ) { property in
            if case .boolean(let isEnabled) = property.value { onEnabled(isEnabled) }
        }
    }

    /// All properties, in the order of the introspection.
    func properties(of snapshot: IndicatorSnapshot) -> [BusProperty] {
        [
            BusProperty("Visible", .boolean(snapshot.isVisible)),
            BusProperty("State", .string(snapshot.state.rawValue)),
            BusProperty("ActivityCount", .uint32(UInt32(clamping: snapshot.activityCount))),
            BusProperty("Label", .string(snapshot.label ?? "")),
            BusProperty("Attention", .string(snapshot.attention ?? "")),
            BusProperty("Progress", progress(snapshot.progress)),
            BusProperty(
                "Activities",
                .structures("sd", snapshot.shownActivities.map { [.string($0.label ?? ""), progress($0.progress)] })
            ),
            BusProperty("Application", .string(application)),
            BusProperty("ProcessID", .uint32(processID)),
            BusProperty("Enabled", .boolean(snapshot.isEnabled)),
        ]
    }

    /// The arguments of the signal `Finished`.
    func outcomes(of update: IndicatorUpdate) -> [BusValue] {
        let outcomes = update.finished.map { activity -> [BusValue] in
            [
                .string(activity.label), .string(activity.outcome.name), .string(activity.outcome.message ?? ""),
                .double(activity.duration / .seconds(1)),
            ]
        }
        return [.structures("sssd", outcomes), .uint32(UInt32(clamping: update.omittedFinished))]
    }

    private func progress(_ progress: Double?) -> BusValue {
        .double(progress.map { $0.isNaN ? -1 : min(max($0, 0), 1) } ?? -1)
    }
}
