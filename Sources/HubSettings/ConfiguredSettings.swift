/// What of persons and of `[hub]` is set up by asking: by `hub setup`, the hub's command `configure`, and pages that have it.
extension HubConfiguration {
    /// Those settings of `[person.<name>]` that `configure` writes.
    public static let configuredOfPersons = personDeclarations.filter {
        ["unit", "locale", "zone", "expected_weight"].contains($0.name)
    }

    /// Those of `[hub]`.
    public static let configuredOfHub = hubDeclarations.filter { $0.name == "zone" }

    /// Why there can be no further person of this name; `nil` where there can.
    public static func fault(ofPerson name: String, besides others: some Sequence<String>) -> String? {
        if !isName(name) { return "\(name.prefix(64)) is not a name here: \(nameRule)" }
        let isTwin = others.contains { $0.lowercased() == name.lowercased() }
        return isTwin ? "\(name) is there twice; upper and lower case count as one" : nil
    }
}
