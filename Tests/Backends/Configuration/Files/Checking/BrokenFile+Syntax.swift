extension BrokenFile {
    /// Files that are not YAML, or use YAML that a config file may not use.
    static let syntax: [BrokenFile] = [
        BrokenFile(
            "a format without quotes that is not YAML",
            "terminalTitle:\n  format: {spinner} {label}\n",
            "2:21: expected 'key: value' here; check the indentation of the line, and put quotes around a text with brackets or quotes in it"
        ),
        BrokenFile(
            "a colon in a text without quotes",
            "terminalTitle:\n  format: busy: {label}\n",
            "2:15: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes"
        ),
        BrokenFile(
            "a quote that is not closed",
            "startDelay: 1\nterminalTitle:\n  format: \"busy\nstartdelay: 2\n",
            "3:11: this string has no closing quote"
        ),
        BrokenFile(
            "an unknown escape",
            "terminalTitle:\n  format: \"a\\qb\"\n",
            "2:13: unknown escape after '\\'; write '\\\\' for a backslash, or put the string in single quotes"
        ),
        BrokenFile(
            "a list in brackets that is not closed",
            "backends: [terminalTitle, logFile\nstartDelay: 1\n",
            "2:11: expected ',' or the end of what begins with a bracket in line 1, column 11"
        ),
        BrokenFile(
            "a list in brackets that is not closed, at the end of the file",
            "startDelay: 1\nbackends: [terminalTitle",
            "2:11: expected ',' or the end of what begins with a bracket in line 2, column 11"
        ),
        BrokenFile(
            "an opening brace only",
            "{",
            "1:1: not valid YAML: while parsing a flow node: did not find expected node content"
        ),
        BrokenFile(
            "a missing comma between quoted names",
            "backends: [\"terminalTitle\" \"logFile\"]\n",
            "1:28: expected ',' or the end of what begins with a bracket in line 1, column 11"
        ),
        BrokenFile(
            "a value that begins with an at sign",
            "terminalTitle:\n  format: @app\n",
            "2:11: a value cannot begin with this character; put quotes around it"
        ),
        BrokenFile(
            "a key without a colon",
            "startDelay 1\ncompletionDelay: 0.2\n",
            "2:16: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes"
        ),
        BrokenFile(
            "no space after the colon",
            "startDelay:1\ncompletionDelay: 0.2\n",
            "2:16: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes"
        ),
        BrokenFile(
            "a line indented too far",
            "startDelay: 1\n  completionDelay: 0.2\n",
            "2:18: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes"
        ),
        BrokenFile(
            "a line indented too little",
            "terminalTitle:\n    progress: on\n  format: x\n",
            "3:3: expected 'key: value' here; check the indentation of the line, and put quotes around a text with brackets or quotes in it"
        ),
        BrokenFile(
            "a first line that is indented",
            "  startDelay: 1\ncompletionDelay: 0.2\n",
            "2:1: expected 'key: value' here; check the indentation of the line, and put quotes around a text with brackets or quotes in it"
        ),
        BrokenFile(
            "a tab as indentation",
            "terminalTitle:\n\tprogress: on\n",
            "2:1: found a tab; YAML is indented with spaces"
        ),
        BrokenFile(
            "a tab after a space as indentation",
            "terminalTitle:\n \tprogress: on\n",
            "2:2: found a tab; YAML is indented with spaces"
        ),
        BrokenFile(
            "nested aliases, which would be billions of values, as a key",
            "a0: &a0 [x]\n"
                + (1...9).map {
                    "a\($0): &a\($0) [\(Array(repeating: "*a\($0 - 1)", count: 10).joined(separator: ","))]\n"
                }.joined()
                + "? *a9\n: 1\n",
            "2:10: a value cannot begin with '*' or '!'; put quotes around it"
        ),
        BrokenFile(
            "an alias",
            "completionDelay: &delay 1\nstartDelay: *delay\n",
            "2:13: a value cannot begin with '*' or '!'; put quotes around it"
        ),
        BrokenFile(
            "a pattern that begins with an asterisk",
            "logFile:\n  path: *.log\n",
            "2:9: a value cannot begin with '*' or '!'; put quotes around it"
        ),
        BrokenFile(
            "a value with a tag",
            "terminalTitle:\n  format: !secret title\n",
            "2:11: a value cannot begin with '*' or '!'; put quotes around it"
        ),
        BrokenFile(
            "a merge key",
            "logFile: &log\n  path: /tmp/a.log\naudit:\n  <<: *log\n  kind: logFile\n  path: /tmp/b.log\n",
            "4:7: a value cannot begin with '*' or '!'; put quotes around it"
        ),
        BrokenFile(
            "a second document",
            "startDelay: 1\n---\nstartDelay: 2\n",
            "2:1: not valid YAML: expected a single document in the stream: but found another document"
        ),
        BrokenFile(
            "a key that is a list",
            "? [a, b]\n: 1\n",
            "1:3: expected a name before ':'"
        ),
        BrokenFile(
            "an unknown notification",
            "observe: [indicator, alamofir]\n",
            "1:22: 'observe': expected one of indicator, alamofire, found 'alamofir', did you mean 'alamofire'?"
        ),
        BrokenFile(
            "a number in the list of backends",
            "backends: [terminalTitle, [logFile], null]\n",
            "1:27: 'backends': expected a text, found a list",
            "1:38: 'backends': expected a text, found nothing"
        ),
        BrokenFile(
            "bytes of Latin-1",
            bytes: [
                0x74, 0x65, 0x72, 0x6D, 0x69, 0x6E, 0x61, 0x6C, 0x54, 0x69, 0x74, 0x6C, 0x65, 0x3A, 0x0A, 0x20, 0x20,
                0x66, 0x6F, 0x72, 0x6D, 0x61, 0x74, 0x3A, 0x20, 0x63, 0x61, 0x66, 0xE9, 0x0A,
            ],
            "2:14: this is not valid UTF-8; save the file as UTF-8"
        ),
        BrokenFile(
            "a control character",
            "terminalTitle:\n  format: a\u{07}b\n",
            "2:12: the character U+0007 is not allowed here; remove it"
        ),
        BrokenFile(
            "the character that stands for an asterisk while the file is read",
            "terminalTitle:\n  format: a\u{10FFFF}b\n",
            "2:12: the character U+10FFFF is not allowed here; remove it"
        ),
        BrokenFile(
            "the character that an editor puts in place of invalid bytes, in valid UTF-8",
            "startDelay: 1 # \u{FFFD}\n",
            "1:17: the character U+FFFD is not allowed here; remove it"
        ),
        BrokenFile(
            "a NUL byte",
            "startDelay: 1\u{00}\n",
            "1:14: the character U+0000 is not allowed here; remove it"
        ),
        BrokenFile(
            "brackets nested too deep",
            "backends: " + String(repeating: "[", count: 10_000) + "\n",
            "1:12: nested too deeply; settings are at most one section deep"
        ),
        BrokenFile(
            "many mistakes, each reported once, in order",
            "startdelay: 1\ncompletionDelay: -1\nobserve: [indicatr]\nbackends: [logFile, telegraf, audit]\nlogFile:\n  path: /tmp/a.log\n  format: yaml\naudit:\n  kind: logfile\n  path: 5\n",
            "1:1: unknown key 'startdelay', did you mean 'startDelay'?",
            "2:18: 'completionDelay': expected a number of seconds, zero or more, found '-1'",
            "3:11: 'observe': expected one of indicator, alamofire, found 'indicatr', did you mean 'indicator'?",
            "4:21: unknown backend 'telegraf'; expected a section with a 'kind', or one of: logFile, audit, terminalTitle and 2 more",
            "7:11: 'format': expected one of json, text, found 'yaml'",
            "9:9: unknown kind 'logfile', did you mean 'logFile'?"
        ),
        BrokenFile(
            "mistakes before and after a syntax error",
            "startdelay: 1\nterminalTitle:\n  format: busy: {label}\nbackends: [terminalTitle, logfile]\ncompletionDelay: @\nenabled: maybe\n",
            "3:15: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes"
        ),
        BrokenFile(
            "an escape sequence in a key does not reach the terminal",
            "\"start\\e[2JDelay\": 1\n",
            "1:1: unknown key 'start\\u{001B}[2JDelay', did you mean 'startDelay'?"
        ),
        BrokenFile(
            "no space after the only colon",
            "startDelay:1\n",
            "1:1: expected lines such as 'startDelay: 1', found 'startDelay:…'"
        ),
        BrokenFile(
            "no space after a colon in braces: what follows may be a secret",
            "mqtt.password:hunter2: 1\nlogFile: {path: /a.log, password:hunter2}\n",
            "1:1: unknown key 'mqtt.password:…'; it is no section with a 'kind', and known keys are: startDelay, completionDelay, accessible and 8 more",
            "2:25: unknown key 'password:…' in 'logFile'; settings of logFile: path, format, maxSize and 2 more"
        ),
        BrokenFile(
            "a text without quotes in JSON, which may be a secret",
            "{\"logFile\": {\"password\": hunter2}}\n",
            file: "indicator.json",
            "1:26: expected a value, found 'h'"
        ),
        BrokenFile(
            "a no-break space after the only colon",
            "startDelay:\u{A0}1\n",
            "1:1: expected lines such as 'startDelay: 1', found 'startDelay:\\u{00A0}…'"
        ),
        BrokenFile(
            "more text after a quote",
            "terminalTitle:\n  format: \"busy\" now\n",
            "2:18: expected 'key: value' here; check the indentation of the line, and put quotes around a text with brackets or quotes in it"
        ),
        BrokenFile(
            "a path that is a list",
            "logFile:\n  path: [/tmp/a.log]\n",
            "2:9: 'path': expected the path of a file, found a list; put a text like this in quotes"
        ),
        BrokenFile(
            "half of a surrogate pair in JSON",
            "{\"terminalTitle\": {\"format\": \"\\ud83d\"}}\n",
            file: "indicator.json",
            "1:31: unpaired surrogate"
        ),
    ]
}
