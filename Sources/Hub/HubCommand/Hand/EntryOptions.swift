import ArgumentParser
import HealthText

/// Further details of a food, a workout or any record that a person enters.
struct EntryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Of a workout, the energy burned; of a food, that eaten.", valueName: "value"))
    var energy: String?
    @Option(help: ArgumentHelp("Of a workout.", valueName: "value")) var distance: String?
    @Option(help: ArgumentHelp("Of a food; so are the next ones.", valueName: "value")) var protein: String?
    @Option(help: ArgumentHelp(valueName: "value")) var carbohydrates: String?
    @Option(help: ArgumentHelp(valueName: "value")) var fat: String?
    @Option(help: ArgumentHelp(valueName: "value")) var sugar: String?
    @Option(help: ArgumentHelp(valueName: "value")) var fiber: String?
    @Option(
        name: .customLong("with"),
        help: ArgumentHelp("Any other quantity of a food or a workout; may be repeated.", valueName: "TYPE VALUE"))
    var others: [String] = []
    @Option(
        name: .customLong("metadata"),
        help: ArgumentHelp(
            "More about the record, such as insulinDeliveryReason=bolus; may be repeated.", valueName: "KEY=VALUE"))
    var facts: [String] = []

    var details: EntryDetails {
        var details = EntryDetails()
        (details.energy, details.distance) = (energy, distance)
        (details.protein, details.carbohydrates, details.fat) = (protein, carbohydrates, fat)
        (details.sugar, details.fiber, details.others, details.facts) = (sugar, fiber, others, facts)
        return details
    }
}
