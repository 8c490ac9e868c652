package import Samples

/// Converts program names such as `asleepCore` to words; the single table for the page and the commands.
package enum NameWords {
    /// Names whose words cannot be derived from their letters.
    private static let special = [
        "aPositive": "A+", "aNegative": "A-", "bPositive": "B+", "bNegative": "B-", "abPositive": "AB+",
        "abNegative": "AB-", "oPositive": "O+", "oNegative": "O-", "datedByHub": "Dated by the hub",
        "dstAmbiguous": "Clock time that occurred twice", "dstGap": "Clock time that was skipped",
        "clockSuspect": "Clock may be wrong", "maxExercise20Minute": "Maximal exercise, 20 minutes",
        "maxExercise60Minute": "Maximal exercise, 60 minutes", "swolfScore": "SWOLF score",
        "vo2MaxTestType": "VO2 max test type", "vo2MaxValue": "VO2 max",
        "udiDeviceIdentifier": "UDI device identifier", "udiProductionIdentifier": "UDI production identifier",
    ]

    /// The display name of a type.
    ///
    /// A type outside the standard registry gets its source: `x.ihealth.muscleMass` becomes `Muscle mass (ihealth)`.
    package static func type(_ type: TypeID) -> String {
        if let known = TypeRegistry.standard.type(type) { return known.displayName }
        let parts = type.rawValue.split(separator: ".")
        switch (parts.first, parts.count) {
        case ("x", 3...): return "\(text(parts.dropFirst(2).joined(separator: " "))) (\(parts[1]))"
        case ("hc", 2...): return "\(text(parts.dropFirst().joined(separator: " "))) (Health Connect)"
        default: return type.rawValue
        }
    }

    /// The words for use within a sentence: `Weight` becomes `weight`.
    ///
    /// Abbreviations keep their capitals: `VO2 max`.
    package static func lowered(_ words: String) -> String {
        words.dropFirst().first?.isLowercase == true ? words.prefix(1).lowercased() + words.dropFirst() : words
    }

    /// Whether a text is written like a program's name: `openWater`, `asleepREM`.
    package static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[a-z]+[0-9]*([A-Z]+[a-z0-9]*)+/) != nil }

    /// Whether `text` means `name`: the name itself or its words, in any case.
    package static func means(_ text: String, _ name: String) -> Bool {
        let text = text.lowercased()
        return text == name.lowercased() || text == self.text(name).lowercased()
    }

    /// The words of a name: `Asleep core`.
    ///
    /// Capitals in sequence stay: `Asleep REM`, `Apple ECG algorithm version`.
    package static func text(_ name: String) -> String {
        if let words = special[name] { return words }
        let letters = Array(name)
        var words: [String] = []
        for (place, letter) in letters.enumerated() {
            if letter == "_" || letter == " " {
                words.append("")
                continue
            }
            let before = place > 0 ? letters[place - 1] : letter
            let after = letters.dropFirst(place + 1)
            // The last of several capitals starts a word, unless it belongs to a plural: METs.
            let endsCapitals =
                after.first?.isLowercase == true && (after.first != "s" || after.dropFirst().first?.isLowercase == true)
            let begins = place == 0 || letter.isUppercase && (!before.isUppercase || endsCapitals)
            if begins { words.append("") }
            words[words.count - 1].append(letter)
        }
        let parts = words.filter { !$0.isEmpty }.enumerated().map { index, word in
            index == 0 || word.dropFirst().contains(where: \.isUppercase) ? word : word.lowercased()
        }
        let all = parts.joined(separator: " ")
        return all.prefix(1).uppercased() + all.dropFirst()
    }
}
