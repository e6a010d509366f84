import TestSupport

/// Live progress of a real app: in tmux, under script(1), on pipes, and for every way to end.
@Suite("Live progress of an app", .timeLimit(.minutes(10)), .needs("tmux", package: "tmux"))
struct TerminalProgressProcessTests {
    private let folder: TemporaryDirectory
    private let helper: String
    private let terminal: PseudoTerminal

    init() throws {
        folder = try TemporaryDirectory()
        helper = try Command.built("test-probe")
        terminal = try PseudoTerminal()
        try configure("completionDelay: 0\nbackends: [terminalProgress]\nterminalProgress: {finished: failures}")
        try #require(mkfifo(folder.appending("commands"), 0o600) == 0)
    }

    private func configure(_ lines: String) throws {
        try folder.write("startDelay: 0\n\(lines)\n", to: "config.yaml")
    }

    private var arguments: [String] { ["progress", folder.appending("config.yaml"), folder.appending("commands")] }

    /// Sends commands to the app, and returns when it has executed them.
    private func tell(_ commands: String...) async throws {
        for command in commands {
            func count() -> Int { ((try? folder.read("commands.done")) ?? "").count(where: \.isNewline) }
            let before = count()
            // Open until the app has read the command.
            let file = try send(command)
            defer { withExtendedLifetime(file) {} }
            try #require(await eventually { count() > before }, "\(command) is not answered")
        }
    }

    /// Sends a command without waiting for an answer.
    @discardableResult
    private func send(_ command: String) throws -> FileHandle {
        // For reading, too, so that opening does not wait for the app.
        let file = try #require(FileHandle(forUpdatingAtPath: folder.appending("commands")))
        try file.write(contentsOf: Data((command + "\n").utf8))
        return file
    }

    /// Runs the app in the shell of a real terminal.
    private func inTerminal(
        columns: Int = 80,
        rows: Int = 24,
        suffix: String = "",
        _ body: (Tmux) async throws -> Void
    ) async throws {
        // Without Swift's crash handler, which waits 30 s for a key.
        let variables = "export LC_ALL=C.UTF-8 NO_COLOR=1 SWIFT_BACKTRACE=enable=no; unset CI"
        try await Tmux.withShell(variables, columns: columns, rows: rows) { tmux in
            try await tmux.type("clear; \(helper) \(arguments.joined(separator: " "))\(suffix)")
            try await body(tmux)
        }
    }

    /// Waits until these are the lines of the screen, or of the history, too: each is the text, or begins with it if it
    /// ends in a space or `(`, or is any one if it is empty. After `…`, these are the last lines.
    private func expect(
        _ tmux: Tmux,
        _ expected: [String],
        history: Bool = false,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let texts = expected.filter { $0 != "…" }
        var lines: [String] = []
        let isShown = try await eventually {
            lines = try await history ? tmux.history : tmux.lines
            if texts.count < expected.count { lines = lines.suffix(texts.count) }
            return lines.count == texts.count
                && zip(lines, texts).allSatisfy { line, text in
                    text == "" || line == text || " (".contains(text.last!) && line.hasPrefix(text)
                }
        }
        #expect(isShown, "\(lines)", sourceLocation: location)
    }

    @Test(arguments: [20, 40, 80, 200])
    func `fits windows of every width, and follows a change`(columns: Int) async throws {
        try await inTerminal(columns: columns, rows: 12) { tmux in
            try await tell("begin debian-13.iso", "bytes debian-13.iso 20000000 40000000", "begin 日本語 äöü")
            try await tell("begin 3", "begin 4", "begin 5")
            func isWhole(_ lines: ArraySlice<String>, columns: Int) -> Bool {
                let lines = Array(lines)
                return lines.count == 5 && lines[0].hasPrefix("debian-1")
                    && lines[0].contains(columns < 30 ? "50%" : "━") && lines[1].contains("日本語")
                    && lines[3].contains("4") && lines[4] == "and 1 more"
            }
            #expect(try await tmux.shows { isWhole($0[...], columns: columns) })
            for width in [60, 100, columns] {
                try await tmux.command("resize-window", "-x", "\(width)", "-y", "12")
                // A window that grows may show earlier lines again.
                #expect(try await tmux.shows { isWhole($0.suffix(5), columns: width) })
            }
            try await tell("shutdown")
            #expect(try await tmux.shows { $0.last != "and 1 more" })
        }
    }

    @Test func `keeps its own messages above the lines`() async throws {
        try await inTerminal { tmux in
            try await tell("begin one", "bytes one 20000000 40000000")
            #expect(try await tmux.shows { $0.count == 1 && $0[0].hasPrefix("one ") && $0[0].contains("━") })
            try folder.write("startDelai: 0\nbackends: [terminalProgress]\n", to: "config.yaml")
            func isWhole(_ lines: [String]) -> Bool {
                lines.count > 2 && lines.last?.hasPrefix("one ") == true
                    && lines.contains { $0.hasSuffix("the previous one remains in effect:") }
                    && lines.dropLast().allSatisfy { !$0.contains("━") }
            }
            #expect(try await tmux.shows(isWhole))
            try await tell("shutdown")
        }
    }

    @Test func `keeps logged and printed text above the lines, and foreign output readable`() async throws {
        try await inTerminal { tmux in
            try await tell("begin one", "begin two", "log logged 日本", "print printed", "raw foreign")
            try await expect(tmux, ["", "printed", "foreign", "one ", "two "])
            #expect(try await tmux.lines[0].hasSuffix("logged 日本"))
            // Up to the right margin, and wider.
            let full = String(repeating: "日", count: 30) + String(repeating: "x", count: 20)
            try await tell("piece \(full)")
            try await expect(tmux, ["", "printed", "foreign", full])
            try await tell("print y\(full)")
            let above = ["", "printed", "foreign", full, "y\(full.dropLast())", "x"]
            try await expect(tmux, above + ["one ", "two "])
            try await tell("part Password: ")
            // The terminal echoes typed keys at the cursor.
            try await tmux.command("send-keys", "-l", "secret")
            try await expect(tmux, above + ["Password: secret", "one ", "two "])
            try await tell("fail two HTTP 503", "end one")
            try await expect(tmux, above + ["Password: secret", "✗ two: HTTP 503 ("])
        }
    }

    @Test func `keeps what the app prints and what its child processes print above the lines, exactly`() async throws {
        try await inTerminal { tmux in
            try await tell("capture", "begin one", "begin two")
            var expected: [String] = []
            for number in 1...8 {
                let line = String(repeating: "\(number)", count: [5, 80, 83, 160][number % 4])
                try await tell("\(number.isMultiple(of: 2) ? "child" : "plain") \(line)")
                expected.append(line)
                // What a child process has written may appear shortly after its end.
                #expect(try await eventually { try await tmux.history.contains(line) })
            }
            // It was kept back until the process ended, and was part of the next child's first line.
            try await tell("piece-child unfinished")
            #expect(try await eventually { try await tmux.history.contains("unfinished") })
            try await tell("plain ")
            expected.append("unfinished")
            try await expect(tmux, expected + ["one ", "two "], history: true)
            try await tell("shutdown")
            try send("return")
            try await expect(tmux, expected + ["ready>"], history: true)
        }
    }

    @Test func `draws nothing while another program uses the terminal, and is drawn again after it`() async throws {
        try await inTerminal { tmux in
            try await tell("begin one")
            try await expect(tmux, ["…", "one "])
            let path = try await tmux.terminalPath
            for modes in ["-echo", "-icanon"] {
                _ = try await Command.run("stty", ["-F", path, modes])
                // A frame that was begun before may still be written. There would be several in half a second.
                try await expectEventually {
                    try await tmux.command("send-keys", "-R")
                    try await Task.sleep(for: .milliseconds(500))
                    return try await !tmux.lines.contains { $0.hasPrefix("one ") }
                }
                _ = try await Command.run("stty", ["-F", path, "sane"])
                try await expect(tmux, ["…", "one "])
            }
            try await tell("shutdown")
        }
    }

    /// Lets the app write lines above bars while the window changes its size again and again, and returns what remains.
    private func writeLines(_ count: Int, resizing rounds: Int, _ resize: (Int) async throws -> Void) async throws
        -> [String]
    {
        try await tell("capture")
        // In the first rows of a window, terminals lose the cursor when lines below it are wrapped.
        for number in 1...30 { try await tell("plain first \(number)") }
        try await tell("begin one", "begin two", "bytes two 1000 2000", "begin three")
        for round in 0..<rounds {
            try await resize(round)
            for line in 0..<count { try await tell("plain text \(round * count + line)") }
        }
        try await tell("shutdown")
        try send("return")
        return (1...30).map { "first \($0)" } + (0..<rounds * count).map { "text \($0)" }
    }

    @Test func `leaves nothing in the history while the window changes its size quickly`() async throws {
        try await inTerminal { tmux in
            // On a busy machine, each size is drawn. A narrower one moves the cursor up by three rows.
            let expected = try await writeLines(3, resizing: 120) { round in
                if round == 0 { try await expect(tmux, ["…", "three "]) }
                let (columns, rows) = ([90, 44, 70, 52][round % 4], [20, 12, 24, 9][round / 3 % 4])
                try await tmux.command("resize-window", "-x", "\(columns)", "-y", "\(rows)")
            }
            try await expect(tmux, expected + ["ready>"], history: true)
        }
    }

    @Test(.needs(["alacritty": "alacritty", "xclip": "xclip"]), .needs(.screen))
    func `leaves nothing in Alacritty while the window changes its size quickly`() async throws {
        let screen = try await Screen(size: "1280x1024")
        try folder.write(
            """
            '\(helper)' \(arguments.joined(separator: " "))
            echo all done
            while [ -e '\(folder.path)/run' ]; do sleep 0.1; done

            """,
            to: "run"
        )
        let alacritty = try Daemon(
            "alacritty",
            ["-o", "font.size=5", "-e", "sh", folder.appending("run")],
            environment: [
                "DISPLAY": screen.display, "WAYLAND_DISPLAY": "", "LIBGL_ALWAYS_SOFTWARE": "1", "HOME": folder.path,
                "XDG_RUNTIME_DIR": folder.path, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "CI": "", "TMUX": "", "STY": "",
            ],
            package: "alacritty"
        )
        func xdotool(_ words: String) async throws -> String {
            let words = words.split(separator: " ").map(String.init)
            return try await screen.run("xdotool", words, package: "xdotool")
        }
        var window = ""
        var expected = try await writeLines(1, resizing: 30) { round in
            if round == 0 {
                let windows = try await xdotool("search --class Alacritty").split(separator: "\n")
                window = try String(#require(windows.last, "\(alacritty.errors)"))
                _ = try await xdotool("windowsize \(window) 450 200")
            }
            for number in round * 3..<round * 3 + 3 {
                let (width, height) = ([450, 220, 350, 260][number % 4], [200, 120, 240, 90][number / 3 % 4])
                _ = try await xdotool("windowsize \(window) \(width) \(height)")
            }
        }
        _ = try await xdotool("windowsize \(window) 1280 1000")
        expected.append("all done")
        var lines: [String] = []
        try await expectEventually("\(lines)") {
            // Selects all of the window; X has the text.
            _ = try await xdotool("mousemove 1 1 mousedown 1 mousemove 600 500 mousemove 1278 998 mouseup 1")
            lines = try await screen.run("xclip", ["-o", "-selection", "primary"], package: "xclip")
                .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { $0 != "" }
            return lines == expected
        }
        await alacritty.end()
    }

    @Test(
        "leaves the cursor visible at the start of a clean line, however it ends",
        arguments: [
            "exit", "return", "shutdown", "C-c", "C-\\", "TERM", "INT", "QUIT", "ABRT", "PIPE", "ALRM", "SEGV", "KILL",
        ]
    )
    func ends(how: String) async throws {
        try await inTerminal(suffix: " & echo $! > \(folder.appending("pid")); fg >/dev/null") { tmux in
            try await tell("begin one", "begin two", "print printed")
            try await expect(tmux, ["printed", "one ", "two "])
            switch how {
            case "C-c", "C-\\": try await tmux.press(how)
            case "exit", "return": try send(how)
            case "shutdown": try await tell("shutdown", "end one"); try await tmux.press("C-c")
            default:
                _ = try await Command.run("kill", ["-\(how)", folder.read("pid").trimmingCharacters(in: .newlines)])
            }
            #expect(try await tmux.shows { $0.contains { $0.hasPrefix("ready>") } })
            #expect(try await tmux.command("display-message", "-p", "#{cursor_flag},#{cursor_x}") == "1,7")
            if ["ABRT", "PIPE", "ALRM", "SEGV", "KILL"].contains(how) {
                // No handler runs: lines may remain below the cursor, whose own line is clean. The shell continues
                // there, with the name of the signal or its prompt.
                let lines = try await tmux.lines
                #expect(lines[0] == "printed" && !lines[1].contains("one") && !lines[1].contains("two"), "\(lines)")
            } else {
                #expect(try await tmux.shows { $0.first == "printed" && $0.last == "ready>" })
            }
        }
    }

    @Test func `draws nothing while it is stopped or in the background, and is drawn again after fg`() async throws {
        try await inTerminal { tmux in
            try await tell("begin one")
            try await expect(tmux, ["…", "one "])
            for _ in 0..<2 {
                try await tmux.press("C-z")
                try await expect(tmux, ["…", "ready>"])
                try await tmux.type("clear; bg")
                try await tell("raw from the background")
                #expect(
                    try await tmux.shows {
                        $0.contains { $0.hasSuffix("from the background") } && !$0.contains { $0.hasPrefix("one ") }
                    }
                )
                try await tmux.type("clear; fg")
                try await expect(tmux, ["…", "one "])
            }
        }
    }

    /// Runs the app with standard error on a terminal, and ends it. The file `pid` has its process ID.
    private func onTerminal(
        _ environment: [String: String] = [:],
        end: String = "return",
        _ body: () async throws -> Void
    ) async throws {
        let record = ["sh", "-c", #"echo $$ >"$0"; exec "$@""#, folder.appending("pid")]
        let daemon = try terminal.session(
            record + [helper] + arguments,
            hasOutput: false,
            environment: ["LC_ALL": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1", "CI": ""].merging(environment) { $1 }
        )
        try await body()
        try send(end)
        #expect(await daemon.ends())
    }

    private func processID() throws -> Int32 {
        try #require(Int32(try folder.read("pid").trimmingCharacters(in: .newlines)))
    }

    @Test(
        "writes numbers with the decimal mark of the user's locale, whatever the locale of the app",
        .needs("/usr/share/i18n/locales/de_DE", package: "locales"),
        arguments: [("de_DE", "20,0 of 40,0 MB"), ("ru_RU", "20,0 of 40,0 MB"), ("en_US", "20.0 of 40.0 MB")]
    )
    func locale(name: String, amount: String) async throws {
        let options = ["--no-archive", "-i", name, "-f", "UTF-8", folder.appending("\(name).UTF-8")]
        let made = try await Command.run("localedef", options, package: "locales")
        try #require(made.status == 0, "\(made.error)")
        try configure("backends: [terminalProgress, terminalTitle]\nterminalTitle: {format: '{progress} done'}")
        try await onTerminal(["LC_ALL": "\(name).UTF-8", "LOCPATH": folder.appending("")]) {
            try await tell("begin one", "bytes one 20000000 40000000")
            #expect(await terminal.shows(amount), "\(terminal.transcript.debugDescription)")
            #expect(await terminal.shows("50% done"))
        }
    }

    @Test func `writes a frame with one system call`() async throws {
        try await onTerminal(["XDG_RUNTIME_DIR": folder.path]) {
            // The system calls of the process that write, as the kernel counts them (proc(5)).
            func count() throws -> Int {
                let text = try String(contentsOfFile: "/proc/\(processID())/io", encoding: .utf8)
                return try #require(text.firstMatch(of: /syscw: (\d+)/).flatMap { Int($0.1) })
            }
            try await tell("begin one", "begin two", "bytes two 1000 2000")
            // What ends before it is drawn is never drawn.
            #expect(await terminal.shows("two "))
            try await tell("end one", "end two")
            #expect(await eventually { terminal.transcript.hasSuffix("\u{1B}[J\u{1B}8") })
            terminal.forget()
            let before = try count()
            try await tell("begin one", "begin two", "bytes two 1000 2000")
            // A frame restores the line breaks and the cursor.
            func frames() -> Int { terminal.transcript.components(separatedBy: "\u{1B}[?7h\u{1B}8").count - 1 }
            #expect(await eventually { frames() >= 20 })
            try await tell("end one", "end two")
            #expect(await eventually { terminal.transcript.hasSuffix("\u{1B}[J\u{1B}8") })
            // A write for each frame, one that removes the lines, and the answers to the five commands.
            #expect(try await eventually { try count() - before == frames() + 1 + 5 })
        }
    }

    @Test func `causes no wake-ups while the indicator is hidden`() async throws {
        try await onTerminal {
            try await tell("begin one")
            let process = try processID()
            #expect(await eventually { !wakingThreads(of: process).waking.isEmpty })
            try await tell("end one")
            #expect(await eventually { wakingThreads(of: process).waking.isEmpty })
            await expectEventually { wakingThreads(of: process).names.contains { $0.hasPrefix("ind-terminalPro") } }
        }
    }

    @Test func `Log messages wait for a stopped terminal, as print does, and none is lost`() async throws {
        try await onTerminal(end: "exit") {
            try await tell("begin one")
            #expect(await terminal.shows("one"))
            terminal.stopOutput()
            for command in ["log first", "log second", "log third"] { try send(command) }
            terminal.startOutput()
            #expect(await terminal.shows("third"))
            #expect(terminal.transcript.contains("first") && terminal.transcript.contains("second"))
            try await tell("shutdown")
        }
    }
}
