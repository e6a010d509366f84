#if MQTT
import IndicatorBackends
@testable import BackendConfiguration
@testable import IndicatorMQTT
import TestSupport

/// Passwords, certificates and rights, with a real mosquitto.
@Suite(.needs(.broker)) struct MQTTCredentialsTests {
    /// Runs an indicator until its state or its last error contains a text.
    private func expect(_ problem: String, with settings: MQTTSettings) async throws {
        let app = try Publication(settings)
        #expect(await app.reports(problem), "\(app.manager.backendStatuses)")
        #expect(!"\(app.manager.backendStatuses)".contains("hush"))
        await app.manager.shutdown()
    }

    /// A broker with the user `me`, who may use the topics of the host `h`.
    private func brokerWithPassword() async throws -> MosquittoBroker {
        try await MosquittoBroker(
            settings: "allow_anonymous false\npassword_file FOLDER/passwords\nacl_file FOLDER/acl",
            files: [
                "passwords": try await MosquittoBroker.passwordFile(user: "me", password: "hush"),
                "acl": "user me\ntopic readwrite indicator/1/h/#\ntopic readwrite \(MosquittoBroker.endTopic)\n",
            ],
            clientOptions: ["-u", "me", "-P", "hush"]
        )
    }

    @Test func `The password is read from a file; a wrong one causes an error that does not contain it`() async throws {
        let broker = try await brokerWithPassword()
        let folder = try TemporaryDirectory()
        var settings = try MQTTSettings(broker.url)
        settings.username = "me"
        settings.password = .file(folder.appending("secret"))
        try folder.write("hush\nsecond line\n", to: "secret")
        let right = try Publication(settings)
        #expect(await right.runs())
        #expect(try await broker.retains("{", at: right.topic))
        await right.manager.shutdown()
        try folder.write("hush-hush\n", to: "secret")
        try await expect("rejected the connection", with: settings)
        try folder.write("\nhush\n", to: "secret")
        try await expect("its first line, the password", with: settings)
        // With MQTT 5, mosquitto reports what the ACL forbids.
        (settings.password, settings.host) = (.text("hush"), "elsewhere")
        try await expect("rejected a message: Not authorized", with: settings)
    }

    @Test(
        "The password is read from the environment, and is neither in the process list nor in an error or the log",
        arguments: ["hush", "wrong-hush"]
    )
    func environment(password: String) async throws {
        let broker = try await brokerWithPassword()
        let app = try await broker.app(settings: "username: me", environment: ["INDICATOR_MQTT_PASSWORD": password])
        if password == "hush" {
            #expect(try await broker.retains(1))
        } else {
            #expect(await app.complains("rejected the connection: Not authorized"))
        }
        #expect(try !String(contentsOfFile: "/proc/\(app.processID)/cmdline", encoding: .utf8).contains("hush"))
        app.write("status")
        app.write("quit")
        #expect(await app.ends())
        #expect(app.output.contains("mqtt="))
        for text in [app.output, app.errors, broker.log] { #expect(!text.contains("hush")) }
    }

    @Test(
        "TLS with a client certificate; a broker certificate from another authority is rejected; rights, as without",
        .needs("openssl", package: "openssl")
    )
    func tls() async throws {
        let address = try LoopbackAddress().host
        let certificates = try await Certificates(address: address)
        let broker = try await MosquittoBroker(
            settings: "allow_anonymous true\nacl_file FOLDER/acl\n\(certificates.brokerSettings)",
            files: ["acl": "topic readwrite indicator/1/h/#\ntopic readwrite \(MosquittoBroker.endTopic)\n"],
            address: address,
            clientOptions: certificates.clientOptions
        )
        let reader = try await broker.reader()
        var settings = try MQTTSettings("mqtts://\(address):\(broker.port)")
        settings.caFile = certificates.path("ca.pem")
        settings.certificateFile = certificates.path("client.pem")
        settings.keyFile = certificates.path("client.key")
        let app = try Publication(settings)
        #expect(await reader.prints("0 \(app.topic) {"))
        await app.manager.shutdown()
        #expect(await reader.prints("0 \(app.topic) \n"))
        settings.host = "elsewhere"
        try await expect("rejected a message: Not authorized", with: settings)
        settings.caFile = certificates.path("other.pem")
        try await expect("TLS failed", with: settings)
        settings.caFile = certificates.path("nowhere.pem")
        try await expect("cannot be used: it does not exist", with: settings)
        (settings.caFile, settings.certificateFile, settings.keyFile) = (certificates.path("ca.pem"), nil, nil)
        let bare = try Publication(settings)
        await expectEventually { if case .unavailable = bare.manager.backendStatuses[0].state { true } else { false } }
        await bare.manager.shutdown()
    }

    #if !THREAD_SANITIZER  // It forbids RTLD_DEEPBIND, with which nss_wrapper loads libc.
    @Test(
        .needs("/usr/lib/*/libnss_wrapper.so", package: "libnss-wrapper"),
        .needs("openssl", package: "openssl"),
        arguments: [true, false]
    )
    func `With TLS, the certificate must have the name of the broker, not its address`(isRightName: Bool) async throws {
        let name = "broker.example"
        let address = try LoopbackAddress().host
        let certificates = try await Certificates(address: address, name: isRightName ? name : "other.example")
        let broker = try await MosquittoBroker(
            settings: "allow_anonymous true\n\(certificates.brokerSettings)",
            address: address,
            clientOptions: certificates.clientOptions + ["--insecure"]
        )
        let folder = try TemporaryDirectory()
        let probe = try await DesktopProbe(
            configuration: """
                backends: [mqtt]
                mqtt:
                  url: mqtts://\(name):\(broker.port)
                  caFile: \(certificates.path("ca.pem"))
                  certificateFile: \(certificates.path("client.pem"))
                  keyFile: \(certificates.path("client.key"))
                """,
            environment: [
                "LD_PRELOAD": "libnss_wrapper.so",
                "NSS_WRAPPER_HOSTS": try folder.write("\(address) \(name)\n", to: "hosts"),
            ],
            bus: nil
        )
        let isRejected = "TLS failed: host name verification failed"
        #expect(try await probe.backend("mqtt", is: isRightName ? "running" : isRejected))
    }
    #endif

    @Test(.needs("openssl", package: "openssl"))
    func `A file of TLS that cannot be used is named, and nothing is asked on the terminal`() async throws {
        let certificates = try await Certificates()
        func made(_ name: String, _ arguments: String...) async throws -> String {
            let path = certificates.path(name)
            let words = [arguments[0], "-out", path] + arguments.dropFirst()
            #expect(try await Command.run("openssl", words).status == 0)
            return path
        }
        let (authority, certificate) = (certificates.path("ca.pem"), certificates.path("client.pem"))
        let key = certificates.path("client.key")
        let locked = try await made("locked", "ec", "-aes256", "-passout", "pass:hush", "-in", key)
        let otherKind = try await made("rsa", "genrsa", "2048")
        let text = try certificates.folder.write("no PEM\n", to: "text")
        func problem(_ authority: String, _ certificate: String?, _ key: String?) async throws -> String {
            var settings = try MQTTSettings("mqtts://127.0.0.1:9")
            (settings.caFile, settings.certificateFile, settings.keyFile) = (authority, certificate, key)
            let backend = BackendDriver(MQTTBackend(applicationName: "x", settings: settings))
            return try await #require(#expect(throws: MQTTError.self) { try await backend.start() }).reason
        }
        for key in [locked, otherKind, text, certificates.path("server.key")] {
            let problem = try await problem(authority, certificate, key)
            let isOther = problem.hasPrefix("TLS failed: Client certificate/key are inconsistent")
            let isUnusable = problem.hasPrefix("TLS failed: Unable to load client key file \"\(key)\"")
            #expect(isUnusable || isOther && key != locked && key != text, "\(problem)")
        }
        let noAuthority = try await problem(text, nil, nil)
        #expect(noAuthority.contains("Unable to load CA certificates, check cafile \"\(text)\""), "\(noAuthority)")
        let noCertificate = try await problem(authority, text, key)
        #expect(noCertificate.contains("Unable to load client certificate \"\(text)\""), "\(noCertificate)")
        #expect(try await problem(authority, certificate, nil).contains("'keyFile' is set, which belong together"))
        #expect(try await problem(authority, nil, key).contains("'keyFile' is set, which belong together"))
        // The files are right; nothing listens at the port.
        let refused = try await problem(authority, certificate, key)
        #expect(refused.hasSuffix("cannot be reached: it refused the connection"), "\(refused)")
    }

    @Test func `A broker that retains nothing is not available`() async throws {
        let broker = try await MosquittoBroker(settings: "allow_anonymous true\nretain_available false\n")
        for version in [MQTTSettings.ProtocolVersion.version5, .version311] {
            var settings = try MQTTSettings(broker.url)
            settings.protocolVersion = version
            let topic = MQTTBackend(applicationName: "x", settings: settings).topic
            let error = await #expect(throws: MQTTError.self) {
                try await MQTTBackend.probe(settings, topic, within: .seconds(20))
            }
            #expect(error?.help?.contains("user name") == false, "\(error as Any)")
        }
    }

    @Test func `A user name with a control character is an error`() async throws {
        var settings = try MQTTSettings("mqtt://127.0.0.1:9")
        settings.username = "me\u{1}"
        let backend = BackendDriver(MQTTBackend(applicationName: "x", settings: settings))
        await #expect(throws: MQTTError.invalidUsername) { try await backend.start() }
    }

    #if !THREAD_SANITIZER  // Only a part of this module is built with it.
    @Test(arguments: [
        "password: *hush", "password: *hu/s%h!", "password: *a hush", "password: !hush", "password: !hu%sh",
        "password: @hush", "password: &hush", "password: {hush", "password: [hush", "password: a: hush",
        "password: \"hush", "password: |hush", "password: - hush", "password:hush", "password: \"a\"hush",
        "password: {hush: x}", "password: [hush]", "password: x\n   hush: y", "password: ? hush",
        "password:hush\n  username: me", "password:\n  hush\n  username: me", "password hush", "password=hush",
        "password = hush: x", "\"password\": hush", "\"password\": \"a\" hush", "\"password: hush\": 1",
    ])
    func `No message about a mistake in a config file quotes the password, however YAML reads it`(text: String) throws {
        let folder = try TemporaryDirectory()
        let (yaml, braces) = ("indicator.yaml", "{\"mqtt\": {\(text)}}\n")
        let files = [
            ("mqtt:\n  \(text)\n", yaml), ("mqtt.\(text)\n", yaml), (braces, yaml), (braces, "indicator.json"),
        ]
        for (contents, file) in files {
            let path = try folder.write(contents, to: file)
            do {
                _ = try IndicatorConfiguration.load(from: ConfigurationSource(for: "app", path: path, environment: [:]))
            } catch {
                #expect(!error.description.replacing(path, with: "").contains("hu"), "\(error)")
            }
        }
    }

    @Test func `A password that every user of the machine can read causes a warning`() throws {
        // Not below the folder for temporary files, which others may be unable to enter.
        let folder = try TemporaryDirectory(in: "/tmp")
        chmod(folder.path, 0o755)
        let secret = try folder.write("hush\n", to: "secret")
        let path = try folder.write("backends: [mqtt]\nmqtt: {passwordFile: \(secret)}\n", to: "indicator.yaml")
        func warnings() throws -> [String] {
            let source = ConfigurationSource(for: "app", path: path, environment: [:])
            return try IndicatorConfiguration.load(from: source).warnings.map(\.message)
        }
        for (mode, count) in [(0o644, 1), (0o640, 0), (0o600, 0)] {
            chmod(secret, mode_t(mode))
            let named = try warnings().filter { $0.contains("'passwordFile'") && $0.contains("chmod") }
            #expect(try named.count == count && warnings().count == count)
        }
        _ = try folder.write("backends: [mqtt]\nmqtt: {password: hush}\n", to: "indicator.yaml")
        chmod(path, 0o644)
        #expect(try warnings().count == 1)
        chmod(path, 0o600)
        #expect(try warnings().isEmpty)
    }
    #endif
}
#endif
