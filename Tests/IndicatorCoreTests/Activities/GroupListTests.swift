import TestSupport

/// The order and the depth of the activities in a snapshot, compared with a naive model.
@Suite struct GroupListTests {
    private final class Node {
        let activity: ManagedActivity
        var label: String?
        /// `nil` until it has a record: it has a label, or a member has begun.
        var order: Int?
        let parent: Node?
        var hasEnded = false

        init(_ activity: ManagedActivity, _ label: String?, in parent: Node?) {
            (self.activity, self.label, self.parent) = (activity, label, parent)
        }

        var isShown: Bool { label != nil && !hasEnded }

        /// The nearest group that is shown and has this one as a member, directly or not.
        var shownGroup: Node? {
            guard let parent else { return nil }
            return parent.isShown ? parent : parent.hasEnded ? nil : parent.shownGroup
        }
    }

    /// With many groups that had no label, each snapshot visited all of them; sixteen of them hid every label. The list
    /// was cut before it was sorted.
    @Test func `The list follows every change`() async {
        await forEachSeed(60) { seed in
            var generator = SplitMix(state: seed)
            let manager = TestIndicator().manager
            var all: [Node] = []
            var lastOrder = 0
            func order(_ node: Node) {
                guard node.order == nil else { return }
                lastOrder += 1
                node.order = lastOrder
            }
            for step in 0..<200 {
                let alive = all.filter { !$0.hasEnded }
                let node = alive.randomElement(using: &generator)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0...3:
                    let isSilent = Int.random(in: 0..<6, using: &generator) < (seed.isMultiple(of: 2) ? 2 : 5)
                    let label = isSilent ? nil : "\(step)"
                    let parent = Bool.random(using: &generator) ? node : nil
                    if let parent { order(parent) }
                    let new = Node(
                        parent.map { ManagedActivity(label, in: $0.activity) } ?? ManagedActivity(label, in: manager),
                        label,
                        in: parent
                    )
                    if label != nil || parent != nil { order(new) }
                    all.append(new)
                case 4, 5:
                    guard let node else { continue }
                    node.label = node.label == nil ? "\(step)" : nil
                    order(node)
                    node.activity.label = node.label
                default:
                    guard let node else { continue }
                    node.activity.end()
                    node.hasEnded = true
                }
                let shown = all.filter(\.isShown).sorted { ($0.order ?? 0) < ($1.order ?? 0) }.prefix(16)
                func tree(in group: Node?, _ depth: Int) -> [String] {
                    shown.filter { $0.shownGroup === group }.flatMap { node in
                        [String(repeating: " ", count: depth) + (node.label ?? "")] + tree(in: node, depth + 1)
                    }
                }
                let lines = manager.snapshot.activities.map {
                    String(repeating: " ", count: $0.depth) + ($0.label ?? "")
                }
                let expected = tree(in: nil, 0)
                #expect(manager.activityCount == all.count { !$0.hasEnded && $0.parent?.hasEnded ?? true })
                if lines != expected { return "step \(step): \(lines) instead of \(expected)" }
            }
            return nil
        }
    }
}
