import Foundation
import IndicatorBackends

/// Whether the user looks at this terminal: its window has the keys.
enum TerminalFocus {
    /// `nil` if it cannot be known: elsewhere than on X11 and sway, over SSH, and in tmux or GNU screen, which can be
    /// shown by another terminal than the one that started them.
    static var isFocused: Bool? {
        let environment = ProcessInfo.processInfo.environment
        func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        guard !isRemote, !has("TMUX"), !has("STY") else { return nil }
        if has("SWAYSOCK") {
            return output(of: "swaymsg", "-t", "get_tree").flatMap { isFocused(inTree: $0) }
        }
        // Set by the terminals of X11, but not by those of Wayland, which may inherit it from one.
        guard has("DISPLAY"), !has("WAYLAND_DISPLAY"), let window = environment["WINDOWID"].flatMap({ UInt64($0) }),
            let text = output(of: "xprop", "-root", "32x", " = $0\\n", "_NET_ACTIVE_WINDOW"),
            let start = text.range(of: "0x"),
            let active = UInt64(text[start.upperBound...].prefix(while: \.isHexDigit), radix: 16)
        else { return nil }
        return active == window
    }

    /// Whether the terminal is on another machine.
    static var isRemote: Bool { getenv("SSH_CONNECTION") != nil || getenv("SSH_TTY") != nil }

    /// Whether the window of this terminal is focused in the answer to GET_TREE (sway-ipc(7)). Unknown if its process
    /// has several windows.
    private static func isFocused(inTree text: String) -> Bool? {
        // Not of this process: a shell starts it in the background, so its own parent may have ended.
        let terminals = ChildCommand.ancestors(of: getsid(0)).map { Int($0) }
        var found: [Bool] = []
        func visit(_ node: Any) {
            guard let node = node as? [String: Any] else { return }
            if let process = node["pid"] as? Int, terminals.contains(process) {
                found.append(node["focused"] as? Bool == true)
            }
            for key in ["nodes", "floating_nodes"] { (node[key] as? [Any])?.forEach(visit) }
        }
        if let tree = try? JSONSerialization.jsonObject(with: Data(text.utf8)) { visit(tree) }
        return found.count == 1 ? found[0] : nil
    }

    /// What a program prints; `nil` if it fails, or a display server does not answer it.
    private static func output(of command: String...) -> String? {
        try? HelperProgram(command, timeLimit: .seconds(2)).run(readsOutput: true)
    }
}
