extension BrokenFile {
    /// Files with an invalid value.
    static let values: [BrokenFile] = [
        BrokenFile(
            "a negative delay",
            "startDelay: -1\n",
            "1:13: 'startDelay': expected a number of seconds, zero or more, found '-1'"
        ),
        BrokenFile(
            "no value",
            "startDelay:\ncompletionDelay: 0.2\n",
            "1:1: 'startDelay': expected a number of seconds, zero or more, found nothing"
        ),
        BrokenFile(
            "null for a number",
            "startDelay: null\n",
            "1:13: 'startDelay': expected a number of seconds, zero or more, found nothing"
        ),
        BrokenFile(
            "a section where a number belongs",
            "startDelay:\n  seconds: 1\n",
            "2:3: 'startDelay': expected a number of seconds, zero or more, found a section ('key: value')"
        ),
        BrokenFile(
            "a word that is not a choice",
            "terminalTitle:\n  progress: always\n",
            "2:13: 'progress': expected one of auto, on, off, found 'always'"
        ),
        BrokenFile(
            "a choice in the wrong case",
            "terminalTitle:\n  progress: Off\n",
            "2:13: 'progress': expected one of auto, on, off, found 'Off', did you mean 'off'?"
        ),
        BrokenFile(
            "a number out of range",
            "logFile: {path: /tmp/a.log, keep: 1000}\n",
            "1:35: 'keep': expected a whole number from 0 to 100, found '1000'"
        ),
        BrokenFile(
            "an unknown unit of size",
            "logFile:\n  path: /tmp/a.log\n  maxSize: 10 MByte\n",
            "3:12: 'maxSize': expected a number of bytes such as 1 MiB, found '10 MByte'"
        ),
        BrokenFile(
            "an empty path",
            "logFile:\n  path: \"\"\n",
            "2:9: 'path': expected the path of a file, found an empty string"
        ),
        BrokenFile(
            "a lone tilde as a path",
            "logFile:\n  path: ~\n",
            "2:9: 'path': expected the path of a file, found nothing; put a text like this in quotes"
        ),
        BrokenFile(
            "another user's home folder",
            "logFile:\n  path: ~root/indicator.log\n",
            "2:9: 'path': expected the path of a file, found '~root/indicator.log'"
        ),
        BrokenFile(
            "a path that is missing",
            "backends: [logFile]\nlogFile:\n  format: text\n",
            "2:1: 'logFile' needs 'path', the path of a file"
        ),
        BrokenFile(
            "a path that is missing without a section",
            "backends: [logFile]\n",
            "1:12: 'logFile' needs 'path', the path of a file"
        ),
        BrokenFile(
            "a path that is missing beside another mistake",
            "backends: [logFile]\nlogFile:\n  keep: x\n",
            "2:1: 'logFile' needs 'path', the path of a file",
            "3:9: 'keep': expected a whole number from 0 to 100, found 'x'"
        ),
        BrokenFile(
            "a NUL in a text",
            "terminalTitle:\n  format: \"a\\0b\"\n",
            "2:11: 'format': the text contains a NUL character (U+0000); remove it"
        ),
        BrokenFile(
            "a value that the kind itself rejects",
            "terminalTitle:\n  format: \"{spiner} {label}\"\n",
            "2:11: 'format': expected a format of {app}, {label}, {count}, {progress} and {spinner}, found '{spiner} {label}'"
        ),
        BrokenFile(
            "a format without quotes",
            "terminalTitle:\n  format: {label}\n",
            "2:11: 'format': expected a string, found a section ('key: value'); put a text like this in quotes"
        ),
    ]
}
