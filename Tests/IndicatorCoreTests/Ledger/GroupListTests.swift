import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

/// The order and the depth of the activities in a snapshot, compared with a naive model.
@Suite struct GroupListTests {
    private final class Node {
        let activity: ManagedActivity
        var label: String?
        /// `nil` until it has a record: it has a label, or a member has begun.
        var order: Int?
        var parent: Node?
        var members: [Node] = []
        var hasEnded = false

        init(_ activity: ManagedActivity, _ label: String?, in parent: Node?) {
            (self.activity, self.label, self.parent) = (activity, label, parent)
        }

        var isShown: Bool { label != nil && !hasEnded }

        /// The order of the activity that is listed first because of this one.
        var place: Int? { isShown ? order : members.compactMap(\.place).min() }

        /// The activities that are listed because of this one and have no listed group.
        var roots: [Node] { isShown ? [self] : members.flatMap(\.roots) }

        func lines(_ depth: Int) -> [String] {
            let own = isShown ? [String(repeating: " ", count: depth) + (label ?? "")] : []
            let listed = members.filter { $0.place != nil }.sorted { ($0.place ?? 0) < ($1.place ?? 0) }
            return own + listed.flatMap { $0.lines(depth + (isShown ? 1 : 0)) }
        }
    }

    /// With many groups that had no label, each snapshot visited all of them.
    @Test func `The list follows every change`() {
        for seed in UInt64(1)...60 {
            var generator = SplitMix(state: seed)
            let manager = TestIndicator().manager
            var top: [Node] = []
            var all: [Node] = []
            var lastOrder = 0
            func order(_ node: Node) {
                guard node.order == nil else { return }
                lastOrder += 1
                node.order = lastOrder
            }
            for step in 0..<100 {
                let alive = all.filter { !$0.hasEnded }
                let node = alive.randomElement(using: &generator)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0...3:
                    let label = Int.random(in: 0..<3, using: &generator) == 0 ? nil : "\(step)"
                    let parent = Bool.random(using: &generator) ? node : nil
                    if let parent { order(parent) }
                    let new = Node(
                        parent.map { ManagedActivity(label, in: $0.activity) } ?? ManagedActivity(label, in: manager),
                        label,
                        in: parent
                    )
                    if label != nil || parent != nil { order(new) }
                    all.append(new)
                    if let parent { parent.members.append(new) } else { top.append(new) }
                case 4, 5:
                    guard let node else { continue }
                    node.label = node.label == nil ? "\(step)" : nil
                    order(node)
                    node.activity.label = node.label
                default:
                    guard let node else { continue }
                    node.activity.end()
                    node.hasEnded = true
                    // The members that are in progress become independent, in the place of their group.
                    if let parent = node.parent {
                        parent.members.removeAll { $0 === node }
                        top.append(node)
                    }
                }
                let roots = top.flatMap(\.roots).sorted { ($0.order ?? 0) < ($1.order ?? 0) }.prefix(16)
                let lines = manager.snapshot.activities.map {
                    String(repeating: " ", count: $0.depth) + ($0.label ?? "")
                }
                let expected = Array(roots.flatMap { $0.lines(0) }.prefix(16))
                guard lines == expected else {
                    Issue.record("seed \(seed), step \(step): \(lines) instead of \(expected)")
                    return
                }
            }
        }
    }
}
