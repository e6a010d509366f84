import Workloads

extension Comparison {
    /// Measures all variants. The figure is the one with the worst ratio.
    func measure(_ scale: Scale) -> Figure {
        let sideBySide = SideBySide(scale: scale)
        let results = variants.map { variant in
            let result = sideBySide.measure(variant.setUp())
            let disturbance = result.isDisturbed ? "unreliable: the machine was too busy" : nil
            return Figure(
                name: name,
                title: title,
                peer: peer,
                goal: goal,
                outcome: .time(ours: result.ours, reference: result.reference),
                detail: variant.name.isEmpty ? disturbance : variant.name
            )
        }
        guard var worst = results.max(by: { ($0.ratio ?? 0) < ($1.ratio ?? 0) }) else {
            preconditionFailure("\(name) has no variants")
        }
        if variants.count > 1 {
            let ratios = results.map { "\($0.detail ?? ""): \($0.ratio.map(Decimals.ratio) ?? "-")" }
            worst.detail = ratios.joined(separator: ", ")
        }
        return worst
    }
}
