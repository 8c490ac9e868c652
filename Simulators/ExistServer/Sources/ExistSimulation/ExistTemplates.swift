/// The type of an attribute's values, with Exist's numbers.
enum ValueType: Int, CaseIterable, Sendable {
    case whole = 0
    case decimal = 1
    case text = 2
    case minutes = 3
    /// Minutes after midnight.
    case timeOfDay = 4
    /// A fraction, 0 to 1.
    case percentage = 5
    /// Minutes after midday; templates only.
    case timeFromMidday = 6
    case truth = 7
    /// 1 to 9.
    case scale = 8

    /// Known for 0 and 3, invented for the others: do not rely on it.
    var description: String {
        switch self {
        case .whole: "Integer"
        case .decimal: "Float"
        case .text: "String"
        case .minutes: "Period (min)"
        case .timeOfDay: "Time of day"
        case .percentage: "Percentage"
        case .timeFromMidday: "Time of day (from midday)"
        case .truth: "Boolean"
        case .scale: "Scale"
        }
    }

    /// Whether a day without data may be reported as 0.
    var isQuantity: Bool {
        switch self {
        case .whole, .decimal, .minutes, .percentage, .truth: true
        case .text, .timeOfDay, .timeFromMidday, .scale: false
        }
    }

    /// Whether values of one day can be added up.
    var canIncrement: Bool { isQuantity }
}

/// An attribute that Exist itself defines.
struct ExistTemplate: Sendable {
    let name: String
    let group: String
    let type: ValueType
    /// Its position in its group; Exist's own numbers are not published.
    let priority: Int

    /// The name in a readable form, because Exist's own labels are not published.
    var label: String { ExistTemplate.label(name) }

    static func label(_ name: String) -> String {
        let words = name.replacing("_", with: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// All templates, as of 2025-12.
    static let all: [ExistTemplate] = table.split(separator: "\n").flatMap { line in
        let sides = line.split(separator: ":", maxSplits: 1)
        return sides[1].split(separator: ",").enumerated().map { place, entry in
            let words = entry.split(separator: " ")
            return ExistTemplate(
                name: String(words[0]), group: String(sides[0]), type: types[words[1]] ?? .text, priority: place + 1)
        }
    }

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private static let types: [Substring: ValueType] = [
        "i": .whole, "d": .decimal, "s": .text, "min": .minutes, "tod": .timeOfDay, "%": .percentage,
        "tod12": .timeFromMidday, "1-9": .scale,
    ]

    private static let table = """
        activity: steps i, steps_active_min min, steps_elevation d, floors i, steps_distance d, stand_hours i, cycle_min min, cycle_distance d, active_energy d
        workouts: workouts i, workouts_min min, workouts_distance d
        productivity: productive_min min, neutral_min min, distracting_min min, commits i, tasks_completed i, words_written i, emails_sent i, emails_received i, pomodoros_min min, keystrokes i
        food: coffees i, alcoholic_drinks i, energy d, water i, carbohydrates d, fat d, fibre d, protein d, sugar d, sodium d, cholesterol d, caffeine d
        finance: money_spent d
        mood: mood 1-9, mood_note s, energy_level 1-9, stress_level 1-9
        sleep: sleep min, time_in_bed min, sleep_light min, sleep_deep min, sleep_rem min, sleep_start tod12, sleep_end tod, sleep_awakenings i
        events: events i, events_duration min
        health: weight d, body_fat %, lean_mass d, heartrate i, heartrate_max i, heartrate_variability i, heartrate_resting i, meditation_min min, menstrual_flow i, sexual_activity i
        location: checkins i, location s
        media: tracks i, articles_read i, pages_read i, mobile_screen_min min, gaming_min min, tv_min min, movies_min min
        social: facebook_posts i, facebook_comments i, facebook_reactions i, mastodon_posts i, mastodon_replies i, mastodon_boosts i, mastodon_favourites i
        twitter: tweets i, twitter_mentions i, twitter_username s
        weather: weather_temp_max d, weather_temp_min d, weather_precipitation d, weather_cloud_cover %, weather_wind_speed d, weather_summary s, weather_icon s, day_length min
        """
}

/// A group of attributes, whose name is the first half of a scope's name.
struct ExistGroup: Sendable {
    let name: String
    let label: String
    let priority: Int

    /// The labels and priorities of `activity`, `media` and `social` are known, the others invented.
    static let all: [ExistGroup] = [
        ("activity", "Activity", 1), ("workouts", "Workouts", 2), ("productivity", "Productivity", 3),
        ("mood", "Mood", 4), ("sleep", "Sleep", 5), ("events", "Events", 6), ("finance", "Finance", 6),
        ("food", "Food and drink", 6), ("health", "Health and body", 6), ("location", "Location", 7),
        ("media", "Media", 7), ("social", "Social", 7), ("twitter", "Twitter", 7), ("weather", "Weather", 8),
        ("symptoms", "Symptoms", 9), ("medication", "Medication", 9), ("custom", "Custom", 9),
    ].map { ExistGroup(name: $0.0, label: $0.1, priority: $0.2) }

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// All scopes; `manual` is not a group.
    static let scopes: Set<String> = Set((all.map(\.name) + ["manual"]).flatMap { ["\($0)_read", "\($0)_write"] })
}
