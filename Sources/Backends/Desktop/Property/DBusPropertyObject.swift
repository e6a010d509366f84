import BackendConfiguration
import DisplayText
import IndicatorCore

/// The object that represents an indicator on a bus: its interface, its properties, and its answers to calls.
///
/// A plain value: ``DBusPropertySession`` passes it the calls and sends the answers.
package struct DBusPropertyObject {
    package static let path = "/org/activityindicator/Indicator1"
    package static let interface = "org.activityindicator.Indicator1"

    static let propertiesInterface = "org.freedesktop.DBus.Properties"
    static let introspectableInterface = "org.freedesktop.DBus.Introspectable"

    /// The name of the app.
    let application: String
    let processID: UInt32

    /// The answer to a call.
    enum Answer {
        /// A reply with these values.
        case values([BusValue])
        /// An error reply.
        case failure(BusError)
        /// Set `Enabled`, then reply.
        case setEnabled(Bool)
    }

    /// All properties, in the order of the introspection.
    func properties(of snapshot: IndicatorSnapshot) -> [BusProperty] {
        Property.allCases.map { BusProperty($0.rawValue, value(of: $0, in: snapshot)) }
    }

    /// The properties that differ between two snapshots.
    func changes(from old: IndicatorSnapshot, to new: IndicatorSnapshot) -> [BusProperty] {
        Property.allCases.compactMap { property in
            let value = value(of: property, in: new)
            return value == self.value(of: property, in: old) ? nil : BusProperty(property.rawValue, value)
        }
    }

    /// The signal with the outcomes of activities.
    func finished(_ finished: FinishedActivities) -> BusMessage {
        let outcomes = finished.latest.map { activity -> [BusValue] in
            [
                .string(activity.label), .string(activity.outcome.name), .string(activity.outcome.message ?? ""),
                .double(activity.duration / .seconds(1)),
            ]
        }
        return .signal(
            path: Self.path,
            interface: Self.interface,
            member: "Finished",
            [.structures("sssd", outcomes), .uint32(UInt32(clamping: finished.omittedCount))]
        )
    }

    /// The methods, with their interfaces and the one-letter types of their arguments.
    private static let methods: [String: (interface: String, types: String)] = [
        "Get": (propertiesInterface, "ss"), "GetAll": (propertiesInterface, "s"),
        "Set": (propertiesInterface, "ssv"), "Introspect": (introspectableInterface, ""),
    ]

    /// The answer to a method call.
    func answer(to call: BusMessage, snapshot: IndicatorSnapshot) -> Answer {
        let member = call.member ?? ""
        guard let method = Self.methods[member], call.interface ?? method.interface == method.interface else {
            if let interface = call.interface, !Self.knownInterfaces.contains(interface) {
                return .unknownInterface(interface)
            }
            return .failure("UnknownMethod", "The object has no method '\(member)' in this interface.")
        }
        // Decoded only if they have these types; too long ones are truncated.
        guard call.signature == method.types, case let arguments = call.arguments, arguments.count == method.types.count
        else {
            let limit = "of at most \(BusDecoder.limit) bytes"
            return .failure(
                "InvalidArgs",
                "The method '\(member)' takes arguments of types '\(method.types)' \(limit)."
            )
        }
        if member == "Introspect" { return .values([.string(introspection)]) }
        let interface = arguments[0].text ?? ""
        if member == "GetAll", [Self.propertiesInterface, Self.introspectableInterface].contains(interface) {
            return .values([.properties([])])
        }
        // An empty name means any interface that has the property (D-Bus specification,
        // "org.freedesktop.DBus.Properties").
        guard interface.isEmpty || interface == Self.interface else { return .unknownInterface(interface) }
        if member == "GetAll" { return .values([.properties(properties(of: snapshot))]) }
        let name = arguments[1].text ?? ""
        guard let property = Property(rawValue: name) else {
            let text = "The interface '\(Self.interface)' has no property '\(quoted(name))'."
            return .failure("UnknownProperty", text)
        }
        if member == "Get" { return .values([.variant(value(of: property, in: snapshot))]) }
        guard property == .enabled else { return .failure("PropertyReadOnly", "The property '\(name)' cannot be set.") }
        guard case .boolean(let isEnabled) = arguments[2].unwrapped else {
            return .failure("InvalidArgs", "The property '\(name)' is of type 'b'.")
        }
        return .setEnabled(isEnabled)
    }

    private func value(of property: Property, in snapshot: IndicatorSnapshot) -> BusValue {
        switch property {
        case .visible: .boolean(snapshot.isVisible)
        case .state: .string(snapshot.state.rawValue)
        case .activityCount: .uint32(UInt32(clamping: snapshot.activityCount))
        case .label: .string(snapshot.label ?? "")
        case .attention: .string(snapshot.attention ?? "")
        case .progress: progress(snapshot.progress)
        case .activities:
            .structures(
                "sd",
                snapshot.activities.map { [.string($0.label ?? ""), progress($0.progress)] }
            )
        case .application: .string(application)
        case .processID: .uint32(processID)
        case .enabled: .boolean(snapshot.isEnabled)
        }
    }

    private func progress(_ progress: Double?) -> BusValue {
        .double(progress.map { $0.isNaN ? -1 : min(max($0, 0), 1) } ?? -1)
    }

    /// The properties of the interface.
    private enum Property: String, CaseIterable {
        case visible = "Visible"
        case state = "State"
        case activityCount = "ActivityCount"
        case label = "Label"
        case attention = "Attention"
        case progress = "Progress"
        case activities = "Activities"
        case application = "Application"
        case processID = "ProcessID"
        case enabled = "Enabled"
    }

    private static let knownInterfaces: Set<String> = [
        interface, propertiesInterface, introspectableInterface, "org.freedesktop.DBus.Peer",
    ]
}

extension DBusPropertyObject.Answer {
    fileprivate static func failure(_ name: String, _ text: String) -> Self {
        .failure(BusError(name: "org.freedesktop.DBus.Error.\(name)", text: text))
    }

    fileprivate static func unknownInterface(_ name: String) -> Self {
        .failure("UnknownInterface", "The object has no properties or methods of interface '\(quoted(name))'.")
    }
}

/// A caller's text for an error message.
private func quoted(_ text: String) -> String { SafeText.singleLine(text, limit: 100) }

extension DBusPropertyObject {
    /// The answer to `Introspect` (D-Bus specification, "Introspection Data Format").
    private var introspection: String {
        let properties = Property.allCases.map { property in
            let access = property == .enabled ? "readwrite" : "read"
            let type = value(of: property, in: IndicatorSnapshot()).signature
            let changes = property == .application || property == .processID ? "const" : "true"
            return """
                <property name="\(property.rawValue)" type="\(type)" access="\(access)">
                  <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="\(changes)"/>
                </property>
                """
        }
        return """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>
              <interface name="org.activityindicator.Indicator1">
            \(properties.joined(separator: "\n"))
                <signal name="Finished">
                  <arg name="activities" type="a(sssd)"/>
                  <arg name="omitted" type="u"/>
                </signal>
              </interface>
              <interface name="org.freedesktop.DBus.Introspectable">
                <method name="Introspect">
                  <arg name="xml_data" type="s" direction="out"/>
                </method>
              </interface>
              <interface name="org.freedesktop.DBus.Peer">
                <method name="Ping"/>
                <method name="GetMachineId">
                  <arg name="machine_uuid" type="s" direction="out"/>
                </method>
              </interface>
              <interface name="org.freedesktop.DBus.Properties">
                <method name="Get">
                  <arg name="interface_name" type="s" direction="in"/>
                  <arg name="property_name" type="s" direction="in"/>
                  <arg name="value" type="v" direction="out"/>
                </method>
                <method name="GetAll">
                  <arg name="interface_name" type="s" direction="in"/>
                  <arg name="properties" type="a{sv}" direction="out"/>
                </method>
                <method name="Set">
                  <arg name="interface_name" type="s" direction="in"/>
                  <arg name="property_name" type="s" direction="in"/>
                  <arg name="value" type="v" direction="in"/>
                </method>
                <signal name="PropertiesChanged">
                  <arg name="interface_name" type="s"/>
                  <arg name="changed_properties" type="a{sv}"/>
                  <arg name="invalidated_properties" type="as"/>
                </signal>
              </interface>
            </node>
            """
    }
}
