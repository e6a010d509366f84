import IndicatorCommands
import Testing

/// What is reported of a line that a user has typed.
@Suite struct TypedCommandTests {
    @Test(
        "The label is the whole line without the assignments before its commands",
        arguments: [
            ("make", "make"), ("  make  -j4 all ", "make -j4 all"), ("API_TOKEN=s3cr3t make", "make"),
            ("A=1 B='s3 cr3t' C=\"x $(echo 'y z') w\" make -j4", "make -j4"), ("A=$(pass show x) make", "make"),
            ("A=`pass show x` make", "make"), ("A=s3\\ cr3t make", "make"), ("A+=s3 a[0]=s3 make", "make"),
            ("A=$'s3\\' cr3t' make", "make"), ("A=${B:-s3 cr3t} make", "make"), ("A=(s3 cr3t) make", "make"),
            ("cd x && TOKEN=s3 make", "cd x && make"), ("cd x;TOKEN=s3 make", "cd x; make"),
            ("env -i TOKEN=s3 make", "env -i make"), ("sudo TOKEN=s3 make", "sudo make"),
            ("export TOKEN=s3", "export"), ("(TOKEN=s3 make)", "( make )"), ("make CC=clang", "make CC=clang"),
            ("A='s3 make", ""), ("A='s3\\' cr3t x' make", ""), ("TOKEN=s3", ""), ("", ""),
            ("git commit -m 'a  b'", "git commit -m 'a  b'"),
        ]
    )
    func label(line: String, label: String) {
        #expect(TypedCommand(line).label == label)
    }

    @Test(
        "The name is that of the first command, without its folder",
        arguments: [
            ("/usr/bin/vim x", "vim"), ("sudo -E vim x", "vim"), ("A=1 env B=2 ssh host", "ssh"),
            ("make | less", "make"),
        ]
    )
    func name(line: String, name: String) {
        #expect(TypedCommand(line).name == name)
    }

    @Test("Programs in which the user works are ignored; an interpreter, only alone")
    func ignored() {
        #expect(["vim x", "bash", "sudo vim"].allSatisfy { TypedCommand($0).isIgnored })
        #expect(!["bash build.sh", "python3 train.py", "make", "sudo bash x"].contains { TypedCommand($0).isIgnored })
    }
}
