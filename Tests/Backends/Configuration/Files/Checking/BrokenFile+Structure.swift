extension BrokenFile {
    /// Files with invalid names, lists and sections.
    static let structure: [BrokenFile] = [
        BrokenFile(
            "an unknown key that is nearly a known one",
            "startdelay: 1\n",
            reports: [
                "indicator.yaml:1:1: error: unknown key 'startdelay', did you mean 'startDelay'?"
            ]
        ),
        BrokenFile(
            "an unknown key unlike any known one",
            "colour: red\n",
            reports: [
                "indicator.yaml:1:1: error: unknown key 'colour'; known keys: observe, logFile, enabled and 8 more"
            ]
        ),
        BrokenFile(
            "an unknown key inside a section",
            "logFile:\n  path: /tmp/a.log\n  fromat: text\n",
            reports: [
                "indicator.yaml:3:3: error: unknown key 'fromat' in 'logFile', did you mean 'format'?"
            ]
        ),
        BrokenFile(
            "an unknown key inside a section, unlike any known one",
            "logFile:\n  colour: red\n",
            reports: [
                "indicator.yaml:2:3: error: unknown key 'colour' in 'logFile'; settings of logFile: format, path, keep and 2 more"
            ]
        ),
        BrokenFile(
            "a kind in the wrong case",
            "backends: [logfile]\nlogfile:\n  path: /tmp/a.log\n",
            reports: [
                "indicator.yaml:1:12: error: unknown backend 'logfile', did you mean 'logFile'?",
                "indicator.yaml:2:1: error: unknown key 'logfile', did you mean 'logFile'?",
            ]
        ),
        BrokenFile(
            "an unknown backend",
            "backends: [terminalTitle, telegraph]\n",
            reports: [
                "indicator.yaml:1:27: error: unknown backend 'telegraph'; expected a section with a 'kind', or one of: logFile, terminalTitle, dbusProperty and 1 more"
            ]
        ),
        BrokenFile(
            "a backend that is not in this build",
            "backends: [terminalTitle, desktopNotification]\n",
            reports: [
                "indicator.yaml:1:27: error: the backend 'desktopNotification' cannot be used: this build has no desktop notifications; build with the trait DesktopNotification"
            ]
        ),
        BrokenFile(
            "a duplicate backend",
            "backends: [terminalTitle, terminalTitle]\n",
            reports: [
                "indicator.yaml:1:27: error: 'terminalTitle' is duplicated in 'backends'"
            ]
        ),
        BrokenFile(
            "a text where a list of backends belongs",
            "backends: terminalTitle\n",
            reports: [
                "indicator.yaml:1:11: error: 'backends': expected a list such as [terminalTitle, logFile], found 'terminalTitle'"
            ]
        ),
        BrokenFile(
            "a map where a list of backends belongs",
            "backends:\n  terminalTitle: true\n",
            reports: [
                "indicator.yaml:2:3: error: 'backends': expected a list such as [terminalTitle, logFile], found a section ('key: value')"
            ]
        ),
        BrokenFile(
            "no list after backends",
            "backends:\n",
            reports: [
                "indicator.yaml:1:1: error: 'backends': expected a list such as [terminalTitle, logFile], found nothing; write [] for none"
            ]
        ),
        BrokenFile(
            "a list for the whole file",
            "- startDelay: 1\n- completionDelay: 2\n",
            reports: [
                "indicator.yaml:1:1: error: expected 'key: value' lines, found a list"
            ]
        ),
        BrokenFile(
            "a text for the whole file",
            "hello\n",
            reports: [
                "indicator.yaml:1:1: error: expected 'key: value' lines, found 'hello'"
            ]
        ),
        BrokenFile(
            "a list where a section belongs",
            "terminalTitle:\n  - format: x\n",
            reports: [
                "indicator.yaml:2:3: error: 'terminalTitle': expected a section with the settings of terminalTitle, found a list"
            ]
        ),
        BrokenFile(
            "a text where a section belongs",
            "terminalTitle: on\n",
            reports: [
                "indicator.yaml:1:16: error: 'terminalTitle': expected a section with the settings of terminalTitle, found 'on'"
            ]
        ),
        BrokenFile(
            "a section without a kind",
            "backends: [audit]\naudit:\n  path: /tmp/a.log\n",
            reports: [
                "indicator.yaml:2:1: error: the section 'audit' has no 'kind'; expected the name of a kind as the section's name or as its 'kind': logFile, terminalTitle, dbusProperty and 1 more"
            ]
        ),
        BrokenFile(
            "a section of an unknown kind",
            "backends: [audit]\naudit:\n  kind: logfile\n  path: /tmp/a.log\n",
            reports: [
                "indicator.yaml:3:9: error: unknown kind 'logfile', did you mean 'logFile'?"
            ]
        ),
        BrokenFile(
            "a section named after another kind",
            "terminalTitle:\n  kind: logFile\n  path: /tmp/a.log\n",
            reports: [
                "indicator.yaml:2:9: error: 'kind': a section named 'terminalTitle' is of that kind; give one of kind 'logFile' another name"
            ]
        ),
        BrokenFile(
            "a kind that is a list",
            "audit:\n  kind: [logFile]\n",
            reports: [
                "indicator.yaml:2:9: error: 'kind': expected the name of a kind, found a list"
            ]
        ),
        BrokenFile(
            "a section with an invalid name",
            "my log!:\n  kind: logFile\n  path: /tmp/a.log\n",
            reports: [
                "indicator.yaml:1:1: error: 'my log!' cannot name a backend; expected a name of letters, digits, '-' and '_' that begins with a letter"
            ]
        ),
        BrokenFile(
            "a duplicate key",
            "startDelay: 1\ncompletionDelay: 2\nstartDelay: 3\n",
            reports: [
                "indicator.yaml:1:1: error: the key 'startDelay' is duplicated"
            ]
        ),
        BrokenFile(
            "a duplicate key in JSON",
            "{\n  \"startDelay\": 1,\n  \"startDelay\": 2\n}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:3:3: error: the key 'startDelay' is duplicated"
            ]
        ),
        BrokenFile(
            "a wrong value and an unknown key in JSON",
            "{\n\t\"startDelay\": \"1\",\n\t\"backend\": []\n}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:2:16: error: 'startDelay': expected a number of seconds, zero or more, found the string \"1\"; remove the quotes",
                "indicator.json:3:2: error: unknown key 'backend', did you mean 'backends'?",
            ]
        ),
        BrokenFile(
            "JSON that is cut off",
            "{\n  \"startDelay\": 1,\n  \"backends\": [\"logFile\"\n",
            file: "indicator.json",
            reports: [
                "indicator.json:4:1: error: expected ',' or ']', found the end"
            ]
        ),
        BrokenFile(
            "wrong entries in brackets, each reported once",
            "backends: [logFile, logFile]\nlogFile: {path: /tmp/a.log, frmat: text, keep: x}\n",
            reports: [
                "indicator.yaml:1:21: error: 'logFile' is duplicated in 'backends'",
                "indicator.yaml:2:29: error: unknown key 'frmat' in 'logFile', did you mean 'format'?",
                "indicator.yaml:2:48: error: 'keep': expected a whole number from 0 to 100, found 'x'",
            ]
        ),
        BrokenFile(
            "a size in words",
            "logFile:\n  path: /tmp/a.log\n  maxSize: big\n",
            reports: [
                "indicator.yaml:3:12: error: 'maxSize': expected a number of bytes such as 1048576, 512 kB or 1 MiB, found 'big'"
            ]
        ),
        BrokenFile(
            "a section named after one kind, of another kind",
            "logFile:\n  path: /tmp/a.log\n  kind: dbusProperty\n",
            reports: [
                "indicator.yaml:3:9: error: 'kind': a section named 'logFile' is of that kind; give one of kind 'dbusProperty' another name"
            ]
        ),
        BrokenFile(
            "an unfinished JSON text",
            "{\"startDelay\": 1, \"logFile\": {\"path\": \"/tmp/a.log}}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:1:52: error: a string must not contain the end of the line"
            ]
        ),
        BrokenFile(
            "a JSON file with an invalid comment",
            "{\n  // the delay\n  \"startDelay\": 1\n}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:2:3: error: expected a string, found '/'; JSON has no comments"
            ]
        ),
        BrokenFile(
            "an option of another kind",
            "terminalTitle:\n  maxSize: 1 MiB\n",
            reports: [
                "indicator.yaml:2:3: error: unknown key 'maxSize' in 'terminalTitle'; settings of terminalTitle: format, progress, kind"
            ]
        ),
    ]
}
