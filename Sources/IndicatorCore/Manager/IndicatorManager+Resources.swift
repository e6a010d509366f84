extension IndicatorManager {
    /// The resource of a type that the manager keeps, if it keeps one.
    package func keptResource<Resource: ManagerResource>(_ type: Resource.Type) -> Resource? {
        core.withLock { core in
            for resource in core.resources {
                if let resource = resource as? Resource { return resource }
            }
            return nil
        }
    }
}
