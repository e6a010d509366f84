#if DBus
import IndicatorCore

/// The object that stands for an indicator on a bus: its interface, its properties, and its answers to calls.
///
/// A plain value: ``IndicatorBusService`` gives it the calls and sends the answers.
package struct IndicatorObject {
    package static let path = "/org/activityindicator/Indicator1"
    package static let interface = "org.activityindicator.Indicator1"

    static let propertiesInterface = "org.freedesktop.DBus.Properties"
    static let introspectableInterface = "org.freedesktop.DBus.Introspectable"

    /// The app's name, as it calls itself.
    let application: String
    let processID: UInt32

    /// What a call asks for.
    enum Answer {
        /// The call is answered with these.
        case values([BusValue])
        /// The call was wrong.
        case failure(BusError)
        /// `Enabled` is to be set; the answer follows when it is.
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

    /// The answer to a call of a method of the object.
    func answer(to call: BusMessage, snapshot: IndicatorSnapshot) -> Answer {
        guard call.path == Self.path else {
            return .failure(
                "UnknownObject",
                "There is no object '\(call.path ?? "")'; the indicator is '\(Self.path)'."
            )
        }
        return answer(
            interface: call.interface,
            member: call.member ?? "",
            signature: call.signature,
            arguments: call.arguments,
            snapshot: snapshot
        )
    }

    private func answer(
        interface: String?,
        member: String,
        signature: String,
        arguments: [BusValue],
        snapshot: IndicatorSnapshot
    ) -> Answer {
        switch (interface, member) {
        case (Self.propertiesInterface?, "Get"), (nil, "Get"):
            guard signature == "ss" else { return .wrongArguments(of: member, expected: "ss", found: signature) }
            return get(arguments[0].text ?? "", arguments[1].text ?? "", snapshot)
        case (Self.propertiesInterface?, "GetAll"), (nil, "GetAll"):
            guard signature == "s" else { return .wrongArguments(of: member, expected: "s", found: signature) }
            return getAll(arguments[0].text ?? "", snapshot)
        case (Self.propertiesInterface?, "Set"), (nil, "Set"):
            guard signature == "ssv" else { return .wrongArguments(of: member, expected: "ssv", found: signature) }
            return set(arguments[0].text ?? "", arguments[1].text ?? "", arguments[2].unwrapped)
        case (Self.introspectableInterface?, "Introspect"), (nil, "Introspect"):
            guard signature.isEmpty else { return .wrongArguments(of: member, expected: "", found: signature) }
            return .values([.string(Self.introspection)])
        case (let interface?, _) where !Self.knownInterfaces.contains(interface):
            return .unknownInterface(interface)
        default:
            let place = interface.map { " in interface '\($0)'" } ?? ""
            return .failure("UnknownMethod", "The object has no method '\(member)'\(place).")
        }
    }

    private func get(_ interface: String, _ name: String, _ snapshot: IndicatorSnapshot) -> Answer {
        guard Self.hasProperties(interface) else { return .unknownInterface(interface) }
        guard let property = Property(rawValue: name) else { return .unknownProperty(name) }
        return .values([.variant(value(of: property, in: snapshot))])
    }

    private func getAll(_ interface: String, _ snapshot: IndicatorSnapshot) -> Answer {
        guard interface != Self.propertiesInterface, interface != Self.introspectableInterface else {
            return .values([.properties([])])
        }
        guard Self.hasProperties(interface) else { return .unknownInterface(interface) }
        return .values([.properties(properties(of: snapshot))])
    }

    private func set(_ interface: String, _ name: String, _ value: BusValue) -> Answer {
        guard Self.hasProperties(interface) else { return .unknownInterface(interface) }
        guard let property = Property(rawValue: name) else { return .unknownProperty(name) }
        guard property == .enabled else { return .failure("PropertyReadOnly", "The property '\(name)' cannot be set.") }
        guard case .boolean(let isEnabled) = value else {
            return .failure("InvalidArgs", "The property '\(name)' is of type 'b', not '\(value.signature)'.")
        }
        return .setEnabled(isEnabled)
    }

    private func value(of property: Property, in snapshot: IndicatorSnapshot) -> BusValue {
        switch property {
        case .visible: .boolean(snapshot.isVisible)
        case .state: .string(snapshot.state.rawValue)
        case .activityCount: .uint32(UInt32(clamping: snapshot.activityCount))
        case .label: .string(snapshot.label ?? "")
        case .progress: .double(snapshot.progress.map { $0.isNaN ? -1 : min(max($0, 0), 1) } ?? -1)
        case .application: .string(application)
        case .processID: .uint32(processID)
        case .enabled: .boolean(snapshot.isEnabled)
        }
    }

    /// The properties of the interface.
    private enum Property: String, CaseIterable {
        case visible = "Visible"
        case state = "State"
        case activityCount = "ActivityCount"
        case label = "Label"
        case progress = "Progress"
        case application = "Application"
        case processID = "ProcessID"
        case enabled = "Enabled"
    }

    private static let knownInterfaces: Set<String> = [
        interface, propertiesInterface, introspectableInterface, "org.freedesktop.DBus.Peer",
    ]

    /// An empty name stands for whichever interface has the property (D-Bus specification, "org.freedesktop.DBus.Properties").
    private static func hasProperties(_ interface: String) -> Bool {
        interface.isEmpty || interface == Self.interface
    }
}

extension IndicatorObject.Answer {
    fileprivate static func failure(_ name: String, _ text: String) -> Self {
        .failure(BusError(name: "org.freedesktop.DBus.Error.\(name)", text: text))
    }

    fileprivate static func unknownInterface(_ name: String) -> Self {
        .failure("UnknownInterface", "The object has no properties or methods of interface '\(name)'.")
    }

    fileprivate static func unknownProperty(_ name: String) -> Self {
        .failure("UnknownProperty", "The interface '\(IndicatorObject.interface)' has no property '\(name)'.")
    }

    fileprivate static func wrongArguments(of member: String, expected: String, found: String) -> Self {
        .failure("InvalidArgs", "The method '\(member)' takes arguments of types '\(expected)', not '\(found)'.")
    }
}
#endif
