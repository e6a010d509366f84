extension BrokenFile {
    /// Files that are not YAML, or use YAML that a config file may not use.
    static let syntax: [BrokenFile] = [
        BrokenFile(
            "a format without quotes that is not YAML",
            "terminalTitle:\n  format: {spinner} {label}\n",
            reports: [
                "indicator.yaml:2:21: error: found more text after a value in brackets; put quotes around a string that begins with '{'"
            ]
        ),
        BrokenFile(
            "a colon in a text without quotes",
            "terminalTitle:\n  format: busy: {label}\n",
            reports: [
                "indicator.yaml:2:15: error: unexpected ':'; put quotes around a string with ': ' in it"
            ]
        ),
        BrokenFile(
            "a quote that is not closed",
            "startDelay: 1\nterminalTitle:\n  format: \"busy\nstartdelay: 2\n",
            reports: [
                "indicator.yaml:3:11: error: this string has no closing quote"
            ]
        ),
        BrokenFile(
            "an unknown escape",
            "terminalTitle:\n  format: \"a\\qb\"\n",
            reports: [
                "indicator.yaml:2:13: error: unknown escape after '\\'; write '\\\\' for a backslash, or put the string in single quotes"
            ]
        ),
        BrokenFile(
            "a list in brackets that is not closed",
            "backends: [terminalTitle, logFile\nstartDelay: 1\n",
            reports: [
                "indicator.yaml:1:11: error: this '[' is not closed; expected ',' or ']' by line 2"
            ]
        ),
        BrokenFile(
            "a list without commas",
            "backends: [terminalTitle logFile]\n",
            reports: [
                "indicator.yaml:1:12: error: 'backends': expected a name, found 'terminalTitle logFile'; put commas between names"
            ]
        ),
        BrokenFile(
            "a missing comma between quoted names",
            "backends: [\"terminalTitle\" \"logFile\"]\n",
            reports: [
                "indicator.yaml:1:28: error: expected ',' or ']' before '\"'"
            ]
        ),
        BrokenFile(
            "a value that begins with an at sign",
            "terminalTitle:\n  format: @app\n",
            reports: [
                "indicator.yaml:2:11: error: a value cannot begin with '@'; put quotes around it"
            ]
        ),
        BrokenFile(
            "a key without a colon",
            "startDelay 1\ncompletionDelay: 0.2\n",
            reports: [
                "indicator.yaml:1:1: error: expected 'key: value', found 'startDelay …'"
            ]
        ),
        BrokenFile(
            "no space after the colon",
            "startDelay:1\ncompletionDelay: 0.2\n",
            reports: [
                "indicator.yaml:1:1: error: expected 'key: value', found 'startDelay:…'; put a space after the ':'"
            ]
        ),
        BrokenFile(
            "a line indented too far",
            "startDelay: 1\n  completionDelay: 0.2\n",
            reports: [
                "indicator.yaml:2:3: error: this line is indented too far, or the one above must not have a value"
            ]
        ),
        BrokenFile(
            "a line indented too little",
            "terminalTitle:\n    progress: on\n  format: x\n",
            reports: [
                "indicator.yaml:3:3: error: expected 'key: value' here; check the indentation of the line"
            ]
        ),
        BrokenFile(
            "a first line that is indented",
            "  startDelay: 1\ncompletionDelay: 0.2\n",
            reports: [
                "indicator.yaml:2:1: error: unexpected after the lines above; expected 'key: value' lines with the same indentation"
            ]
        ),
        BrokenFile(
            "a tab as indentation",
            "terminalTitle:\n\tprogress: on\n",
            reports: [
                "indicator.yaml:2:1: error: found a tab; YAML is indented with spaces"
            ]
        ),
        BrokenFile(
            "a tab after spaces as indentation",
            "logFile:\n  path: /tmp/a.log\n  \tformat: text\n",
            reports: [
                "indicator.yaml:3:3: error: found a tab; YAML is indented with spaces"
            ]
        ),
        BrokenFile(
            "an alias without its anchor",
            "startDelay: *delay\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, found the alias '*delay', which is not supported"
            ]
        ),
        BrokenFile(
            "a key that is an alias of another",
            "&delay startDelay: 1\n\n\n*delay : 2\n",
            reports: [
                "indicator.yaml:4:1: error: expected a name before ':', found the alias '*delay', which is not supported"
            ]
        ),
        BrokenFile(
            "a merge key",
            "logFile: &log\n  path: /tmp/a.log\naudit:\n  <<: *log\n  kind: logFile\n  path: /tmp/b.log\n",
            reports: [
                "indicator.yaml:4:3: error: unknown key '<<' in 'audit'; settings of logFile: path, keep, kind and 2 more"
            ]
        ),
        BrokenFile(
            "a key that is an alias of a list",
            "a: &a [x]\n? *a\n: 1\n",
            reports: [
                "indicator.yaml:1:1: error: unknown key 'a'; known keys: enabled, observe, backends and 8 more",
                "indicator.yaml:2:3: error: expected a name before ':', found the alias '*a', which is not supported",
            ]
        ),
        BrokenFile(
            "a pattern that begins with an asterisk",
            "logFile:\n  path: *.log\n",
            reports: [
                "indicator.yaml:2:9: error: 'path': expected the path of a file, found the alias '*.log', which is not supported; put quotes around a string that begins with '*'"
            ]
        ),
        BrokenFile(
            "an anchor that contains itself",
            "backends: &a [*a]\n",
            reports: [
                "indicator.yaml:1:15: error: 'backends': expected a name, found the alias '*a', which is not supported"
            ]
        ),
        BrokenFile(
            "a value with a type",
            "startDelay: !!float 1\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': the type '!!float' is not supported; remove it"
            ]
        ),
        BrokenFile(
            "a local type",
            "logFile: !section\n  path: /tmp/a.log\n",
            reports: [
                "indicator.yaml:1:10: error: 'logFile': expected a section with the settings of logFile, found the type '!section'"
            ]
        ),
        BrokenFile(
            "a second document",
            "startDelay: 1\n---\nstartDelay: 2\n",
            reports: [
                "indicator.yaml:2:1: error: a second YAML document begins here; expected one"
            ]
        ),
        BrokenFile(
            "a key that is a list",
            "? [a, b]\n: 1\n",
            reports: [
                "indicator.yaml:1:3: error: expected a name before ':', found a list"
            ]
        ),
        BrokenFile(
            "an unknown notification",
            "observe: [indicator, alamofir]\n",
            reports: [
                "indicator.yaml:1:22: error: 'observe': unknown notifications 'alamofir', did you mean 'alamofire'?"
            ]
        ),
        BrokenFile(
            "a number in the list of backends",
            "backends: [terminalTitle, [logFile], null]\n",
            reports: [
                "indicator.yaml:1:27: error: 'backends': expected a name, found a list",
                "indicator.yaml:1:38: error: 'backends': expected a name, found nothing",
            ]
        ),
        BrokenFile(
            "bytes of Latin-1",
            bytes: [
                0x74, 0x65, 0x72, 0x6D, 0x69, 0x6E, 0x61, 0x6C, 0x54, 0x69, 0x74, 0x6C, 0x65, 0x3A, 0x0A, 0x20, 0x20,
                0x66, 0x6F, 0x72, 0x6D, 0x61, 0x74, 0x3A, 0x20, 0x63, 0x61, 0x66, 0xE9, 0x0A,
            ],
            reports: [
                "indicator.yaml:2:14: error: the byte 0xE9 is not valid UTF-8 here; save the file as UTF-8"
            ]
        ),
        BrokenFile(
            "a UTF-8 sequence cut off",
            bytes: [
                0x73, 0x74, 0x61, 0x72, 0x74, 0x44, 0x65, 0x6C, 0x61, 0x79, 0x3A, 0x20, 0x31, 0x0A, 0x23, 0x20, 0xE2,
                0x82,
            ],
            reports: [
                "indicator.yaml:2:3: error: the byte 0xE2 is not valid UTF-8 here; save the file as UTF-8"
            ]
        ),
        BrokenFile(
            "a control character",
            "terminalTitle:\n  format: a\u{07}b\n",
            reports: [
                "indicator.yaml:2:12: error: the character U+0007 is not allowed here; remove it"
            ]
        ),
        BrokenFile(
            "the character that stands for an asterisk while the file is read",
            "terminalTitle:\n  format: a\u{10FFFF}b\n",
            reports: [
                "indicator.yaml:2:12: error: the character U+10FFFF is not allowed here; remove it"
            ]
        ),
        BrokenFile(
            "a NUL byte",
            "startDelay: 1\u{00}\n",
            reports: [
                "indicator.yaml:1:14: error: the character U+0000 is not allowed here; remove it"
            ]
        ),
        BrokenFile(
            "brackets nested too deep",
            "backends: " + String(repeating: "[", count: 10_000) + "\n",
            reports: [
                "indicator.yaml:1:12: error: nested too deeply; settings are at most one section deep"
            ]
        ),
        BrokenFile(
            "dashes nested too deep",
            "backends:\n  " + String(repeating: "- ", count: 10_000) + "x\n",
            reports: [
                "indicator.yaml:2:1999: error: nested too deeply; settings are at most one section deep"
            ]
        ),
        BrokenFile(
            "many mistakes, each reported once, in order",
            "startdelay: 1\ncompletionDelay: -1\nobserve: [indicatr]\nbackends: [logFile, telegraf, audit]\nlogFile:\n  path: /tmp/a.log\n  format: yaml\naudit:\n  kind: logfile\n  path: 5\n",
            reports: [
                "indicator.yaml:1:1: error: unknown key 'startdelay', did you mean 'startDelay'?",
                "indicator.yaml:2:18: error: 'completionDelay': expected a number of seconds, zero or more, found '-1'",
                "indicator.yaml:3:11: error: 'observe': unknown notifications 'indicatr', did you mean 'indicator'?",
                "indicator.yaml:4:21: error: unknown backend 'telegraf'; expected a section with a 'kind', or one of: logFile, terminalTitle, dbusProperty and 1 more",
                "indicator.yaml:7:11: error: 'format': expected 'json' or 'text', found 'yaml'",
                "indicator.yaml:9:9: error: unknown kind 'logfile', did you mean 'logFile'?",
            ]
        ),
        BrokenFile(
            "mistakes before and after a syntax error",
            "startdelay: 1\nterminalTitle:\n  format: busy: {label}\nbackends: [terminalTitle, logfile]\ncompletionDelay: @\nenabled: maybe\n",
            reports: [
                "indicator.yaml:3:15: error: unexpected ':'; put quotes around a string with ': ' in it"
            ]
        ),
        BrokenFile(
            "an escape sequence in a key does not reach the terminal",
            "\"start\\e[2JDelay\": 1\n",
            reports: [
                "indicator.yaml:1:1: error: unknown key 'start\\u{001B}[2JDelay', did you mean 'startDelay'?"
            ]
        ),
        BrokenFile(
            "a last line without a colon",
            "startDelay: 1\ncompletionDelay 0.2\n",
            reports: [
                "indicator.yaml:2:1: error: expected ':' and a value after this name"
            ]
        ),
        BrokenFile(
            "no space after the only colon",
            "startDelay:1\n",
            reports: [
                "indicator.yaml:1:1: error: expected 'key: value' lines, found 'startDelay:…'; put a space after the ':'"
            ]
        ),
        BrokenFile(
            "more text after a quote",
            "terminalTitle:\n  format: \"busy\" now\n",
            reports: [
                "indicator.yaml:2:18: error: found more text after the closing quote"
            ]
        ),
        BrokenFile(
            "a path in brackets",
            "logFile:\n  path: [logs]/a.log\n",
            reports: [
                "indicator.yaml:2:15: error: found more text after a value in brackets; put quotes around a string that begins with '['"
            ]
        ),
        BrokenFile(
            "a path that is a list",
            "logFile:\n  path: [/tmp/a.log]\n",
            reports: [
                "indicator.yaml:2:9: error: 'path': expected the path of a file, found a list; put quotes around a string that begins with '['"
            ]
        ),
        BrokenFile(
            "half of a surrogate pair in JSON",
            "{\"terminalTitle\": {\"format\": \"\\ud83d\"}}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:1:31: error: unpaired surrogate"
            ]
        ),
    ]
}
