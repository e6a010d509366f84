extension BrokenFile {
    /// Files with invalid names, lists and sections.
    static let structure: [BrokenFile] = [
        BrokenFile(
            "an unknown key that is nearly a known one",
            "startdelay: 1\n",
            "1:1: unknown key 'startdelay', did you mean 'startDelay'?"
        ),
        BrokenFile(
            "an unknown key unlike any known one",
            "colour: red\n",
            "1:1: unknown key 'colour'; it is no section with a 'kind', and known keys are: observe, logFile, enabled and 8 more"
        ),
        BrokenFile(
            "a setting beside its section",
            "logFile:\npath: /tmp/a.log\n",
            "2:1: unknown key 'path'; it is a setting of 'logFile', below which it must be indented"
        ),
        BrokenFile(
            "an unknown key inside a section",
            "logFile:\n  path: /tmp/a.log\n  fromat: text\n",
            "3:3: unknown key 'fromat' in 'logFile', did you mean 'format'?"
        ),
        BrokenFile(
            "an unknown key inside a section, unlike any known one",
            "logFile:\n  colour: red\n",
            "2:3: unknown key 'colour' in 'logFile'; settings of logFile: format, path, keep and 2 more"
        ),
        BrokenFile(
            "a kind in the wrong case",
            "backends: [logfile]\nlogfile:\n  path: /tmp/a.log\n",
            "1:12: unknown backend 'logfile', did you mean 'logFile'?",
            "2:1: unknown key 'logfile', did you mean 'logFile'?"
        ),
        BrokenFile(
            "an unknown backend",
            "backends: [terminalTitle, telegraph]\n",
            "1:27: unknown backend 'telegraph'; expected a section with a 'kind', or one of: logFile, terminalTitle, dbusProperty and 1 more"
        ),
        BrokenFile(
            "a backend that is not in this build",
            "backends: [terminalTitle, desktopNotification]\n",
            "1:27: the backend 'desktopNotification' cannot be used: this build has no desktop notifications; build with the trait DesktopNotification"
        ),
        BrokenFile(
            "a duplicate backend",
            "backends: [terminalTitle, terminalTitle]\n",
            "1:27: 'backends': 'terminalTitle' is duplicated"
        ),
        BrokenFile(
            "a duplicate backend before an unknown one, each at its own place",
            "backends:\n  - terminalTitle\n  - terminalTitle\n  - telegraph\n",
            "3:5: 'backends': 'terminalTitle' is duplicated",
            "4:5: unknown backend 'telegraph'; expected a section with a 'kind', or one of: logFile, terminalTitle, dbusProperty and 1 more"
        ),
        BrokenFile(
            "a text where a section with a required setting belongs",
            "backends: [logFile]\nlogFile: /tmp/a.log\n",
            "2:10: 'logFile': expected a section with the settings of logFile, found a text"
        ),
        BrokenFile(
            "an unknown backend beside many sections, of which only the first ones are suggested",
            "backends: [zzzzzzzzzz]\n" + (10..<60).map { "s\($0): {kind: logFile, path: /a}\n" }.joined(),
            "1:12: unknown backend 'zzzzzzzzzz'; expected a section with a 'kind', or one of: logFile, s10, s11 and 21 more"
        ),
        BrokenFile(
            "a map where a list of backends belongs",
            "backends:\n  terminalTitle: true\n",
            "2:3: 'backends': expected a list of names, found a section ('key: value')"
        ),
        BrokenFile(
            "no list after backends",
            "backends:\n",
            "1:1: 'backends': expected a list of names, found nothing"
        ),
        BrokenFile(
            "a list for the whole file",
            "- startDelay: 1\n- completionDelay: 2\n",
            "1:1: expected lines such as 'startDelay: 1', found a list"
        ),
        BrokenFile(
            "a list where a section belongs",
            "terminalTitle:\n  - format: x\n",
            "2:3: 'terminalTitle': expected a section with the settings of terminalTitle, found a list"
        ),
        BrokenFile(
            "a text where a section belongs",
            "terminalTitle: on\n",
            "1:16: 'terminalTitle': expected a section with the settings of terminalTitle, found a text"
        ),
        BrokenFile(
            "a section without a kind",
            "backends: [audit]\naudit:\n  path: /tmp/a.log\n",
            "1:12: unknown backend 'audit'; expected a section with a 'kind', or one of: logFile, terminalTitle, dbusProperty and 1 more",
            "2:1: unknown key 'audit'; it is no section with a 'kind', and known keys are: enabled, logFile, observe and 8 more"
        ),
        BrokenFile(
            "a section of an unknown kind",
            "backends: [audit]\naudit:\n  kind: logfile\n  path: /tmp/a.log\n",
            "3:9: unknown kind 'logfile', did you mean 'logFile'?"
        ),
        BrokenFile(
            "a section named after another kind",
            "terminalTitle:\n  kind: logFile\n  path: /tmp/a.log\n",
            "2:9: 'kind': a section named 'terminalTitle' is of that kind; give the other one another name"
        ),
        BrokenFile(
            "a kind that is a list",
            "audit:\n  kind: [logFile]\n",
            "2:9: 'kind': expected the name of a kind, found a list"
        ),
        BrokenFile(
            "a section with the name that stands for what fits",
            "backends: [auto]\nauto: {kind: logFile, path: /a.log}\n",
            "2:1: 'auto' cannot name a backend; expected letters, digits, '-' and '_' after a letter, and not 'auto'"
        ),
        BrokenFile(
            "a section with an invalid name",
            "my log!:\n  kind: logFile\n  path: /tmp/a.log\n",
            "1:1: 'my log!' cannot name a backend; expected letters, digits, '-' and '_' after a letter, and not 'auto'"
        ),
        BrokenFile(
            "a duplicate key",
            "startDelay: 1\ncompletionDelay: 2\nstartDelay: 3\n",
            "1:1: the key 'startDelay' is duplicated"
        ),
        BrokenFile(
            "a duplicate key in JSON",
            "{\n  \"startDelay\": 1,\n  \"startDelay\": 2\n}\n",
            file: "indicator.json",
            "3:3: the key 'startDelay' is duplicated"
        ),
        BrokenFile(
            "a wrong value and an unknown key in JSON",
            "{\n\t\"startDelay\": \"1\",\n\t\"backend\": []\n}\n",
            file: "indicator.json",
            "3:2: unknown key 'backend', did you mean 'backends'?"
        ),
        BrokenFile(
            "JSON that is cut off",
            "{\n  \"startDelay\": 1,\n  \"backends\": [\"logFile\"\n",
            file: "indicator.json",
            "4:1: expected ',' or ']', found the end"
        ),
        BrokenFile(
            "wrong entries in brackets, each reported once",
            "backends: [logFile, logFile]\nlogFile: {path: /tmp/a.log, frmat: text, keep: x}\n",
            "1:21: 'backends': 'logFile' is duplicated",
            "2:29: unknown key 'frmat' in 'logFile', did you mean 'format'?",
            "2:48: 'keep': expected a whole number from 0 to 100, found 'x'"
        ),
        BrokenFile(
            "an unfinished JSON text",
            "{\"startDelay\": 1, \"logFile\": {\"path\": \"/tmp/a.log}}\n",
            file: "indicator.json",
            "1:52: a string must not contain the end of the line"
        ),
        BrokenFile(
            "an option of another kind",
            "terminalTitle:\n  maxSize: 1 MiB\n",
            "2:3: unknown key 'maxSize' in 'terminalTitle'; settings of terminalTitle: format, progress, kind"
        ),
    ]
}
