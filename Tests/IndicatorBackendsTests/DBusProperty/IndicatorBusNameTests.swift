#if DBus
import IndicatorBackends
import Testing

@Suite struct IndicatorBusNameTests {
    @Test(
        "An app's name becomes an element of a bus name",
        arguments: [
            ("my-app", "my-app"), ("My_App2", "My_App2"), ("org.example.app", "org_example_app"), ("7zip", "_7zip"),
            ("Büro", "B_ro"), ("a b/c", "a_b_c"), ("", "_"), ("日本", "__"), ("👩‍👩‍👧", "_____"),
        ]
    )
    func element(name: String, element: String) {
        #expect(IndicatorBusName.element(for: name) == element)
    }

    @Test("A long name is cut so that every name that is tried has at most 255 bytes")
    func long() {
        for name in [String(repeating: "x", count: 1000), String(repeating: "7", count: 1000)] {
            for candidate in IndicatorBusName.candidates(for: name, processID: .max) {
                #expect(candidate.utf8.count <= 255)
                #expect(candidate.hasPrefix("org.activityindicator.Indicator1."))
            }
        }
    }

    @Test("The app's name is tried first, then the instance's, then numbered ones")
    func candidates() {
        let candidates = IndicatorBusName.candidates(for: "app", processID: 42)
        #expect(
            candidates.prefix(3) == [
                "org.activityindicator.Indicator1.app",
                "org.activityindicator.Indicator1.app.instance42",
                "org.activityindicator.Indicator1.app.instance42_2",
            ]
        )
        #expect(Set(candidates).count == candidates.count)
    }
}
#endif
