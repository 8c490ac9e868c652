public import HubWire

/// Settings of `[person.NAME]` that have rules of their own: the positions on devices, and the name of the table.
extension HubConfiguration {
    /// The instance and declaration of a person's position on a device, `slots.INSTANCE`; nil for any other name.
    public static func configuredSlot(_ name: String) -> (instance: String, declaration: SettingDeclaration)? {
        guard name.hasPrefix(slotPrefix) else { return nil }
        let instance = String(name.dropFirst(slotPrefix.count))
        guard PeerName.isValid(instance) else { return nil }
        return (
            instance,
            SettingDeclaration(
                name, .integer(Bounds(0, 19)), help: "The person's position on the device of \(instance).")
        )
    }

    /// The prefix of the name of a position setting.
    public static let slotPrefix = "slots."

    /// The reason why a new person cannot have this name; `nil` if it is fine.
    public static func fault(ofPerson name: String, besides others: some Sequence<String>) -> String? {
        if !PeerName.isValid(name) {
            let shown = tomlQuoted(String(name.prefix(64)))
            let advice = PersonName.derived(from: name).map { "; call the section \($0), with display_name = \(shown)" }
            return "\(name.prefix(64)) is not a name here: \(nameRule)\(advice ?? "")"
        }
        let isTwin = others.contains { PersonName.folded($0) == PersonName.folded(name) }
        return isTwin ? "\(name) is there twice; upper and lower case count as one" : nil
    }

    /// The unit of a setting of `[person.NAME]` that is a number.
    package static func unit(ofPersonal name: String) -> String? {
        ["height": "cm", "expected_weight": "kg", "weight_tolerance": "kg"][name]
    }
}
