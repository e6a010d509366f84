import IndicatorCore

/// The notifications that a config file can have observed, by name.
enum ObservedNotifications {
    private static let all: [TaskNotifications] = [.indicator, .alamofire]

    static let names = all.map(\.name)

    /// What is observed when nobody says anything: the package's own notifications.
    static let defaultNames = [TaskNotifications.indicator.name]

    static func named(_ name: String) -> TaskNotifications? {
        all.first { $0.name == name }
    }
}
