package import Samples

extension WorkoutActivity {
    /// The activity for a word that a person types: `swim`, `Running`.
    package static func meant(by word: String) -> WorkoutActivity? {
        let word = word.lowercased()
        return all.first { NameWords.means(word, $0.name) || $0.healthKitName.lowercased() == word }
            ?? usual[word].flatMap { activity(named: $0) }
    }

    private static let usual = [
        "swim": "swimming", "run": "running", "jog": "running", "jogging": "running", "walk": "walking",
        "hike": "hiking", "cycle": "cycling", "bike": "cycling", "biking": "cycling", "ride": "cycling",
        "row": "rowing", "climb": "climbing", "box": "boxing", "sail": "sailing", "skate": "skatingSports",
        "surf": "surfingSports", "snowboard": "snowboarding", "dive": "underwaterDiving", "bowl": "bowling",
        "hiit": "highIntensityIntervalTraining", "stretch": "flexibility",
    ]
}
