/// The settings of people and of the household that commands and pages may ask for and set.
public enum HouseholdSettings {
    /// The settings of `[person.<name>]` except `slots`, a table of positions by instance.
    public static let ofPersons: [SettingDeclaration] = [
        .init(
            "display_name", .string(TextRule(expected: "a name in any letters", example: "Jürgen")),
            help: "Name that is shown and can be typed, in any letters; that of the section if not set."),
        .init("height", .number(Bounds(30, 280)), help: "Height in centimetres."),
        .init("sex", .choice(PersonProfile.Sex.allCases.map(\.rawValue)), help: "Sex, for body composition."),
        .init("birth_date", .date, help: "Date of birth, for body composition."),
        .init("athlete", .boolean, help: "Whether scales use their athlete formulas."),
        .init("unit", .choice(PersonProfile.Unit.allCases.map(\.rawValue)), help: "Unit in which weights are shown."),
        .init(
            "units",
            .list(
                of: .string(
                    TextRule(
                        pattern: "[^=\\s]+=[^=\\s]+", expected: "TYPE=UNIT, a type and the unit it is read in",
                        example: "height=ft"))),
            help: "Units in which values of a type are shown, such as weight=st."),
        .init(
            "locale",
            .string(
                TextRule(
                    pattern: "[A-Za-z]{2,3}([_\\-][A-Za-z]{4})?([_\\-]([A-Za-z]{2}|[0-9]{3}))?",
                    expected: "a language, with a region or without", example: "de_DE")),
            help: "Language and region by which numbers, dates and units are shown; the machine's if not set."),
        .init("zone", .timeZone, help: "Time zone of the person's days."),
        .init("expected_weight", .number(Bounds(1, 500)), help: "Usual weight in kilograms, to tell people apart."),
        .init(
            "weight_tolerance", .number(Bounds(0.5, 50)),
            help: "Kilograms by which expected_weight may be wrong; 3 if not set."),
    ]

    /// Those of ``ofPersons`` that the hub's command `configure` writes.
    public static let configuredOfPersons = ofPersons.filter {
        ["display_name", "unit", "locale", "zone", "expected_weight"].contains($0.name)
    }

    /// `zone` of `[hub]`, the one setting there that `configure` writes.
    public static let zone = SettingDeclaration(
        "zone", .timeZone, help: "Time zone of persons without their own; the machine's if not set.")
}
