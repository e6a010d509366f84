import IndicatorCore

// The top-level code of a script. A global variable never goes out of scope, so `Activity` is not for it.
let indicator = IndicatorManager()

let loading = ManagedActivity("Loading", in: indicator)
loading.progress = 0.5
loading.end()

do {
    let parsing = indicator.begin("Parsing")
    parsing.end(.succeeded)
}

let document = try await indicator.withActivity("Fetching") { try await fetchDocument() }
for page in document.pages.tracked("Printing", in: indicator) { print(page) }

await indicator.shutdown()
