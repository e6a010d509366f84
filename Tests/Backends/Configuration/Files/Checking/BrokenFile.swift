extension BrokenFile {
    /// Invalid values.
    static let values = cases(
        #"""
        # a negative delay | startDelay: -1
        > 1:13: 'startDelay': expected a number of seconds, zero or more, found '-1'
        # no value
        startDelay:
        completionDelay: 0.2
        > 1:1: 'startDelay': expected a number of seconds, zero or more, found nothing
        # null for a number | startDelay: null
        > 1:13: 'startDelay': expected a number of seconds, zero or more, found nothing
        # a section where a number belongs
        startDelay:
          seconds: 1
        > 2:3: 'startDelay': expected a number of seconds, zero or more, found a section ('key: value')
        # a word that is not a choice
        terminalTitle:
          progress: always
        > 2:13: 'progress': expected one of auto, on, off, found 'always'
        # a choice in the wrong case
        terminalTitle:
          progress: Off
        > 2:13: 'progress': expected one of auto, on, off, found 'Off', did you mean 'off'?
        # a number out of range | logFile: {path: /tmp/a.log, keep: 1001}
        > 1:35: 'keep': expected a whole number from 0 to 1000, found '1001'
        # an unknown unit of size
        logFile:
          path: /tmp/a.log
          maxSize: 10 MByte
        > 3:12: 'maxSize': expected a number of bytes such as 1 MiB, found '10 MByte'
        # an empty path
        logFile:
          path: ""
        > 2:9: 'path': expected the path of a file, found an empty string
        # a lone tilde as a path
        logFile:
          path: ~
        > 2:9: 'path': expected the path of a file, found nothing; put a text like this in quotes
        # another user's home folder
        logFile:
          path: ~root/indicator.log
        > 2:9: 'path': expected the path of a file, found '~root/indicator.log'
        # a required setting that is missing, beside another mistake
        backends: [command]
        command:
          timeLimit: x
        > 2:1: 'command' needs 'run', a string or a list of strings
        > 3:14: 'timeLimit': expected a number of seconds above zero, found 'x'
        # a required setting that is missing without a section | backends: [command]
        > 1:12: 'command' needs 'run', a string or a list of strings
        # a time that would end each program at once | command: {run: [a], timeLimit: 0}
        > 1:32: 'timeLimit': expected a number of seconds above zero, found '0'
        # a variable of a shell | command: {run: [sh, -c, "echo ${HOME}"]}
        > 1:16: 'run': expected arguments with known placeholders (unknown placeholder '{HOME}' at character 7; \#
        known are {event} {app} {title} {text} {outcome} {message} {seconds}; write '{{' and '}}' for literal \#
        braces), found '[sh, -c, "echo ${HOME}"]'
        # a word of two letters, which is nearly another one | terminalTitle: {title: no}
        > 1:24: 'title': expected one of auto, on, off, found 'no'
        # a NUL in a text
        terminalTitle:
          format: "a\0b"
        > 2:11: 'format': the text contains a NUL character (U+0000); remove it
        # a value that the kind itself rejects
        terminalTitle:
          format: "{spiner} {label}"
        > 2:11: 'format': expected a format with known placeholders (unknown placeholder '{spiner}' at character 1, \#
        did you mean '{spinner}'? For a brace, write '{{'), found '{spiner} {label}'
        # a format without quotes
        terminalTitle:
          format: {label}
        > 2:11: 'format': expected a string, found a section ('key: value'); put a text like this in quotes
        """#
    )

    /// Invalid names, lists and sections.
    static let structure = cases(
        #"""
        # an unknown key that is nearly a known one | startdelay: 1
        > 1:1: unknown key 'startdelay', did you mean 'startDelay'?
        # an unknown key unlike any known one | colour: red
        > 1:1: unknown key 'colour'; it is no section with a 'kind', and known keys are: enabled, startDelay, \#
        completionDelay and 17 more
        # a setting beside its section
        logFile:
        path: /tmp/a.log
        > 2:1: unknown key 'path'; it is a setting of 'logFile', below which it must be indented
        # an unknown key inside a section
        logFile:
          path: /tmp/a.log
          fromat: text
        > 3:3: unknown key 'fromat' in 'logFile', did you mean 'format'?
        # an unknown key inside a section, unlike any known one
        logFile:
          colour: red
        > 2:3: unknown key 'colour' in 'logFile'; settings of logFile: path, format, maxSize and 3 more
        # a kind in the wrong case
        backends: [logfile]
        logfile:
          path: /tmp/a.log
        > 1:12: unknown backend 'logfile', did you mean 'logFile'?
        > 2:1: unknown key 'logfile', did you mean 'logFile'?
        # an unknown backend | backends: [terminalTitle, telegraph]
        > 1:27: unknown backend 'telegraph'; expected a section with a 'kind', or one of: terminalTitle, \#
        desktopNotification, dbusProperty and 10 more
        # a duplicate backend | backends: [terminalTitle, terminalTitle]
        > 1:27: 'backends': 'terminalTitle' is duplicated
        # a duplicate backend before an unknown one, each at its own place
        backends:
          - terminalTitle
          - terminalTitle
          - telegraph
        > 3:5: 'backends': 'terminalTitle' is duplicated
        > 4:5: unknown backend 'telegraph'; expected a section with a 'kind', or one of: terminalTitle, \#
        desktopNotification, dbusProperty and 10 more
        # a text where a section with a required setting belongs
        backends: [logFile]
        logFile: /tmp/a.log
        > 2:10: 'logFile': expected a section with the settings of logFile, found a text
        # a map where a list of backends belongs
        backends:
          terminalTitle: true
        > 2:3: 'backends': expected a list of names, found a section ('key: value')
        # no list after backends | backends:
        > 1:1: 'backends': expected a list of names, found nothing
        # a list for the whole file
        - startDelay: 1
        - completionDelay: 2
        > 1:1: expected lines such as 'startDelay: 1', found a list
        # a list where a section belongs
        terminalTitle:
          - format: x
        > 2:3: 'terminalTitle': expected a section with the settings of terminalTitle, found a list
        # a text where a section belongs | terminalTitle: on
        > 1:16: 'terminalTitle': expected a section with the settings of terminalTitle, found a text
        # a section without a kind
        backends: [audit]
        audit:
          path: /tmp/a.log
        > 1:12: unknown backend 'audit'; expected a section with a 'kind', or one of: terminalTitle, \#
        desktopNotification, dbusProperty and 10 more
        > 2:1: unknown key 'audit'; it is no section with a 'kind', and known keys are: enabled, startDelay, \#
        completionDelay and 17 more
        # a section of an unknown kind
        backends: [audit]
        audit:
          kind: logfile
          path: /tmp/a.log
        > 3:9: unknown kind 'logfile', did you mean 'logFile'?
        # a section named after another kind
        terminalTitle:
          kind: logFile
          path: /tmp/a.log
        > 2:9: 'kind': a section named 'terminalTitle' is of that kind; give the other one another name
        # a kind that is a list
        audit:
          kind: [logFile]
        > 2:9: 'kind': expected the name of a kind, found a list
        # a section with the name that stands for what fits
        backends: [auto]
        auto: {kind: logFile, path: /a.log}
        > 2:1: 'auto' cannot name a backend; expected letters, digits, '-' and '_' after a letter, and not 'auto'
        # a section with an invalid name
        my log!:
          kind: logFile
          path: /tmp/a.log
        > 1:1: 'my log!' cannot name a backend; expected letters, digits, '-' and '_' after a letter, and not 'auto'
        # a duplicate key
        startDelay: 1
        completionDelay: 2
        startDelay: 3
        > 3:1: the key 'startDelay' is duplicated
        # a duplicate key of a section, whose name is in another one, too
        logFile:
          keep: 1
        terminalTitle:
          title: on
          title: off
        > 5:3: the key 'title' is duplicated
        # a duplicate key in braces | logFile: {path: /a, keep: 1, path: /b}
        > 1:30: the key 'path' is duplicated
        # a duplicate key in braces after another one that ends as it does | logFile: {path: /a, xpath: /c, path: /b}
        > 1:32: the key 'path' is duplicated
        # a duplicate key with an escape, after two others in other sections
        logFile: {path: /a, path: /b}
        terminalTitle: {title: on, title: off}
        "\x73tartDelay": 1
        startDelay: 2
        > 1:21: the key 'path' is duplicated
        # a duplicate key with an escape
        startDelay: 1
        enabled: true
        "start\x44elay": 2
        > 3:1: the key 'startDelay' is duplicated
        # a duplicate key with a space and with quotes
        startDelay : 1
        "startDelay": 2
        > 2:1: the key 'startDelay' is duplicated
        # JSON: a duplicate key on one line | {"startDelay":1,"completionDelay":2,"startDelay":3}
        > 1:37: the key 'startDelay' is duplicated
        # JSON: a duplicate key
        {
          "startDelay": 1,
          "startDelay": 2
        }
        > 3:3: the key 'startDelay' is duplicated
        # JSON: a wrong value and an unknown key
        {
        \#t"startDelay": "1",
        \#t"backend": []
        }
        > 3:2: unknown key 'backend', did you mean 'backends'?
        # JSON: a text that is cut off
        {
          "startDelay": 1,
          "backends": ["logFile"
        > 4:1: expected ',' or the end of what begins with a bracket in line 3, column 15
        # wrong entries in brackets, each reported once
        backends: [logFile, logFile]
        logFile: {path: /tmp/a.log, frmat: text, keep: x}
        > 1:21: 'backends': 'logFile' is duplicated
        > 2:29: unknown key 'frmat' in 'logFile', did you mean 'format'?
        > 2:48: 'keep': expected a whole number from 0 to 1000, found 'x'
        # JSON: an unfinished text | {"startDelay": 1, "logFile": {"path": "/tmp/a.log}}
        > 1:39: this string has no closing quote
        # an option of another kind
        terminalTitle:
          maxSize: 1 MiB
        > 2:3: unknown key 'maxSize' in 'terminalTitle'; settings of terminalTitle: format, title, progress and 2 more
        """#
    )

    /// What is not YAML, or YAML that a config file may not use.
    static let syntax = cases(
        #"""
        # a format without quotes that is not YAML
        terminalTitle:
          format: {spinner} {label}
        > 2:21: expected 'key: value' here; check the indentation of the line, and put quotes around a text with \#
        brackets or quotes in it
        # a colon in a text without quotes
        terminalTitle:
          format: busy: {label}
        > 2:15: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is \#
        none), the indentation is wrong, or a text with ': ' in it needs quotes
        # a quote that is not closed
        startDelay: 1
        terminalTitle:
          format: "busy
        startdelay: 2
        > 3:11: this string has no closing quote
        # an unknown escape
        terminalTitle:
          format: "a\qb"
        > 2:13: unknown escape after '\'; write '\\' for a backslash, or put the string in single quotes
        # a list in brackets that is not closed
        backends: [terminalTitle, logFile
        startDelay: 1
        > 2:11: expected ',' or the end of what begins with a bracket in line 1, column 11
        # a missing comma between quoted names | backends: ["terminalTitle" "logFile"]
        > 1:28: expected ',' or the end of what begins with a bracket in line 1, column 11
        # a value that begins with an at sign
        terminalTitle:
          format: @app
        > 2:11: a value cannot begin with this character; put quotes around it
        # a key without a colon
        startDelay 1
        completionDelay: 0.2
        > 2:16: unexpected ':'…
        # no space after the colon
        startDelay:1
        completionDelay: 0.2
        > 2:16: unexpected ':'…
        # a line indented too far
        startDelay: 1
          completionDelay: 0.2
        > 2:18: unexpected ':'…
        # a line indented too little
        terminalTitle:
            progress: on
          format: x
        > 3:3: expected 'key: value' here…
        # a first line that is indented
          startDelay: 1
        completionDelay: 0.2
        > 2:1: expected 'key: value' here…
        # a tab as indentation
        terminalTitle:
        \#tprogress: on
        > 2:1: found a tab; YAML is indented with spaces
        # a tab after a space as indentation
        terminalTitle:
         \#tprogress: on
        > 2:2: found a tab; YAML is indented with spaces
        # an alias
        completionDelay: &delay 1
        startDelay: *delay
        > 2:13: a value cannot begin with '*' or '!'; put quotes around it
        # a pattern that begins with an asterisk
        logFile:
          path: *.log
        > 2:9: a value cannot begin with '*' or '!'; put quotes around it
        # an asterisk with a combining mark
        logFile:
          path: *\#u{301}.log
        > 2:9: a value cannot begin with '*' or '!'; put quotes around it
        # a value with a tag
        terminalTitle:
          format: !secret title
        > 2:11: a value cannot begin with '*' or '!'; put quotes around it
        # a merge key
        logFile: &log
          path: /tmp/a.log
        audit:
          <<: *log
          kind: logFile
          path: /tmp/b.log
        > 4:7: a value cannot begin with '*' or '!'; put quotes around it
        # a second document
        startDelay: 1
        ---
        startDelay: 2
        > 2:1: syntax error: expected a single document in the stream: but found another document
        # a key that is a list
        ? [a, b]
        : 1
        > 1:3: expected a name before ':'
        # an unknown notification | observe: [indicator, alamofir]
        > 1:22: 'observe': expected one of indicator, alamofire, found 'alamofir', did you mean 'alamofire'?
        # a number in the list of backends | backends: [terminalTitle, [logFile], null]
        > 1:27: 'backends': expected a text, found a list
        > 1:38: 'backends': expected a text, found nothing
        # a control character
        terminalTitle:
          format: a\#u{7}b
        > 2:12: the character U+0007 is not allowed here; remove it
        # the character that stands for an asterisk while the file is read
        terminalTitle:
          format: a\#u{10FFFF}b
        > 2:12: the character U+10FFFF is not allowed here; remove it
        # the character that an editor puts in place of invalid bytes, in valid UTF-8 | startDelay: 1 # \#u{FFFD}
        > 1:17: the character U+FFFD is not allowed here; remove it
        # a NUL byte | startDelay: 1\#u{0}
        > 1:14: the character U+0000 is not allowed here; remove it
        # many mistakes, each reported once, in order
        startdelay: 1
        completionDelay: -1
        observe: [indicatr]
        backends: [logFile, telegraf, audit]
        logFile:
          path: /tmp/a.log
          format: yaml
        audit:
          kind: logfile
          path: 5
        > 1:1: unknown key 'startdelay', did you mean 'startDelay'?
        > 2:18: 'completionDelay': expected a number of seconds, zero or more, found '-1'
        > 3:11: 'observe': expected one of indicator, alamofire, found 'indicatr', did you mean 'indicator'?
        > 4:21: unknown backend 'telegraf'; expected a section with a 'kind', or one of: terminalTitle, \#
        desktopNotification, dbusProperty and 11 more
        > 7:11: 'format': expected one of json, text, found 'yaml'
        > 9:9: unknown kind 'logfile', did you mean 'logFile'?
        # mistakes before and after a syntax error
        startdelay: 1
        terminalTitle:
          format: busy: {label}
        backends: [terminalTitle, logfile]
        completionDelay: @
        enabled: maybe
        > 3:15: unexpected ':'…
        # an escape sequence in a key does not reach the terminal | "start\e[2JDelay": 1
        > 1:1: unknown key 'start\u{001B}[2JDelay', did you mean 'startDelay'?
        # no space after the only colon | startDelay:1
        > 1:1: expected lines such as 'startDelay: 1', found 'startDelay:…'
        # no space after a colon in braces: what follows may be a secret
        mqtt.password:hunter2: 1
        logFile: {path: /a.log, password:hunter2}
        > 1:1: unknown key 'mqtt.password:…'; it is no section with a 'kind', and known keys are: enabled, \#
        startDelay, completionDelay and 17 more
        > 2:25: unknown key 'password:…' in 'logFile'; settings of logFile: path, format, maxSize and 3 more
        # JSON: a text without quotes, which may be a secret | {"logFile": {"password": hunter2}}
        > 1:14: unknown key 'password' in 'logFile'; settings of logFile: path, format, maxSize and 3 more
        # a no-break space after the only colon | startDelay:\#u{A0}1
        > 1:1: expected lines such as 'startDelay: 1', found 'startDelay:\u{00A0}…'
        # more text after a quote
        terminalTitle:
          format: "busy" now
        > 2:18: expected 'key: value' here…
        # a path that is a list
        logFile:
          path: [/tmp/a.log]
        > 2:9: 'path': expected the path of a file, found a list; put a text like this in quotes
        # JSON: half of a surrogate pair | {"terminalTitle": {"format": "\ud83d"}}
        > 1:33: syntax error: while parsing a quoted scalar: found invalid Unicode character escape code
        # a setting with the name that check-config prints | logFile.path: 7
        > 1:1: unknown key 'logFile.path'; write 'logFile: {path: …}'
        # a comment of another language on its own line
        // the delay
        startDelay: 1
        > 2:11: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is \#
        none), the indentation is wrong, or a text with ': ' in it needs quotes
        # JSON: a comment of another language, and another mistake
        {
          "startDelay": 1, // seconds
          "completionDelay": /* soon */ "x"
        }
        > 3:20: expected ',' or the end of what begins with a bracket in line 1, column 1
        # JSON: slashes in a string, which are not a comment | {"logFile": {"path": "/a // b", "keep": -1}}
        > 1:41: 'keep': expected a whole number from 0 to 1000, found '-1'
        # JSON: a comma after the last value, which may be there, and two of them
        {"startDelay": 1, "backends": ["terminalTitle",],, }
        > 1:50: expected a value here
        # JSON: no comma, below tabs, which may be there
        {
        \#t"startDelay": "1"
        \#t"enabled": true
        }
        > 3:2: expected ',' or the end of what begins with a bracket in line 1, column 1
        # JSON: no colon, below tabs
        {
        \#t"enabled" true
        }
        > 2:12: expected ',' or the end of what begins with a bracket in line 1, column 1
        # a section below a setting that is a text
        terminalTitle:
          format:
            label: x
        > 3:5: 'format': expected a string, found a section ('key: value')
        # a byte order mark in the middle, where two files were joined
        startDelay: 1
        \#u{FEFF}enabled: true
        > 2:1: the character U+FEFF is not allowed here; remove it
        """#
    )
}
