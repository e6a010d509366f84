extension BrokenFile {
    /// Files with an invalid value.
    static let values: [BrokenFile] = [
        BrokenFile(
            "a number in quotes",
            "startDelay: \"1.0\"\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found the string \"1.0\"; remove the quotes"
            ]
        ),
        BrokenFile(
            "a text where a number belongs",
            "startDelay: soon\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found 'soon'"
            ]
        ),
        BrokenFile(
            "a unit after a number",
            "startDelay: 500ms\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found '500ms'; write 0.5 for half a second, without a unit"
            ]
        ),
        BrokenFile(
            "a comma in a number",
            "completionDelay: 0,2\n",
            reports: [
                "indicator.yaml:1:18: error: 'completionDelay': expected a number of seconds, zero or more, found '0,2'"
            ]
        ),
        BrokenFile(
            "a negative delay",
            "startDelay: -1\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found '-1'"
            ]
        ),
        BrokenFile(
            "a delay that is not a number",
            "startDelay: .nan\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found '.nan'"
            ]
        ),
        BrokenFile(
            "an infinite delay",
            "completionDelay: .inf\n",
            reports: [
                "indicator.yaml:1:18: error: 'completionDelay': expected a number of seconds, zero or more, found '.inf'"
            ]
        ),
        BrokenFile(
            "a delay beyond the range of a double",
            "startDelay: 1e400\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected at most 100 years (3155760000 seconds), found '1e400'"
            ]
        ),
        BrokenFile(
            "a delay of more than 100 years",
            "startDelay: 99999999999\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected at most 100 years (3155760000 seconds), found '99999999999'"
            ]
        ),
        BrokenFile(
            "a hexadecimal delay",
            "minimumVisibleTime: 0x10\n",
            reports: [
                "indicator.yaml:1:21: error: 'minimumVisibleTime': expected a number of seconds, zero or more, found '0x10'"
            ]
        ),
        BrokenFile(
            "no value",
            "startDelay:\ncompletionDelay: 0.2\n",
            reports: [
                "indicator.yaml:1:1: error: 'startDelay': expected a number of seconds, found nothing after 'startDelay:'"
            ]
        ),
        BrokenFile(
            "null for a number",
            "startDelay: null\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, found 'null', an empty value"
            ]
        ),
        BrokenFile(
            "a list where a number belongs",
            "startDelay: [1, 2]\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, found a list"
            ]
        ),
        BrokenFile(
            "a section where a number belongs",
            "startDelay:\n  seconds: 1\n",
            reports: [
                "indicator.yaml:2:3: error: 'startDelay': expected a number of seconds, found a section ('key: value')"
            ]
        ),
        BrokenFile(
            "yes for a boolean",
            "enabled: yes\n",
            reports: [
                "indicator.yaml:1:10: error: 'enabled': expected true or false, found 'yes', did you mean 'true'?"
            ]
        ),
        BrokenFile(
            "a number for a boolean",
            "enabled: 1\n",
            reports: [
                "indicator.yaml:1:10: error: 'enabled': expected true or false, found '1'"
            ]
        ),
        BrokenFile(
            "a boolean in quotes",
            "enabled: \"true\"\n",
            reports: [
                "indicator.yaml:1:10: error: 'enabled': expected true or false, found the string \"true\"; remove the quotes"
            ]
        ),
        BrokenFile(
            "a word that is not a choice",
            "terminalTitle:\n  progress: always\n",
            reports: [
                "indicator.yaml:2:13: error: 'progress': expected 'auto', 'on' or 'off', found 'always'"
            ]
        ),
        BrokenFile(
            "a choice in the wrong case",
            "terminalTitle:\n  progress: Off\n",
            reports: [
                "indicator.yaml:2:13: error: 'progress': expected 'auto', 'on' or 'off', found 'Off', did you mean 'off'?"
            ]
        ),
        BrokenFile(
            "a boolean where a choice belongs",
            "terminalTitle:\n  progress: true\n",
            reports: [
                "indicator.yaml:2:13: error: 'progress': expected 'auto', 'on' or 'off', found 'true'"
            ]
        ),
        BrokenFile(
            "a number out of range",
            "logFile: {path: /tmp/a.log, keep: 1000}\n",
            reports: [
                "indicator.yaml:1:35: error: 'keep': expected a whole number from 0 to 100, found '1000'"
            ]
        ),
        BrokenFile(
            "a fraction for a whole number",
            "logFile:\n  path: /tmp/a.log\n  keep: 2.5\n",
            reports: [
                "indicator.yaml:3:9: error: 'keep': expected a whole number from 0 to 100, found '2.5'"
            ]
        ),
        BrokenFile(
            "a whole number beyond 64 bits",
            "logFile:\n  path: /tmp/a.log\n  keep: 99999999999999999999\n",
            reports: [
                "indicator.yaml:3:9: error: 'keep': expected a whole number from 0 to 100, found '99999999999999999999'"
            ]
        ),
        BrokenFile(
            "an unknown unit of size",
            "logFile:\n  path: /tmp/a.log\n  maxSize: 10 MByte\n",
            reports: [
                "indicator.yaml:3:12: error: 'maxSize': expected a number of bytes such as 1048576, 512 kB or 1 MiB, found '10 MByte'"
            ]
        ),
        BrokenFile(
            "a negative size",
            "logFile:\n  path: /tmp/a.log\n  maxSize: -1\n",
            reports: [
                "indicator.yaml:3:12: error: 'maxSize': expected a number of bytes such as 1048576, 512 kB or 1 MiB, found '-1'"
            ]
        ),
        BrokenFile(
            "an empty path",
            "logFile:\n  path: \"\"\n",
            reports: [
                "indicator.yaml:2:9: error: 'path': expected the path of a file, found an empty string"
            ]
        ),
        BrokenFile(
            "a lone tilde as a path",
            "logFile:\n  path: ~\n",
            reports: [
                "indicator.yaml:2:9: error: 'path': expected the path of a file, found '~', an empty value; put it in quotes to use it as a string"
            ]
        ),
        BrokenFile(
            "another user's home folder",
            "logFile:\n  path: ~root/indicator.log\n",
            reports: [
                "indicator.yaml:2:9: error: 'path': expected a path, found '~root/indicator.log'; only '~/', your own home folder, is supported"
            ]
        ),
        BrokenFile(
            "a path that is missing",
            "backends: [logFile]\nlogFile:\n  format: text\n",
            reports: [
                "indicator.yaml:2:1: error: 'logFile' needs 'path', the path of a file"
            ]
        ),
        BrokenFile(
            "a path that is missing without a section",
            "backends: [logFile]\n",
            reports: [
                "indicator.yaml:1:12: error: 'logFile' needs 'path', the path of a file"
            ]
        ),
        BrokenFile(
            "a NUL in a text",
            "terminalTitle:\n  format: \"a\\0b\"\n",
            reports: [
                "indicator.yaml:2:11: error: 'format': the text contains a NUL character (U+0000); remove it"
            ]
        ),
        BrokenFile(
            "a value that the kind itself rejects",
            "terminalTitle:\n  format: \"{spiner} {label}\"\n",
            reports: [
                "indicator.yaml:2:11: error: 'format': expected a format of {app}, {label}, {count}, {progress} and {spinner}, found '{spiner} {label}'"
            ]
        ),
        BrokenFile(
            "a format without quotes",
            "terminalTitle:\n  format: {label}\n",
            reports: [
                "indicator.yaml:2:11: error: 'format': expected a string, found a section ('key: value'); put quotes around a string that begins with '{'"
            ]
        ),
    ]
}
