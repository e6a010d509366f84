import IndicatorCommands
import TestSupport

/// What is reported of a line that a user has typed.
@Suite struct ShellLineTests {
    @Test(
        "The label is the name of the first command, and a known subcommand; where that is not sure, there is none",
        arguments: [
            ("make", "make"), ("  make  -j4 all ", "make"), ("cargo build --release", "cargo build"),
            ("/usr/bin/make all", "make all"), ("git commit -m 'a  b'", "git commit"), ("make CC=clang", "make"),
            ("cd x && make", "make"), ("cd \"$(x y)\" && make", "make"), ("cd \"$(x \"y\")\" && make", nil),
            ("sudo -u \"${x:-\"y\"}\" make", nil), ("'make'[ x", nil), ("cd x", "cd"), ("(make all)", "make all"),
            ("'make' \"all\"", "make"), ("\\make all", "make all"), ("make # all", "make"),
            ("time -p make all", "make all"), ("", nil), ("time { make all; }", "make all"),
            ("time -f letmein make", nil), ("command time -o letmein make", nil),
            ("for f in *; do gzip $f; done", "gzip"), ("while read -r x; do make all; done <file", "make all"),
            (">log 2>&1 make all", "make all"), ("make >all", "make"), ("make <<<all", "make"), ("f() { make; }", nil),
            ("case x in make) make;; esac", nil), ("[[ -f x ]] && make", nil), ("$EDITOR x", nil), ("((x = 3))", nil),
            ("for ((i = 0; i < 3; i++)); do make; done", nil), ("[ -f x ] && make", "make"),
            ("sudo -nE make all", "make all"), ("sudo -nu root make all", nil), ("env - make all", "make all"),
            ("sudo -- make all", "make all"), ("nice -n 5 make", nil), ("nice make", "make"),
            ("timeout 5 make", "make"), ("timeout -k 1 5 make", nil), ("command -v make", nil),
            ("make all | tee log", "make all"), ("=curl letmein", nil), ("./a=b letmein", nil),
            ("a[1]=x b+=y make all", "make all"), ("cat a.sql | psql main", "psql"),
            ("ps aux | grep make | sort", "ps"), ("tar c . | gzip >x", "tar"), ("make | batcat", "make"),
            ("make | sponge log", "make"), ("tar c . | pigz >x", "tar"),
            ("(cat a; echo b) | sudo -S make install", "make install"), ("begin; foo bar; end | make", "make"),
            ("while read x; do cat y; done <z | make all", "make all"), ("(foo; (cat a)) 2>&1 | make", "make"),
            ("{ make all; ls; } |& tee log", "make all"), ("make all; (cat a; ls) | make", "make all"),
            ("grep make all | sort", "grep"), ("cd x; find . | head; ls", "find"), ("echo start; make all", "make all"),
            ("make all; echo done", "make all"), ("echo done", "echo"), ("make 2>&1 |& less", "make"),
            ("cat x | while read y; do make; done", "cat"), ("make | $PAGER", "make"), ("echo x | $SUDO make", nil),
            ("(a)|(b;c)|d", "d"), ("a | (b; c)", "b"), ("a | (cat; b)", "a"), ("a | (cat; cat) | less", "a"),
            ("cat <<EOF\nmake all\nEOF", "cat"), ("<<EOF cat\nmake all\nEOF", "cat"), ("g -p", "git log"),
            ("cd x && u update", "apt update"), ("ls x", "ls"), ("\\g x", "g"),
        ] as [(String, String?)]
    )
    func label(line: String, label: String?) {
        let aliases = "alias g='git log'\nalias u='T=1 sudo apt'\nalias ls='ls -F'"
        #expect(ShellLine(line, aliases: aliases).label?.text == label)
    }

    /// Each of them once leaked the secret or a part of it.
    @Test(
        "A label has no assignment, no argument, no redirection, no here-document, and nothing that is printed",
        arguments: [
            "echo letmein | sudo -S make install", "printf letmein | sudo -S cmd", "printf '%s' letmein | cmd",
            "echo letmein", "/bin/echo letmein", "\\echo letmein | cat", "command echo letmein", "env echo letmein",
            "sudo echo letmein", "print letmein | cmd", "e letmein | cmd", "e letmein", "c letmein", "cat <<<letmein",
            "cmd <<<letmein", "cmd <<< letmein", "<<<letmein cmd", "sudo -S cmd <<<letmein", "grep letmein file",
            "cmd | grep letmein", "sed letmein", "yes letmein | cmd", "read letmein", "set letmein", "alias letmein",
            "sudo -u letmein cmd", "nice -n letmein cmd", "timeout letmein cmd", "timeout -k letmein 3 cmd",
            "export T letmein", "eval letmein", "logger letmein", "$CMD letmein", "openssl -k letmein",
            "zgrep letmein a.gz", "pgrep letmein", "mkpasswd letmein; cmd", "wall letmein", "wl-copy letmein",
            "sshpass letmein", "cryptpw letmein", "say letmein", "fdfind letmein", "spd-say letmein",
            "espeak-ng letmein", "argon2 letmein", "oathtool letmein", "whatis letmein", "mawk letmein",
            "unset letmein", "xargs letmein", "./own letmein", "trap letmein EXIT; cmd", "string match letmein x; cmd",
            "source letmein; cmd", ". letmein; cmd", "T=s3cret cmd", "if T=s3cret sleep 3; then :; fi",
            "! T=s3cret cmd", "{ T=s3cret cmd; }", "for x in 1; do T=s3cret cmd; done", "env -u X T=s3cret cmd",
            "sudo -u root T=s3cret cmd", "nice -n 5 env T=s3cret cmd", "echo \"$(T=s3cret cmd)\"",
            "cat <<E\nT=s3cret cmd\nE", "set -x TOKEN s3cret; cmd", "set TOKEN s3cret; cmd",
            "A='x y' T=\"s3cret $(echo 'y z') w\" cmd", "T=$(pass s3cret) cmd", "T=`pass s3cret` cmd",
            "T=x\\ s3cret cmd", "T+=s3cret a[0]=s3cret cmd", "T=$'x\\' s3cret' cmd", "T=${B:-x s3cret} cmd",
            "T=(x s3cret) cmd", "cd x;T=s3cret cmd", "export T=s3cret", "(T=s3cret cmd)", "T='s3cret cmd",
            "T='x\\' s3cret x' cmd", "T=s3cret", "cmd --token=s3cret", "cmd -p s3cret", "cmd 's3cret'", "cmd >s3cret",
            "<s3cret cmd", "<<<s3cret cmd", "env -S 'T=s3cret cmd'", "timeout 5 env T=s3cret cmd",
            "A=1 \\\nT=s3cret cmd", "cmd=s3cret", "\"T=s3cret\" cmd", "while T=s3cret cmd; do :; done",
            "until T=s3cret cmd; do :; done", "time T=s3cret cmd", "begin; T=s3cret cmd; end", "and T=s3cret cmd",
            "coproc T=s3cret cmd", "nohup env T=s3cret cmd &", "<(T=s3cret cmd) cmd", "cat <(T=s3cret cmd)",
            "sudo -nu s3cret cmd", "env -iu s3cret cmd", "env -S 'cmd -p' s3cret", "env --split-string='cmd -p' s3cret",
            "sudo -e s3cret", "{cmd,-p,s3cret}", "T={x, s3cret} cmd", "T=$x[1 s3cret] cmd", "T=$(x # a) s3cret\n) cmd",
            "T=\"$(x # a) s3cret\n)\" cmd", "T=(x # a) s3cret\n) cmd", "T=$(x <<E\na) s3cret\nE\n) cmd",
            "T=$(case x in a) s3cret;; esac) cmd", "for x\nin s3cret; do cmd; done",
            // A shell compares bytes: neither an accent, nor a paragraph's end, nor a Greek question mark changes them.
            "T='\u{301} s3cret cret\u{301}'", "T=x\u{2029}s3cret cmd", "T=x\u{B}s3cret cmd", "T=x\u{37E}s3cret cmd",
            "T=\u{301}s3cret cmd",
            // Addresses with a password.
            "git clone https://me:letmein@host/x", "curl https://me:letmein@host", "psql postgres://me:letmein@host/x",
            "curl -u me:letmein https://host", "wget --password letmein https://host", "mysql -pletmein",
            "docker login -p letmein", "printf '%s\n' letmein | docker login --password-stdin", "cmd <<E\nletmein\nE",
            "echo https://me:letmein@host | xargs curl", "rsync me:letmein@host:x .", "s letmein", "d letmein",
        ]
    )
    func secrets(line: String) {
        let aliases = "alias e=echo\nalias c='curl -u'\nalias s='T=s3cret cmd -p'\nalias d='cmd letmein@host'"
        let label = ShellLine(line, aliases: aliases).label?.text ?? ""
        #expect(!label.hasPrefix("in") && !label.contains(/s3|cret|=|letmein/), "\(label)")
    }

    @Test(
        "The status is that of the label's command, or of a chain that it begins; otherwise it is not known",
        arguments: [
            ("make", [3], 3), ("make | tee log", [3, 0], 3), ("make 2>&1 | grep warning", [0, 1], 0),
            ("cat x | psql main | head", [0, 4, 141], 4), ("cd x && make | less", [2, 0], 2), ("make && ./run", [1], 1),
            ("make && ./run | cat", [0, 0], 0), ("make\n", [3], 3), ("make;", [3], 3), ("make; true", [0], nil),
            ("make || true", [0], nil), ("make\ntrue", [0], nil), ("for f in *; do make; done", [3], 3),
            ("(make; true) | cat", [0, 0], nil), ("echo x", [3], 3), ("yes | head", [141, 0], 0),
            ("! make", [141], 141), ("! make", [0], 0), ("not make", [3], 3), ("(cat a; ls) | make", [0, 4], 4),
            ("{ make; ls; } | cat", [3, 0], nil), ("make | $PAGER", [3, 0], nil), ("$MAKE", [3], 3), ("make", [], 7),
            ("make | (cat; cat)", [3, 0], nil), ("tee f", [3, 0], nil), ("a | b && ./run", [0, 1], 1),
        ] as [(String, [Int32], Int32?)]
    )
    func status(line: String, statuses: [Int32], status: Int32?) {
        let last = statuses.last ?? 7
        let result = line.contains(#/^(!|not) /#) ? (last == 0 ? 1 : 0) : last
        #expect(ShellLine(line, aliases: "").status(result, ofPipeline: statuses) == status)
    }

    @Test(
        "A program in which the user works is ignored: as the last of a pipeline, behind sudo, quoted, by an alias",
        arguments: [
            ("vim x", true), ("/usr/bin/vim x", true), ("\\vim x", true), ("'vim' x", true), ("make | less", true),
            ("make | batcat", true), ("make 2>&1 |& less", true), ("less x | make", false), ("sudo -E vim x", true),
            ("vim x; $X", false), ("make; sudo -u root vim x", false), ("nice env A=1 vim x", true), ("v x", true),
            ("e x", true), ("\\v x", false), ("sudo make", false), ("sudo -i", true), ("bash", true), ("bash -l", true),
            ("bash build.sh", false), ("python3", true), ("python3 -q", true), ("python3 train.py", false),
            ("fg", true), ("bg %1", true), ("make", false), ("git commit", false), ("vim x; make", false),
            ("make; vim x", true), ("(make; exit 3)", false),
        ]
    )
    func ignored(line: String, isIgnored: Bool) {
        let aliases = "alias e='sudo vim'\nalias v=vim"
        #expect(ShellLine(line, aliases: aliases).isIgnored() == isIgnored)
    }

    @Test func `Other commands and subcommands can be named instead`() {
        func isIgnored(_ line: String, _ names: String) -> Bool {
            ShellLine(line, aliases: "alias gl 'git log'").isIgnored(names: names)
        }
        #expect(isIgnored("make", "vim make") && !isIgnored("vim", "make"))
        #expect(isIgnored("git commit -a", "vim:git commit") && !isIgnored("git push", "vim:git commit"))
        #expect(isIgnored("gl -p", "git log:vim") && isIgnored("git push", "git log"))
        #expect(isIgnored("./own serve -p", "own serve:vim") && !isIgnored("./own build", "own serve:vim"))
    }
}
