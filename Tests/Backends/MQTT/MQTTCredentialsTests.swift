#if MQTT
import IndicatorBackends
@testable import BackendConfiguration
@testable import IndicatorMQTT
import TestSupport

/// Passwords, certificates and rights, with a real mosquitto.
@Suite(.needs(.broker + .certificates)) struct MQTTCredentialsTests {
    @Test("The password is read from a file, a wrong one is an error that does not contain it, and rights are reported")
    func passwordFile() async throws {
        // The user `me` may use the topics of the host `h`.
        let broker = try await MosquittoBroker(
            settings: "password_file FOLDER/passwords\nacl_file FOLDER/acl",
            files: [
                "passwords": try await MosquittoBroker.passwordFile(user: "me", password: "hush"),
                "acl": "user me\ntopic readwrite indicator/1/h/#\n",
            ]
        )
        var settings = try MQTTSettings(broker.url)
        settings.username = "me"
        settings.password = .file(broker.folder.appending("secret"))
        for (contents, problem) in [
            ("hush\nsecond line\n", "running"), ("hush-hush\n", "rejected the connection"),
            ("\nhush\n", "its first line, the password"),
        ] {
            try broker.folder.write(contents, to: "secret")
            try await expect(problem, with: settings)
        }
        // With MQTT 5, mosquitto reports what the ACL forbids.
        (settings.password, settings.host) = (.text("hush"), "elsewhere")
        try await expect("rejected a message: Not authorized", with: settings)
        settings.username = "me\u{1}"
        try await expect("the user name contains a control character", with: settings)
    }

    @Test("TLS with a client certificate; a broker certificate from another authority is rejected; rights, as without")
    func tls() async throws {
        let address = try LoopbackAddress().host
        let certificates = try await Certificates(address: address)
        let broker = try await MosquittoBroker(
            settings: "acl_file FOLDER/acl\n\(certificates.brokerSettings)",
            files: ["acl": "topic readwrite indicator/1/h/#\ntopic readwrite \(MosquittoBroker.endTopic)\n"],
            address: address,
            clientOptions: certificates.clientOptions
        )
        var settings = try MQTTSettings("mqtts://\(address):\(broker.port)")
        settings.caFile = certificates.path("ca.pem")
        settings.certificateFile = certificates.path("client.pem")
        settings.keyFile = certificates.path("client.key")
        let app = try Publication(settings)
        #expect(try await broker.retains("{", at: app.topic))
        await app.manager.shutdown()
        #expect(try await broker.retains(0))
        settings.host = "elsewhere"
        try await expect("rejected a message: Not authorized", with: settings)
        settings.caFile = certificates.path("other.pem")
        try await expect("TLS failed", with: settings)
        settings.caFile = certificates.path("nowhere.pem")
        try await expect("cannot be used: it does not exist", with: settings)
        (settings.caFile, settings.certificateFile, settings.keyFile) = (certificates.path("ca.pem"), nil, nil)
        try await expect("unavailable", with: settings)
    }

    #if !THREAD_SANITIZER  // It forbids RTLD_DEEPBIND, with which nss_wrapper loads libc.
    @Test(.needs("/usr/lib/*/libnss_wrapper.so", package: "libnss-wrapper"), arguments: [true, false])
    func `With TLS, the certificate must have the name of the broker, not its address`(isRightName: Bool) async throws {
        let name = "broker.example"
        let address = try LoopbackAddress().host
        let certificates = try await Certificates(address: address, name: isRightName ? name : "other.example")
        let broker = try await MosquittoBroker(
            settings: certificates.brokerSettings,
            address: address,
            clientOptions: certificates.clientOptions + ["--insecure"]
        )
        let files = [("caFile", "ca.pem"), ("certificateFile", "client.pem"), ("keyFile", "client.key")]
        let app = try await broker.app(
            url: "mqtts://\(name):\(broker.port)",
            settings: files.map { "\($0): \(certificates.path($1))" }.joined(separator: ", "),
            environment: [
                "LD_PRELOAD": "libnss_wrapper.so",
                "NSS_WRAPPER_HOSTS": try broker.folder.write("\(address) \(name)\n", to: "hosts"),
            ]
        )
        if isRightName {
            #expect(try await broker.retains(1))
        } else {
            #expect(await app.complains("TLS failed: host name verification failed"))
        }
    }
    #endif

    @Test func `A file of TLS that cannot be used is named, and nothing is asked on the terminal`() async throws {
        let certificates = try await Certificates()
        let commands = """
            cd '\(certificates.folder.path)' && openssl ec -aes256 -passout pass:hush -in client.key -out locked \
            && openssl genrsa -out rsa 2048 && echo 'no PEM' >text
            """
        #expect(try await Command.run("sh", ["-c", commands]).status == 0)
        let inconsistent = "(Unable to load client key file \"FOLDER/.*\"|Client certificate/key are inconsistent)"
        let isOneAlone = "only one of 'certificateFile' and 'keyFile' is set, which belong together"
        for (authority, certificate, key, problem) in [
            ("ca.pem", "client.pem", "locked", "Unable to load client key file \"FOLDER/locked\""),
            ("ca.pem", "client.pem", "text", "Unable to load client key file \"FOLDER/text\""),
            ("ca.pem", "client.pem", "rsa", inconsistent), ("ca.pem", "client.pem", "server.key", inconsistent),
            ("text", nil, nil, "Unable to load CA certificates, check cafile \"FOLDER/text\""),
            ("ca.pem", "text", "client.key", "Unable to load client certificate \"FOLDER/text\""),
            ("ca.pem", "client.pem", nil, isOneAlone), ("ca.pem", nil, "client.key", isOneAlone),
            // The files are right; nothing listens at the port.
            ("ca.pem", "client.pem", "client.key", "cannot be reached: it refused the connection"),
        ] {
            var settings = try MQTTSettings("mqtts://127.0.0.1:9")
            settings.caFile = certificates.path(authority)
            settings.certificateFile = certificate.map(certificates.path)
            settings.keyFile = key.map(certificates.path)
            let backend = BackendDriver(MQTTBackend(applicationName: "x", settings: settings))
            let error = await #expect(throws: MQTTError.self) { try await backend.start() }
            let reason = error?.reason.replacing(certificates.folder.path, with: "FOLDER") ?? ""
            #expect(try reason.contains(Regex(problem)), "\(authority) \(certificate ?? "-") \(key ?? "-"): \(reason)")
        }
    }

    @Test func `A broker that retains nothing is not available`() async throws {
        let broker = try await MosquittoBroker(settings: "retain_available false")
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
        let path = folder.appending("indicator.yaml")
        for (setting, file) in [("passwordFile: \(secret)", secret), ("password: hush", path)] {
            try folder.write("backends: [mqtt]\nmqtt: {\(setting)}\n", to: "indicator.yaml")
            for (mode, count) in [(0o644, 1), (0o640, 0)] {
                chmod(path, 0o600)
                chmod(file, mode_t(mode))
                let source = ConfigurationSource(for: "app", path: path, environment: [:])
                let warnings = try IndicatorConfiguration.load(from: source).warnings.map(\.message)
                #expect(warnings.filter { $0.contains("chmod") }.count == count && warnings.count == count)
            }
        }
    }
    #endif
}
#endif
