import TestSupport

@testable import BackendConfiguration

@Suite("A file with a secret")
struct SecretFileTests {
    @Test func `is worth a warning if every user can read it, and enter the folders above`() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.save("secret", to: "a/secret")
        for (mode, folderMode) in [(0o600, 0o755), (0o644, 0o700)] {
            try #require(chmod(path, mode_t(mode)) == 0 && chmod("\(folder.path)/a", mode_t(folderMode)) == 0)
            #expect(SecretFile.warning(path) == nil)
        }
        let warning = "the file '/etc/passwd' has a secret, and every user can read it (chmod o-r)"
        #expect(SecretFile.warning("/etc/passwd") == warning)
    }
}
